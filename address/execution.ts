// What an execution looks like on the chain: the factory's `execute(Intent)` called with the terms.

import { InvalidError } from "./errors.ts";
import { fromHex } from "./hex.ts";
import type { Intent } from "./intent.ts";
import { decodeTerms, encodeTerms, type TermsOptions } from "./terms.ts";

/** Selector of `execute((address,uint256,(address,string,string,bytes)[],uint64,address,bytes32,uint256))`. */
export const executeSelector = "0x184bb814";

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
