// What an execution looks like on the chain: the factory's `execute(Intent)` called with the terms,
// or `executeBatch(Intent[])` with those of several, and each call's own calldata within it.

import { fromHex } from "./abi/hex.ts";
import { memoryOf } from "./abi/memory.ts";
import { readSmall } from "./abi/number.ts";
import { malformed, newReader, take, takeLength, takeOffset } from "./abi/reader.ts";
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
/** The same of `executeBatch(Intent[])`. */
export const executeBatchSelector: Hex = "0x844d3348";

const one = fromHex(executeSelector);
const many = fromHex(executeBatchSelector);

/**
 * Calldata of `PaymentFactory.execute` for `intent`: the selector, then the terms as they are.
 *
 * @throws {InvalidError} with every fault of the intent
 */
export function encodeExecution(intent: Intent, options: TermsOptions = {}): Uint8Array {
  const terms = encodeTerms(intent, options);
  const calldata = new Uint8Array(one.length + terms.length);
  calldata.set(one);
  calldata.set(terms, one.length);
  return calldata;
}

/**
 * The intents that the calldata of `execute` or of `executeBatch` carries, in order:
 * {@link makeRecord} gives the record of each. Whether they ran is for the chain's events to say.
 *
 * @throws {InvalidError} `not_an_execution` for another selector; else as {@link decodeTerms}, in a
 *   batch with the intent's place, from 0, before the path
 */
export function decodeExecutions(calldata: Uint8Array, options: TermsOptions = {}): Intent[] {
  const args = calldata.subarray(one.length);
  if (one.every((byte, index) => calldata[index] === byte)) return [decodeTerms(args, options)];
  if (many.every((byte, index) => calldata[index] === byte)) return decodeBatch(args, options);
  const wanted = `${executeSelector} or ${executeBatchSelector}`;
  const message = `expected calldata that begins with ${wanted}`;
  throw new InvalidError([{ path: [], code: "not_an_execution", message }]);
}

/** Each intent lies from its offset to the next one's, as its terms have it behind their own. */
function decodeBatch(args: Uint8Array, options: TermsOptions): Intent[] {
  const reader = newReader(args, memoryOf(options.keccak ?? keccak256));
  takeOffset(reader, take(reader, 32), 0);
  const count = takeLength(reader, 32);
  const base = take(reader, 32 * count);
  if (count > 0) takeOffset(reader, base, base);
  const faults = noFaults();
  const intents: (Intent | undefined)[] = [];
  for (let i = 0; i < count; i++) {
    const isLast = i === count - 1;
    const end = isLast ? args.length - base : readSmall(reader.view, base + 32 * (i + 1));
    if (end === undefined || base + end < reader.at)
      malformed(reader, `expected a later offset at byte ${base + 32 * (i + 1)}`);
    const start = take(reader, base + end - reader.at);
    const terms = new Uint8Array(32 + reader.at - start);
    terms[31] = 32;
    terms.set(args.subarray(start, reader.at), 32);
    intents.push(gather(faults, i, () => decodeTerms(terms, options)));
  }
  if (reader.at !== args.length)
    malformed(
      reader,
      `expected the end at byte ${reader.at}, found ${args.length - reader.at} more`,
    );
  throwFaults(faults);
  return intents as Intent[];
}

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
