// Encodes and decodes the factory's calldata. The arguments of `execute(Intent)` are the terms. The
// first argument of `recover` and `rescue` is the intent. The argument of `batch` is a list of
// calldata.

import { getCache } from "../abi/cache.ts";
import { readFunction } from "../abi/function.ts";
import { type Bytes, fromHex, parseBytes, toHex } from "../abi/hex.ts";
import { readSmall } from "../abi/number.ts";
import {
  malformedWord,
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
import { callOffsets } from "../intent/layout.ts";
import { readCall, type TermsOptions } from "../intent/parse.ts";
import { decodeTerms, encodeTerms } from "../intent/terms.ts";
import { catchTooLong, writeCall } from "../intent/write.ts";
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
 * Encodes calldata for `PaymentFactory.execute` of `intent`: the selector and the terms.
 *
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 */
export function encodeExecution(intent: Intent, options: TermsOptions = {}): Uint8Array {
  return executeCalldata(encodeTerms(intent, options));
}

/** A decoded call to the factory, or the error if the call cannot be decoded. */
export type DecodedCall =
  | { readonly name: "execute" | "recover" | "rescue"; readonly intent: Intent }
  | { readonly error: InvalidError };

/**
 * Decodes the factory's calldata: one `execute`, `recover`, or `rescue`, or every item of a
 * `batch`. An invalid item of a batch has an `error` instead of an intent. To get the record of a
 * decoded intent, call {@link makeRecord}.
 *
 * @throws {InvalidError} `not_an_execution` for another function, or `malformed_terms` if a batch
 *   is not canonical. If the calldata is a single call, the error contains the faults of this call.
 *   The paths in an item's `error` begin with the item's index in the batch
 */
export function decodeExecutions(calldata: Bytes, options: TermsOptions = {}): DecodedCall[] {
  const bytes = parseBytes(calldata, ["calldata"]);
  if (!startsWith(bytes, batch)) return [decodeCall(bytes, options)];
  const reader = openReader(bytes, options);
  takeOffset(reader, take(reader, 32), 0);
  const count = takeLength(reader, 32);
  const base = take(reader, 32 * count);
  const calls: DecodedCall[] = [];
  for (let i = 0; i < count; i++) {
    takeOffset(reader, base + 32 * i, base);
    const item = takeBytes(reader);
    const faults = noFaults();
    const found = gather(faults, i, () =>
      startsWith(item, rescue) ? notAnExecution(item) : decodeCall(item, options),
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
  return notAnExecution(calldata);
}

function notAnExecution(calldata: Uint8Array): never {
  const wanted = `${executeSelector}, ${recoverSelector}, ${rescueSelector}, or ${batchSelector}`;
  const inBatch = `${executeSelector} or ${recoverSelector}`;
  const expected = `expected calldata that begins with ${wanted} (in a batch, with ${inBatch})`;
  const message = `${expected}, found ${toHex(calldata.subarray(0, 4))}`;
  throw new InvalidError([{ path: [], code: "not_an_execution", message }]);
}

/** Decodes `recover(Intent, address[])`. In the calldata, the tokens follow the intent. */
function readRecovery(calldata: Uint8Array, options: TermsOptions): Intent {
  const reader = openReader(calldata, options);
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

/**
 * Decodes `rescue(Intent, address, uint256, bytes)`. In the calldata, the data follows the intent.
 */
function readRescue(calldata: Uint8Array, options: TermsOptions): Intent {
  const reader = openReader(calldata, options);
  const head = take(reader, 32);
  takeZeros(reader, 12);
  take(reader, 20 + 32 + 32);
  const terms = takeTerms(reader, head, 96);
  takeBytes(reader);
  takeEnd(reader);
  return decodeTerms(terms, options);
}

/**
 * Reads the intent from the calldata and returns it as terms. The intent ends where the next
 * argument begins. The word at `head + next` contains the offset of the next argument.
 */
function takeTerms(reader: Reader, head: number, next: number): Uint8Array {
  takeOffset(reader, head, 0);
  const start = reader.at;
  const end = readSmall(reader.view, head + next);
  if (end === undefined || end < start)
    malformedWord(
      reader,
      head + next,
      `expected an offset of at least ${start} at byte ${head + next}`,
    );
  take(reader, end - start);
  const terms = new Uint8Array(32 + end - start);
  terms[31] = 32;
  terms.set(reader.bytes.subarray(start, end), 32);
  return terms;
}

const startsWith = (calldata: Uint8Array, selector: Uint8Array): boolean =>
  selector.every((byte, index) => calldata[index] === byte);

/** Opens a reader after the selector, because ABI offsets are relative to this position. */
const openReader = (calldata: Uint8Array, options: TermsOptions): Reader =>
  newReader(calldata.subarray(4), getCache(chooseKeccak(options)));

/**
 * Encodes the calldata that the target of a call receives: the selector and the arguments.
 *
 * @throws {InvalidError} if the call is invalid; the error lists every fault
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
    const args = writer.view.getUint32(callOffsets.args + 28);
    const length = writer.view.getUint32(args + 28);
    const calldata = new Uint8Array(4 + length);
    calldata.set(fromHex(selector));
    calldata.set(writer.bytes.subarray(args + 32, args + 32 + length), 4);
    return calldata;
  });
}
