// Terms are the encoding of an intent, `abi.encode(Intent)`. spec/terms.md §2 describes the layout.
// Each intent has exactly one encoding, and the decoder accepts only that encoding. The decoder
// therefore does not have to encode its result again and compare the two encodings. Only the tests
// compare them.

import { type AbiFunction, getCache } from "../abi/cache.ts";
import { readAddress } from "../abi/checksum.ts";
import { findFunction, joinFunction } from "../abi/function.ts";
import { type Bytes, parseBytes, toHex } from "../abi/hex.ts";
import { readSmall, readWord } from "../abi/number.ts";
import {
  decodeText,
  malformed,
  malformedWord,
  newReader,
  type Reader,
  showWord,
  take,
  takeBytes,
  takeEnd,
  takeLength,
  takeOffset,
  takeValues,
  throwFault,
} from "../abi/reader.ts";
import { termsBytesMax } from "../abi/type.ts";
import { parseFactory } from "../derive.ts";
import { type Fault, InvalidError, noFaults, throwFaults } from "../errors.ts";
import { chooseKeccak, type Keccak } from "../keccak/keccak.ts";
import type { Call, Hex, Intent } from "./intent.ts";
import { callOffsets, termsOffsets } from "./layout.ts";
import { type TermsOptions, useIntent } from "./parse.ts";
import {
  callsMax,
  integerRange,
  leastChainId,
  leastExpirationTimestamp,
  noCalls,
  recoveryFault,
  targetFault,
  tokenFault,
  zeroAmount,
} from "./write.ts";

/**
 * Parses `intent` and encodes it.
 *
 * @returns a new array, whose length is a multiple of 32 and at most 24,576 bytes
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 */
export function encodeTerms(intent: Intent, options: TermsOptions = {}): Uint8Array {
  return useIntent(intent, options, (_, terms) => terms.slice());
}

/**
 * Decodes terms. `encodeTerms(decodeTerms(terms))` equals `terms`. To prove an address's intent,
 * decode its terms and check that `deriveAddress(terms)` returns the address.
 *
 * @throws {InvalidError} with the first fault, for any bytes that {@link encodeTerms} cannot
 *   return. The code is `malformed_terms` if the layout is not canonical. Otherwise, the code names
 *   the fault of the intent
 */
export function decodeTerms(terms: Bytes, options: TermsOptions = {}): Intent {
  const keccak = chooseKeccak(options);
  return decodeIntent(parseBytes(terms, []), parseFactory(options.factory, keccak), keccak);
}

function decodeIntent(terms: Uint8Array, factory: Hex, keccak: Keccak): Intent {
  if (terms.length > termsBytesMax) {
    const message = `expected at most ${termsBytesMax} bytes, found ${terms.length}`;
    throw new InvalidError([{ path: [], code: "terms_too_long", message }]);
  }
  const reader = newReader(terms, getCache(keccak));
  take(reader, termsOffsets.token);
  takeOffset(reader, 0, 0);
  take(reader, termsOffsets.end - termsOffsets.token);
  const token = takeAddress(reader, termsOffsets.token, "token");
  throwIf(reader, tokenFault(token), "token");
  const amount = readWord(reader.view, termsOffsets.amount);
  throwIf(reader, amount === 0n ? zeroAmount : undefined, "amount");
  takeOffset(reader, termsOffsets.calls, termsOffsets.token);
  const calls = takeCalls(reader);
  const expirationTimestamp = takeInteger(reader, "expirationTimestamp", leastExpirationTimestamp);
  const recovery = takeAddress(reader, termsOffsets.recovery, "recovery");
  throwIf(reader, recoveryFault(recovery, token, factory), "recovery");
  const salt = toHex(terms.subarray(termsOffsets.salt, termsOffsets.chainId));
  const chainId = takeInteger(reader, "chainId", leastChainId);
  takeEnd(reader);
  return { token, amount: String(amount), calls, expirationTimestamp, recovery, salt, chainId };
}

function throwIf(reader: Reader, fault: Fault | undefined, field: string): void {
  if (fault) throwFault(reader, fault, field);
}

function takeAddress(reader: Reader, at: number, field: string): Hex {
  const address = readAddress(reader.cache, reader.bytes, at);
  return address ?? malformedWord(reader, at, "expected 12 zero bytes before an address", field);
}

function takeInteger(
  reader: Reader,
  field: "expirationTimestamp" | "chainId",
  least: number,
): number {
  const value = readSmall(reader.view, termsOffsets[field]);
  if (value !== undefined && value >= least) return value;
  const message = `${integerRange(least)}, found ${showWord(reader, termsOffsets[field])}`;
  return throwFault(reader, { code: "out_of_range", message }, field);
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
  const at = take(reader, callOffsets.end);
  const target = takeAddress(reader, at + callOffsets.target, "target");
  throwIf(reader, targetFault(reader.bytes, at + callOffsets.target), "target");
  reader.path.push("function");
  takeOffset(reader, at + callOffsets.signature, at);
  const signature = takeBytes(reader);
  takeOffset(reader, at + callOffsets.names, at);
  const names = takeBytes(reader);
  const found = parseFunction(reader, signature, names);
  reader.path.pop();
  reader.path.push("args");
  takeOffset(reader, at + callOffsets.args, at);
  const args = takeArguments(reader, found);
  reader.path.pop();
  return { target, function: found.text, args };
}

function parseFunction(reader: Reader, signature: Uint8Array, names: Uint8Array): AbiFunction {
  const { cache } = reader;
  const known = findFunction(signature, names, cache);
  if (known) return known;
  const faults = noFaults(reader.path);
  const found = joinFunction(
    faults,
    decodeText(reader, signature),
    decodeText(reader, names),
    cache,
  );
  throwFaults(faults);
  return found ?? malformed(reader, "the names do not match the signature's parameters");
}

/** Decodes the length of a call's arguments, and then the arguments. */
function takeArguments(reader: Reader, found: AbiFunction): string[] {
  const end = takeLength(reader, 1) + reader.at;
  const head = take(reader, found.headBytes);
  const args = takeValues(reader, found.parameters, head);
  if (reader.at !== end)
    malformed(reader, `expected arguments of ${end - head} bytes, found ${reader.at - head}`);
  return args.map((arg) => (typeof arg === "string" ? arg : JSON.stringify(arg)));
}
