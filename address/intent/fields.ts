// The first look at an intent from outside: is it an object with these fields, of these kinds? Each
// field is read once and only if it is the object's own, so neither getters nor prototypes matter
// later.

import { respellArgument } from "../abi/respell.ts";
import { addFault, type Faults, kindOf } from "../errors.ts";
import { callsMax } from "./rules.ts";

/** Fields as found. A list of the wrong kind is undefined, and a fault. */
export type RawIntent = {
  token: unknown;
  amount: unknown;
  calls: (RawCall | undefined)[] | undefined;
  expirationTimestamp: unknown;
  recovery: unknown;
  salt: unknown;
  chainId: unknown;
};
export type RawCall = {
  target: unknown;
  function: string | undefined;
  args: (string | undefined)[] | undefined;
};

/** No function whose arguments fit has more parameters. */
const argsMax = 768;

const intentFields = "token amount calls expirationTimestamp recovery salt chainId".split(" ");
const callFields = ["target", "function", "args"];

/** @param drawSalt gives the salt where the intent has none */
export function readFields(
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
    addFault(faults, "wrong_type", `expected a string, found ${kindOf(name)}`, "function");
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
  addFault(faults, "wrong_type", `expected a string, found ${kindOf(value)}${instead}`);
  return undefined;
}

function isObject(faults: Faults, value: unknown): value is Record<string, unknown> {
  const isOne = typeof value === "object" && value !== null && !Array.isArray(value);
  if (isOne && !ArrayBuffer.isView(value)) return true;
  addFault(faults, "wrong_type", `expected an object, found ${kindOf(value)}`);
  return false;
}

function need(faults: Faults, name: string, value: unknown): void {
  if (value === undefined) addFault(faults, "missing", "this field is required", name);
}

function addUnknownField(faults: Faults, key: string, names: readonly string[]): void {
  const meant = names.find((name) => plainName(name) === plainName(key.slice(0, 64)));
  const hint = meant ? `: write ${meant}` : `; the fields are ${names.join(", ")}`;
  const path = /^[A-Za-z0-9_$-]{1,64}$/.test(key) ? [key] : [];
  addFault(faults, "unknown_field", `no such field${hint}`, ...path);
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
    addFault(faults, "wrong_type", `expected an array, found ${kindOf(value)}`, name);
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
