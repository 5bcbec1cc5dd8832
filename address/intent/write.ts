// Checks the fields of an intent. Writes each valid field to its offset in the terms. The rules for
// single fields also apply when terms are read (terms.ts). These rules never change (spec/terms.md
// §1).

import type { AbiFunction, Cache } from "../abi/cache.ts";
import { writeAddress } from "../abi/checksum.ts";
import { readFunction } from "../abi/function.ts";
import { writeHex } from "../abi/hex.ts";
import { readInteger, writeInteger } from "../abi/number.ts";
import { zeroAddress } from "../abi/token.ts";
import { type AbiType, termsBytesMax } from "../abi/type.ts";
import { reserve, TooLong, type Writer, writeArgument, writeBytes } from "../abi/writer.ts";
import { addFault, addFaults, describeType, type Fault, type Faults } from "../errors.ts";
import type { Call, Hex, Intent } from "./intent.ts";
import { callOffsets, termsOffsets } from "./layout.ts";

/**
 * The fields of the input, before their values are checked. A list, list item, or function that
 * could not be read is undefined. The parser has already added a fault for each undefined value.
 */
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

type Context = {
  readonly faults: Faults;
  readonly writer: Writer;
  readonly cache: Cache;
  /** Returns reasons to refuse a function in a new intent even though its text is valid. */
  readonly listCautions?: ((found: AbiFunction) => readonly Fault[]) | undefined;
};

/**
 * Writes the terms of `raw` and returns the valid fields. Checks fields in the order of the spec.
 */
export function writeIntent(context: Context, raw: RawIntent, factory: Hex): Partial<Intent> {
  const { writer } = context;
  reserve(writer, termsOffsets.end);
  writer.view.setUint32(28, termsOffsets.token);
  writer.view.setUint32(termsOffsets.calls + 28, termsOffsets.end - termsOffsets.token);
  const token = writeToken(context, raw.token);
  const fields = {
    token,
    amount: writeAmount(context, raw.amount),
    calls: undefined as readonly Call[] | undefined,
    expirationTimestamp: writeSmall(context, raw, "expirationTimestamp", leastExpirationTimestamp),
    recovery: writeRecovery(context, raw, token, factory),
    salt: writeSalt(context, raw.salt),
    chainId: writeSmall(context, raw, "chainId", leastChainId),
  };
  fields.calls = raw.calls && writeCalls(context, raw.calls);
  return fields as Partial<Intent>;
}

/**
 * Writes the value of a field that is an address. Returns undefined if the value is missing or
 * invalid.
 */
function writeAddressField(
  context: Context,
  value: unknown,
  at: number,
  field: string,
): Hex | undefined {
  if (value === undefined) return undefined;
  const { faults, cache, writer } = context;
  faults.path.push(field);
  const address = writeAddress(faults, value, cache, writer.bytes, at);
  faults.path.pop();
  return address;
}

function writeToken(context: Context, value: unknown): Hex | undefined {
  const token = writeAddressField(context, value, termsOffsets.token, "token");
  return token && acceptUnless(context, token, tokenFault(token), "token");
}

function writeRecovery(
  context: Context,
  raw: RawIntent,
  token: Hex | undefined,
  factory: Hex,
): Hex | undefined {
  const recovery = writeAddressField(context, raw.recovery, termsOffsets.recovery, "recovery");
  return (
    recovery && acceptUnless(context, recovery, recoveryFault(recovery, token, factory), "recovery")
  );
}

/** Returns `value`. If there is a `fault`, adds the fault and returns undefined instead. */
function acceptUnless<T>(
  { faults }: Context,
  value: T,
  fault: Fault | undefined,
  field: string,
): T | undefined {
  if (!fault) return value;
  addFault(faults, fault.code, fault.message, field);
  return undefined;
}

function writeAmount(context: Context, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const { faults, writer } = context;
  faults.path.push("amount");
  const amount = readInteger(faults, value, 256, false);
  faults.path.pop();
  if (amount === undefined) return undefined;
  writeInteger(writer.view, termsOffsets.amount, amount);
  return acceptUnless(context, value as string, value === "0" ? zeroAmount : undefined, "amount");
}

/** Writes an integer, which must be at least `least` and exactly representable as a JSON number. */
function writeSmall(
  context: Context,
  raw: RawIntent,
  field: "expirationTimestamp" | "chainId",
  least: number,
): number | undefined {
  const value = raw[field];
  if (value === undefined) return undefined;
  if (Number.isSafeInteger(value) && (value as number) >= least && !Object.is(value, -0)) {
    writeInteger(context.writer.view, termsOffsets[field], value as number);
    return value as number;
  }
  const wanted = integerRange(least);
  if (typeof value !== "number") {
    const meant = String(value instanceof Date ? Math.floor(+value / 1000) : value);
    const isKind = typeof value !== "object" || value instanceof Date;
    const quotes = typeof value === "string" ? " without quotes" : "";
    const instead = isKind && /^[1-9][0-9]{0,14}$/.test(meant) ? `: write ${meant}${quotes}` : "";
    addFault(
      context.faults,
      "wrong_type",
      `${wanted}, found ${describeType(value)}${instead}`,
      field,
    );
  } else {
    const code =
      Number.isInteger(value) && !Object.is(value, -0) ? "out_of_range" : "not_an_integer";
    const found = Object.is(value, -0) ? "-0" : value;
    addFault(context.faults, code, `${wanted}, found ${found}`, field);
  }
  return undefined;
}

function writeSalt(context: Context, value: unknown): Hex | undefined {
  if (value === undefined) return undefined;
  const right = typeof value === "string" && value.length === 66 && value.startsWith("0x");
  if (right && writeHex(value, context.writer.bytes, termsOffsets.salt))
    return value.toLowerCase() as Hex;
  if (typeof value !== "string")
    addFault(
      context.faults,
      "wrong_type",
      `expected a string, found ${describeType(value)}`,
      "salt",
    );
  else {
    const message = `expected 32 bytes: 0x and 64 hex digits, found ${value.length} characters`;
    addFault(context.faults, "malformed_salt", message, "salt");
  }
  return undefined;
}

/**
 * Writes the number of calls, the offset of each call, and the calls. Returns undefined if a call
 * is invalid.
 */
function writeCalls(
  context: Context,
  calls: readonly (RawCall | undefined)[],
): readonly Call[] | undefined {
  const { faults, writer } = context;
  const before = faults.issues.length;
  if (calls.length === 0) addFault(faults, noCalls.code, noCalls.message, "calls");
  const written = catchTooLong(faults, "calls", () => {
    writer.view.setUint32(reserve(writer, 32) + 28, calls.length);
    const base = reserve(writer, 32 * calls.length);
    return calls.map((call, i) => {
      faults.path.push("calls", i);
      writer.view.setUint32(base + 32 * i + 28, writer.at - base);
      const right = call && writeCall(context, call);
      faults.path.length -= 2;
      return right;
    });
  });
  if (!written || faults.issues.length > before || written.includes(undefined)) return undefined;
  return written as Call[];
}

/** Runs `write`. If the terms become too long, adds a fault under `field` and returns undefined. */
export function catchTooLong<T>(faults: Faults, field: string, write: () => T): T | undefined {
  const depth = faults.path.length;
  try {
    return write();
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    faults.path.length = depth;
    addFault(faults, "terms_too_long", `expected terms of at most ${termsBytesMax} bytes`, field);
    return undefined;
  }
}

export function writeCall(context: Context, raw: RawCall): Call | undefined {
  const { faults, writer, cache } = context;
  const start = reserve(writer, callOffsets.end);
  const target = writeAddressField(context, raw.target, start + callOffsets.target, "target");
  if (target)
    acceptUnless(context, target, targetFault(writer.bytes, start + callOffsets.target), "target");
  faults.path.push("function");
  const found = raw.function === undefined ? undefined : readFunction(faults, raw.function, cache);
  if (found && context.listCautions) addFaults(faults, context.listCautions(found));
  faults.path.pop();
  if (!found) return undefined;
  writer.view.setUint32(start + callOffsets.signature + 28, writer.at - start);
  writeBytes(writer, found.signatureBytes);
  writer.view.setUint32(start + callOffsets.names + 28, writer.at - start);
  writeBytes(writer, found.namesBytes);
  writer.view.setUint32(start + callOffsets.args + 28, writer.at - start);
  const args = raw.args && writeArguments(context, found.parameters, raw.args, found.headBytes);
  if (!target || !args) return undefined;
  return { target, function: found.text, args };
}

/** Writes the length of `abi.encode(arguments)`, and then the encoding. */
function writeArguments(
  context: Context,
  parameters: readonly AbiType[],
  args: readonly (string | undefined)[],
  headBytes: number,
): readonly string[] | undefined {
  const { faults, writer } = context;
  if (args.length !== parameters.length) {
    const message = `expected ${parameters.length} arguments, found ${args.length}`;
    addFault(faults, "wrong_count", message, "args");
    return undefined;
  }
  const before = faults.issues.length;
  const length = reserve(writer, 32) + 28;
  const base = reserve(writer, headBytes);
  const written: string[] = [];
  faults.path.push("args");
  let head = base;
  for (let i = 0; i < args.length; i++) {
    const type = parameters[i]!;
    faults.path.push(i);
    if (args[i] !== undefined) written.push(writeArgument(context, type, args[i]!, head, base));
    faults.path.pop();
    head += type.headBytes;
  }
  faults.path.pop();
  writer.view.setUint32(length, writer.at - base);
  const right = written.length === args.length && faults.issues.length === before;
  return right ? written : undefined;
}

export const callsMax = 32;

/** @param token in EIP-55 case, like `recovery` and `factory` in {@link recoveryFault} */
export function tokenFault(token: Hex): Fault | undefined {
  if (token !== zeroAddress) return undefined;
  return { code: "zero_address", message: "expected a token contract, found the zero address" };
}

/** @param token the intent's token, or undefined if the token is invalid */
export function recoveryFault(
  recovery: Hex,
  token: Hex | undefined,
  factory: Hex,
): Fault | undefined {
  if (recovery === zeroAddress)
    return {
      code: "zero_address",
      message: "expected an address of yours, found the zero address: money sent there is lost",
    };
  if (recovery === factory) {
    const message = "expected an address of yours, found the factory, which cannot receive money";
    return { code: "recovery_is_factory", message };
  }
  if (recovery !== token) return undefined;
  const message =
    "expected an address of yours, found the token contract: money sent there is lost";
  return { code: "recovery_is_token", message };
}

export const zeroAmount: Fault = {
  code: "out_of_range",
  message: "expected an amount of 1 or more, found 0",
};

export const noCalls: Fault = {
  code: "too_few",
  message: `expected 1 to ${callsMax} calls, found 0`,
};

/** @param word contains the encoded address in 32 bytes, beginning at `at` */
export function targetFault(word: Uint8Array, at: number): Fault | undefined {
  for (let i = 0; i < 30; i++) if (word[at + i] !== 0) return undefined;
  const message =
    "expected an address of at least 2^16: a call to a lower address would do nothing";
  return { code: "reserved_address", message };
}

export const integerRange = (least: number): string =>
  `expected an integer from ${least} to ${Number.MAX_SAFE_INTEGER}`;

export const leastExpirationTimestamp = 0;
export const leastChainId = 1;
