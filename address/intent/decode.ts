// From terms to the intent they spell. Strict in itself: what passes here is the one encoding of
// the intent that comes out, so nobody has to encode it again and compare. The tests do.

import { cacheOf } from "../abi/cache.ts";
import { readAddress } from "../abi/checksum.ts";
import { toHex } from "../abi/hex.ts";
import { readSmall, readWord } from "../abi/number.ts";
import {
  malformed,
  newReader,
  type Reader,
  take,
  takeBytes,
  takeEnd,
  takeLength,
  takeOffset,
  takeValues,
  textOf,
  throwFault,
} from "../abi/reader.ts";
import { type AbiFunction, termsBytesMax } from "../abi/type.ts";
import { type Fault, InvalidError, noFaults, throwFaults } from "../errors.ts";
import { joinFunction, knownFunction } from "../function/function.ts";
import type { Keccak } from "../keccak/keccak.ts";
import type { Call, Hex, Intent } from "./intent.ts";
import {
  callsMax,
  leastChainId,
  leastExpirationTimestamp,
  noCalls,
  recoveryFault,
  smallRange,
  targetFault,
  tokenFault,
  zeroAmount,
} from "./rules.ts";

/**
 * @param factory EIP-55: it must not be `recovery`
 * @throws {InvalidError} the first fault: `malformed_terms` of the layout, else as of an intent
 */
export function decodeIntent(terms: Uint8Array, factory: Hex, keccak: Keccak): Intent {
  if (terms.length > termsBytesMax) {
    const message = `expected at most ${termsBytesMax} bytes, found ${terms.length}`;
    throw new InvalidError([{ path: [], code: "terms_too_long", message }]);
  }
  const reader = newReader(terms, cacheOf(keccak));
  const start = take(reader, 32);
  takeOffset(reader, start, 0);
  const at = take(reader, 7 * 32);
  const token = addressOf(reader, at, "token");
  unless(reader, tokenFault(token), "token");
  const amount = readWord(reader.view, at + 32);
  unless(reader, amount === 0n ? zeroAmount : undefined, "amount");
  takeOffset(reader, at + 64, at);
  const calls = takeCalls(reader);
  const expirationTimestamp = smallOf(
    reader,
    at + 96,
    "expirationTimestamp",
    leastExpirationTimestamp,
  );
  const recovery = addressOf(reader, at + 128, "recovery");
  unless(reader, recoveryFault(recovery, token, factory), "recovery");
  const salt = toHex(terms.subarray(at + 160, at + 192));
  const chainId = smallOf(reader, at + 192, "chainId", leastChainId);
  takeEnd(reader);
  return { token, amount: String(amount), calls, expirationTimestamp, recovery, salt, chainId };
}

function unless(reader: Reader, fault: Fault | undefined, field: string): void {
  if (fault) throwFault(reader, fault, field);
}

function addressOf(reader: Reader, at: number, field: string): Hex {
  const address = readAddress(reader.cache, reader.bytes, at);
  return address ?? malformed(reader, "expected 12 zero bytes before an address", field);
}

function smallOf(reader: Reader, at: number, field: string, least: number): number {
  const value = readSmall(reader.view, at);
  if (value !== undefined && value >= least) return value;
  return throwFault(reader, { code: "out_of_range", message: smallRange(least) }, field);
}

function takeCalls(reader: Reader): Call[] {
  reader.path.push("calls");
  const count = takeLength(reader, 32);
  if (count === 0) throwFault(reader, noCalls);
  if (count > callsMax) {
    const message = `expected at most ${callsMax} calls, found ${count}`;
    throwFault(reader, { code: "too_many", message });
  }
  const base = take(reader, 32 * count);
  const calls: Call[] = [];
  for (let i = 0; i < count; i++) {
    reader.path.push(i);
    takeOffset(reader, base + 32 * i, base);
    calls.push(takeCall(reader));
    reader.path.pop();
  }
  reader.path.pop();
  return calls;
}

function takeCall(reader: Reader): Call {
  const at = take(reader, 4 * 32);
  const target = addressOf(reader, at, "target");
  unless(reader, targetFault(reader.bytes, at), "target");
  reader.path.push("function");
  takeOffset(reader, at + 32, at);
  const signature = takeBytes(reader);
  takeOffset(reader, at + 64, at);
  const names = takeBytes(reader);
  const found = functionOf(reader, signature, names);
  reader.path.pop();
  reader.path.push("args");
  takeOffset(reader, at + 96, at);
  const args = takeArguments(reader, found);
  reader.path.pop();
  return { target, function: found.text, args };
}

/** The function with this signature and these names; a fault of it is refused as its own. */
function functionOf(reader: Reader, signature: Uint8Array, names: Uint8Array): AbiFunction {
  const { cache } = reader;
  const known = knownFunction(signature, names, cache);
  if (known) return known;
  const faults = noFaults(reader.path);
  const found = joinFunction(faults, textOf(reader, signature), textOf(reader, names), cache);
  throwFaults(faults);
  return found ?? malformed(reader, "no function has this signature and these names");
}

/** The arguments, behind the length they have together. */
function takeArguments(reader: Reader, found: AbiFunction): string[] {
  const end = takeLength(reader, 1) + reader.at;
  const head = take(reader, found.headBytes);
  const args = takeValues(reader, found.parameters, head);
  if (reader.at !== end)
    malformed(reader, `expected arguments of ${end - head} bytes, found ${reader.at - head}`);
  return args.map((arg) => (typeof arg === "string" ? arg : JSON.stringify(arg)));
}
