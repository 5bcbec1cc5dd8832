// Reads and writes calldata of the factory: `execute(Intent)` is called with the terms, `recover`
// and `rescue` with the same intent and more, `batch` with calldata of these.

import { getCache } from "../abi/cache.ts";
import { readFunction } from "../abi/function.ts";
import { type Bytes, fromHex, parseBytes } from "../abi/hex.ts";
import { readSmall } from "../abi/number.ts";
import {
  malformed,
  newReader,
  type Reader,
  take,
  takeBytes,
  takeEnd,
  takeLength,
  takeOffset,
  takeZeros,
} from "../abi/reader.ts";
import { withWriter } from "../abi/writer.ts";
import { gather, InvalidError, noFaults, throwFaults } from "../errors.ts";
import type { Call, Intent } from "../intent/intent.ts";
import { readCall, type TermsOptions } from "../intent/parse.ts";
import { decodeTerms, encodeTerms } from "../intent/terms.ts";
import { callPlaces, catchTooLong, writeCall } from "../intent/write.ts";
import { chooseKeccak, type Keccak } from "../keccak/keccak.ts";
import {
  batchSelector,
  executeCalldata,
  executeSelector,
  recoverSelector,
  rescueSelector,
} from "./calldata.ts";

const execute = fromHex(executeSelector);
const recover = fromHex(recoverSelector);
const rescue = fromHex(rescueSelector);
const batch = fromHex(batchSelector);

/**
 * Calldata of `PaymentFactory.execute` for `intent`: the selector, then the terms as they are.
 *
 * @throws {InvalidError} with every fault of the intent
 */
export function encodeExecution(intent: Intent, options: TermsOptions = {}): Uint8Array {
  return executeCalldata(encodeTerms(intent, options));
}

/** One call of the factory: which, and for what; or what is wrong with it. */
export type DecodedCall =
  | { readonly name: "execute" | "recover" | "rescue"; readonly intent: Intent }
  | { readonly error: InvalidError };

/**
 * Reads what calldata of the factory asks for, in order: the one call of `execute`, `recover` or
 * `rescue`, or each item of a `batch`, good ones beside those that are none.
 * {@link makeRecord} gives the record of an intent; the chain's events tell what became of it.
 *
 * @throws {InvalidError} `not_an_execution` for another selector, `malformed_terms` where a batch
 *   is not as `abi.encode` has it; of a single call also what is wrong with it. An item's `error`
 *   has its place, from 0, before each path
 */
export function decodeExecutions(calldata: Bytes, options: TermsOptions = {}): DecodedCall[] {
  const bytes = parseBytes(calldata, ["calldata"]);
  if (!startsWith(bytes, batch)) return [decodeCall(bytes, options)];
  const reader = readerOf(bytes, options);
  takeOffset(reader, take(reader, 32), 0);
  const count = takeLength(reader, 32);
  const base = take(reader, 32 * count);
  const calls: DecodedCall[] = [];
  for (let i = 0; i < count; i++) {
    takeOffset(reader, base + 32 * i, base);
    const item = takeBytes(reader);
    const faults = noFaults();
    const found = gather(faults, i, () =>
      startsWith(item, rescue) ? notAnExecution() : decodeCall(item, options),
    );
    calls.push(found ?? { error: new InvalidError(faults.issues) });
  }
  takeEnd(reader);
  return calls;
}

function decodeCall(calldata: Uint8Array, options: TermsOptions): DecodedCall {
  if (startsWith(calldata, execute))
    return { name: "execute", intent: decodeTerms(calldata.subarray(4), options) };
  if (startsWith(calldata, recover))
    return { name: "recover", intent: readRecovery(calldata, options) };
  if (startsWith(calldata, rescue))
    return { name: "rescue", intent: readRescue(calldata, options) };
  return notAnExecution();
}

function notAnExecution(): never {
  const wanted = `${executeSelector}, ${recoverSelector}, ${rescueSelector} or ${batchSelector}`;
  const message = `expected calldata that begins with ${wanted}; in a batch, with the first two`;
  throw new InvalidError([{ path: [], code: "not_an_execution", message }]);
}

/** `recover(Intent, address[])`: the tokens stand behind the intent. */
function readRecovery(calldata: Uint8Array, options: TermsOptions): Intent {
  const reader = readerOf(calldata, options);
  const head = take(reader, 64);
  const terms = takeTerms(reader, head, 32);
  const count = takeLength(reader, 32);
  for (let i = 0; i < count; i++) {
    takeZeros(reader, 12);
    take(reader, 20);
  }
  takeEnd(reader);
  return decodeTerms(terms, options);
}

/** `rescue(Intent, address, uint256, bytes)`: target and value before it, the data behind it. */
function readRescue(calldata: Uint8Array, options: TermsOptions): Intent {
  const reader = readerOf(calldata, options);
  const head = take(reader, 32);
  takeZeros(reader, 12);
  take(reader, 20 + 32 + 32);
  const terms = takeTerms(reader, head, 96);
  takeBytes(reader);
  takeEnd(reader);
  return decodeTerms(terms, options);
}

/** The intent, up to where the offset `next` bytes behind `head` leads, as terms have it. */
function takeTerms(reader: Reader, head: number, next: number): Uint8Array {
  takeOffset(reader, head, 0);
  const start = reader.at;
  const end = readSmall(reader.view, head + next);
  if (end === undefined || end < start)
    malformed(reader, `expected a later offset at byte ${head + next}`);
  take(reader, end - start);
  const terms = new Uint8Array(32 + end - start);
  terms[31] = 32;
  terms.set(reader.bytes.subarray(start, end), 32);
  return terms;
}

const startsWith = (calldata: Uint8Array, selector: Uint8Array): boolean =>
  selector.every((byte, index) => calldata[index] === byte);

/** Reads the arguments behind a selector: offsets count from there. */
const readerOf = (calldata: Uint8Array, options: TermsOptions): Reader =>
  newReader(calldata.subarray(4), getCache(chooseKeccak(options)));

/**
 * Calldata of one call as its target receives it: the selector, then the arguments' encoding.
 *
 * @throws {InvalidError} with every fault of the call
 */
export function encodeCall(call: Call, options: { readonly keccak?: Keccak } = {}): Uint8Array {
  const cache = getCache(chooseKeccak(options));
  const faults = noFaults();
  const raw = readCall(faults, call);
  return withWriter((writer) => {
    const context = { faults, writer, cache };
    const written = raw && catchTooLong(faults, "args", () => writeCall(context, raw));
    throwFaults(faults);
    const { selector } = readFunction(faults, written!.function, cache)!;
    const args = writer.view.getUint32(callPlaces.args + 28);
    const length = writer.view.getUint32(args + 28);
    const calldata = new Uint8Array(4 + length);
    calldata.set(fromHex(selector));
    calldata.set(writer.bytes.subarray(args + 32, args + 32 + length), 4);
    return calldata;
  });
}
