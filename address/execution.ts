// What the factory's calldata looks like: `execute(Intent)` is called with the terms, `recover`
// with the same intent and tokens, `batch` with calldata of both; and each call's own calldata.

import { fromHex } from "./abi/hex.ts";
import { memoryOf } from "./abi/memory.ts";
import { readSmall } from "./abi/number.ts";
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
} from "./abi/reader.ts";
import { withWriter } from "./abi/writer.ts";
import { gather, InvalidError, noFaults, throwFaults } from "./errors.ts";
import { readFunction } from "./function/function.ts";
import { readCall } from "./intent/fields.ts";
import type { Call, Hex, Intent } from "./intent/intent.ts";
import type { TermsOptions } from "./intent/parse.ts";
import { decodeTerms, encodeTerms } from "./intent/terms.ts";
import { callPlaces, orTooLong, writeCall } from "./intent/write.ts";
import { type Keccak, keccak256 } from "./keccak/keccak.ts";

/** First 4 bytes of the calldata of `execute(Intent)`, the intent as a tuple. */
export const executeSelector: Hex = "0x184bb814";
/** The same of `recover(Intent, address[])`. */
export const recoverSelector: Hex = "0x8f924bd4";
/** The same of `batch(bytes[])`. */
export const batchSelector: Hex = "0x1e897afb";

const [execute, recover, batch] = [executeSelector, recoverSelector, batchSelector].map(
  (selector) => fromHex(selector),
) as [Uint8Array, Uint8Array, Uint8Array];

/**
 * Calldata of `PaymentFactory.execute` for `intent`: the selector, then the terms as they are.
 *
 * @throws {InvalidError} with every fault of the intent
 */
export function encodeExecution(intent: Intent, options: TermsOptions = {}): Uint8Array {
  const terms = encodeTerms(intent, options);
  const calldata = new Uint8Array(execute.length + terms.length);
  calldata.set(execute);
  calldata.set(terms, execute.length);
  return calldata;
}

/**
 * The intents that the calldata of `execute`, of `recover` or of a `batch` of them carries, in
 * order: {@link makeRecord} gives the record of each. What became of them the chain's events tell.
 *
 * @throws {InvalidError} `not_an_execution` for another selector; else as {@link decodeTerms}, in a
 *   batch with the item's place, from 0, before the path
 */
export function decodeIntents(calldata: Uint8Array, options: TermsOptions = {}): Intent[] {
  if (!startsWith(calldata, batch)) return [decodeItem(calldata, options)];
  const reader = readerOf(calldata, options);
  takeOffset(reader, take(reader, 32), 0);
  const count = takeLength(reader, 32);
  const base = take(reader, 32 * count);
  const faults = noFaults();
  const intents: (Intent | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    takeOffset(reader, base + 32 * i, base);
    const item = takeBytes(reader);
    intents.push(gather(faults, i, () => decodeItem(item, options)));
  }
  takeEnd(reader);
  throwFaults(faults);
  return intents as Intent[];
}

function decodeItem(calldata: Uint8Array, options: TermsOptions): Intent {
  if (startsWith(calldata, execute)) return decodeTerms(calldata.subarray(4), options);
  if (startsWith(calldata, recover)) return decodeRecovery(calldata, options);
  const wanted = `${executeSelector}, ${recoverSelector} or ${batchSelector}`;
  const message = `expected calldata that begins with ${wanted}; in a batch, with the first two`;
  throw new InvalidError([{ path: [], code: "not_an_execution", message }]);
}

/** The intent lies between the offsets and the tokens, as its terms have it behind their own. */
function decodeRecovery(calldata: Uint8Array, options: TermsOptions): Intent {
  const reader = readerOf(calldata, options);
  const offsets = take(reader, 64);
  takeOffset(reader, offsets, 0);
  const start = reader.at;
  const end = readSmall(reader.view, offsets + 32);
  if (end === undefined || end < start) malformed(reader, "expected a later offset at byte 32");
  take(reader, end - start);
  const terms = new Uint8Array(32 + end - start);
  terms[31] = 32;
  terms.set(reader.bytes.subarray(start, end), 32);
  const count = takeLength(reader, 32);
  for (let i = 0; i < count; i++) {
    takeZeros(reader, 12);
    take(reader, 20);
  }
  takeEnd(reader);
  return decodeTerms(terms, options);
}

const startsWith = (calldata: Uint8Array, selector: Uint8Array): boolean =>
  selector.every((byte, index) => calldata[index] === byte);

/** Of the arguments behind a selector: offsets count from there. */
const readerOf = (calldata: Uint8Array, options: TermsOptions): Reader =>
  newReader(calldata.subarray(4), memoryOf(options.keccak ?? keccak256));

/**
 * Calldata of one call as its target receives it: the selector, then the arguments' encoding.
 *
 * @throws {InvalidError} with every fault of the call
 */
export function encodeCall(call: Call, options: { readonly keccak?: Keccak } = {}): Uint8Array {
  const memory = memoryOf(options.keccak ?? keccak256);
  const faults = noFaults();
  const raw = readCall(faults, call);
  return withWriter((writer) => {
    const context = { faults, writer, memory };
    const written = raw && orTooLong(faults, "args", () => writeCall(context, raw));
    throwFaults(faults);
    const { selector } = readFunction(faults, written!.function, memory)!;
    const args = writer.view.getUint32(callPlaces.args + 28);
    const length = writer.view.getUint32(args + 28);
    const calldata = new Uint8Array(4 + length);
    calldata.set(fromHex(selector));
    calldata.set(writer.bytes.subarray(args + 32, args + 32 + length), 4);
    return calldata;
  });
}
