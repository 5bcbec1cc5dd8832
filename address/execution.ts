// What an execution looks like on the chain: the factory's `execute(Intent)` called with the terms,
// and each call's own calldata within it.

import { InvalidError, noFaults, throwFaults } from "./errors.ts";
import { readCall } from "./fields.ts";
import { readFunction } from "./function.ts";
import { fromHex } from "./hex.ts";
import type { Call, Hex, Intent } from "./intent.ts";
import { type Keccak, keccak256 } from "./keccak.ts";
import { memoryOf } from "./memory.ts";
import { decodeTerms, encodeTerms, type TermsOptions } from "./terms.ts";
import { callPlaces, orTooLong, writeCall } from "./write-intent.ts";
import { withWriter } from "./writer.ts";

/** First 4 bytes of the calldata of `execute(Intent)`, the intent as a tuple. */
export const executeSelector: Hex = "0x184bb814";

const selector = fromHex(executeSelector);

/**
 * Calldata of `PaymentFactory.execute` for `intent`: the selector, then the terms as they are.
 *
 * @throws {InvalidError} with every fault of the intent
 */
export function encodeExecution(intent: Intent, options: TermsOptions = {}): Uint8Array {
  const terms = encodeTerms(intent, options);
  const calldata = new Uint8Array(selector.length + terms.length);
  calldata.set(selector);
  calldata.set(terms, selector.length);
  return calldata;
}

/**
 * The intent that an execution's calldata carries: {@link makeRecord} gives its record.
 *
 * @throws {InvalidError} `not_an_execution` for another selector, else as {@link decodeTerms}
 */
export function decodeExecution(calldata: Uint8Array, options: TermsOptions = {}): Intent {
  if (selector.some((byte, index) => calldata[index] !== byte)) {
    const message = `expected calldata that begins with ${executeSelector}`;
    throw new InvalidError([{ path: [], code: "not_an_execution", message }]);
  }
  return decodeTerms(calldata.subarray(selector.length), options);
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
