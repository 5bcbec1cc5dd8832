// Parses an intent from any value, or reports all faults of the value (spec/terms.md §1). An intent
// is valid only if its terms are not too long. Validation therefore includes encoding.

import type { AbiFunction } from "../abi/cache.ts";
import { getCache } from "../abi/cache.ts";
import { respellArgument, withWriter } from "../abi/writer.ts";
import { parseFactory } from "../derive.ts";
import {
  addFault,
  addFaults,
  describeType,
  type Fault,
  type Faults,
  InvalidError,
  type Issue,
  noFaults,
  throwFaults,
} from "../errors.ts";
import { chooseKeccak, type Keccak } from "../keccak/keccak.ts";
import type { Hex, Intent } from "./intent.ts";
import { callsMax, type RawCall, type RawIntent, writeIntent } from "./write.ts";

export type TermsOptions = {
  /**
   * The factory's address, in any letter case. Default {@link factoryAddress}. `recovery` must be a
   * different address.
   */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
};

/**
 * Parses an intent by the rules of spec/terms.md §1, which never change.
 *
 * @returns a copy, with addresses in EIP-55 case and other hex in lowercase
 * @throws {InvalidError} if the intent is invalid; the error lists its faults
 */
export function parseIntent(value: unknown, options: TermsOptions = {}): Intent {
  return useIntent(value, options, (intent) => intent);
}

/** The additional rules for new intents are in new-intent.ts. */
type NewIntentRules = {
  readonly drawSalt: () => Hex;
  readonly listCautions: (found: AbiFunction) => readonly Fault[];
  readonly check: ((fields: Partial<Intent>) => readonly Issue[]) | undefined;
};

/**
 * Parses and encodes an intent, and calls `use` with the intent and its terms. The buffer of the
 * terms is reused, so `use` must copy terms that it keeps.
 */
export function useIntent<T>(
  value: unknown,
  options: TermsOptions,
  use: (intent: Intent, terms: Uint8Array) => T,
  newRules?: NewIntentRules,
): T {
  const keccak = chooseKeccak(options);
  const trusted = parseFactory(options.factory, keccak);
  const faults = noFaults();
  const raw = readFields(faults, value, newRules?.drawSalt);
  if (!raw) throw new InvalidError(faults.issues);
  return withWriter((writer) => {
    const { listCautions } = newRules ?? {};
    const context = { faults, writer, cache: getCache(keccak), listCautions };
    const fields = writeIntent(context, raw, trusted);
    addFaults(faults, newRules?.check?.(fields) ?? []);
    throwFaults(faults);
    return use(fields as Intent, writer.bytes.subarray(0, writer.at));
  });
}

/** The maximum number of arguments. More arguments would not fit into the terms. */
export const argsMax = 768;

const intentFields = "token amount calls expirationTimestamp recovery salt chainId".split(" ");
const callFields = ["target", "function", "args"];

/**
 * Reads the fields of an intent. Ignores inherited properties. Reads each field only once, because
 * a getter could return a different value the next time.
 *
 * @param drawSalt a function that generates the salt if the intent has none
 */
function readFields(
  faults: Faults,
  value: unknown,
  drawSalt?: () => string,
): RawIntent | undefined {
  if (!isObject(faults, value)) return undefined;
  const raw: RawIntent = {
    token: undefined,
    amount: undefined,
    calls: undefined,
    expirationTimestamp: undefined,
    recovery: undefined,
    salt: undefined,
    chainId: undefined,
  };
  let calls: unknown;
  for (const key of Object.keys(value)) {
    if (key === "token") raw.token = value.token;
    else if (key === "amount") raw.amount = value.amount;
    else if (key === "calls") calls = value.calls;
    else if (key === "expirationTimestamp") raw.expirationTimestamp = value.expirationTimestamp;
    else if (key === "recovery") raw.recovery = value.recovery;
    else if (key === "salt") raw.salt = value.salt;
    else if (key === "chainId") raw.chainId = value.chainId;
    else addUnknownField(faults, key, intentFields);
  }
  if (raw.salt === undefined) raw.salt = drawSalt?.();
  need(faults, "token", raw.token);
  need(faults, "amount", raw.amount);
  need(faults, "calls", calls);
  need(faults, "expirationTimestamp", raw.expirationTimestamp);
  need(faults, "recovery", raw.recovery);
  need(faults, "salt", raw.salt);
  need(faults, "chainId", raw.chainId);
  raw.calls = readList(faults, "calls", calls, callsMax, readCall);
  return raw;
}

export function readCall(faults: Faults, value: unknown): RawCall | undefined {
  if (!isObject(faults, value)) return undefined;
  let target: unknown;
  let name: unknown;
  let args: unknown;
  for (const key of Object.keys(value)) {
    if (key === "target") target = value.target;
    else if (key === "function") name = value.function;
    else if (key === "args") args = value.args;
    else addUnknownField(faults, key, callFields);
  }
  need(faults, "target", target);
  need(faults, "function", name);
  need(faults, "args", args);
  if (name !== undefined && typeof name !== "string") {
    addFault(faults, "wrong_type", `expected a string, found ${describeType(name)}`, "function");
    name = undefined;
  }
  return {
    target,
    function: name as string | undefined,
    args: readList(faults, "args", args, argsMax, readArg),
  };
}

function readArg(faults: Faults, value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const spelling = respellArgument(value);
  const instead = spelling === undefined ? "" : `: write ${spelling}`;
  addFault(faults, "wrong_type", `expected a string, found ${describeType(value)}${instead}`);
  return undefined;
}

export function isObject(faults: Faults, value: unknown): value is Record<string, unknown> {
  const isOne = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isOne && !ArrayBuffer.isView(value)) return true;
  addFault(faults, "wrong_type", `expected an object, found ${describeType(value)}`);
  return false;
}

export function need(faults: Faults, name: string, value: unknown): void {
  if (value === undefined) addFault(faults, "missing", "this field is required", name);
}

function addUnknownField(faults: Faults, key: string, names: readonly string[]): void {
  const meant = names.find((name) => plainName(name) === plainName(key.slice(0, 64)));
  const hint = meant ? `: write ${meant}` : `, expected one of ${names.join(", ")}`;
  const path = /^[A-Za-z0-9_$-]{1,64}$/.test(key) ? [key] : [];
  addFault(faults, "unknown_field", `unknown field${hint}`, ...path);
}

const plainName = (name: string): string => name.replace(/[^A-Za-z]/g, "").toLowerCase();

function readList<T>(
  faults: Faults,
  name: string,
  value: unknown,
  lengthMax: number,
  read: (faults: Faults, item: unknown) => T,
): T[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) {
    addFault(faults, "wrong_type", `expected an array, found ${describeType(value)}`, name);
    return undefined;
  }
  if (value.length > lengthMax) {
    const message = `expected at most ${lengthMax} ${name}, found ${value.length}`;
    addFault(faults, "too_many", message, name);
    return undefined;
  }
  const items: T[] = [];
  faults.path.push(name);
  for (let i = 0; i < value.length; i++) {
    faults.path.push(i);
    items.push(read(faults, value[i]));
    faults.path.pop();
  }
  faults.path.pop();
  return items;
}
