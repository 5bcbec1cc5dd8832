// From terms to the intent they spell, not yet checked: the caller parses what comes out, encodes
// it again and compares, so a rule that this file does not enforce is enforced there.

import { readAddress } from "../abi/checksum.ts";
import { toHex } from "../abi/hex.ts";
import { memoryOf } from "../abi/memory.ts";
import { readSmall, readWord } from "../abi/number.ts";
import {
  malformed,
  newReader,
  type Reader,
  take,
  takeBytes,
  takeLength,
  takeOffset,
  takeValues,
  textOf,
} from "../abi/reader.ts";
import { type AbiFunction, termsBytesMax } from "../abi/type.ts";
import { InvalidError, noFaults, throwFaults } from "../errors.ts";
import { joinFunction, knownFunction } from "../function/function.ts";
import { type Keccak, keccak256 } from "../keccak/keccak.ts";
import { callsMax } from "./fields.ts";

/**
 * An object with an intent's fields, to be parsed.
 *
 * @throws {InvalidError} `malformed_terms` where the layout is at fault
 */
export function decodeIntent(terms: Uint8Array, options: { readonly keccak?: Keccak }): unknown {
  if (terms.length > termsBytesMax) {
    const message = `expected at most ${termsBytesMax} bytes, found ${terms.length}`;
    throw new InvalidError([{ path: [], code: "terms_too_long", message }]);
  }
  const reader = newReader(terms, memoryOf(options.keccak ?? keccak256));
  const start = take(reader, 32);
  takeOffset(reader, start, 0);
  const at = take(reader, 7 * 32);
  takeOffset(reader, at + 64, at);
  const intent = {
    token: readAddress(reader.memory, terms, at),
    amount: String(readWord(reader.view, at + 32)),
    calls: takeCalls(reader),
    expirationTimestamp: small(reader, at + 96, "expirationTimestamp"),
    recovery: readAddress(reader.memory, terms, at + 128),
    salt: toHex(terms.subarray(at + 160, at + 192)),
    chainId: small(reader, at + 192, "chainId"),
  };
  if (reader.at !== terms.length) {
    const message = `expected the end at byte ${reader.at}, found ${terms.length - reader.at} more`;
    malformed(reader, message);
  }
  return intent;
}

function small(reader: Reader, at: number, field: string): number {
  const value = readSmall(reader.view, at);
  if (value !== undefined) return value;
  reader.path.push(field);
  malformed(reader, `expected an integer up to ${Number.MAX_SAFE_INTEGER}`);
}

function takeCalls(reader: Reader): unknown[] {
  reader.path.push("calls");
  const count = takeLength(reader, 32);
  if (count > callsMax) malformed(reader, `expected at most ${callsMax} calls, found ${count}`);
  const base = take(reader, 32 * count);
  const calls: unknown[] = [];
  for (let i = 0; i < count; i++) {
    reader.path.push(i);
    takeOffset(reader, base + 32 * i, base);
    calls.push(takeCall(reader));
    reader.path.pop();
  }
  reader.path.pop();
  return calls;
}

function takeCall(reader: Reader): unknown {
  const at = take(reader, 4 * 32);
  const target = readAddress(reader.memory, reader.bytes, at);
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
  const { memory } = reader;
  const known = knownFunction(signature, names, memory);
  if (known) return known;
  const faults = noFaults(reader.path);
  const found = joinFunction(faults, textOf(reader, signature), textOf(reader, names), memory);
  throwFaults(faults);
  return found ?? malformed(reader, "no function has this signature and these names");
}

/** The arguments, behind the length they have together. */
function takeArguments(reader: Reader, found: AbiFunction): unknown[] {
  const end = takeLength(reader, 1) + reader.at;
  const head = take(reader, found.headBytes);
  const args = takeValues(reader, found.parameters, head);
  if (reader.at !== end)
    malformed(reader, `expected arguments of ${end - head} bytes, found ${reader.at - head}`);
  return args.map((arg) => (typeof arg === "string" ? arg : JSON.stringify(arg)));
}
