// Builds the factory's calldata from an intent's terms, without encoding the intent again. The
// terms are also the encoded arguments of `execute`: the offset 0x20 and the intent's tuple.
// Calldata for `recover` contains the same tuple at another offset. A batch contains calldata for
// `execute` and `recover`.

import { type Bytes, fromHex, parseBytes } from "../abi/hex.ts";
import { roundUpToWords } from "../abi/number.ts";
import type { Hex } from "../intent/intent.ts";

/** The selector of `execute(Intent)`, with the intent as a tuple. */
export const executeSelector: Hex = "0x184bb814";
/** The selector of `recover(Intent, address[])`. */
export const recoverSelector: Hex = "0x8f924bd4";
/** The selector of `rescue(Intent, address, uint256, bytes)`. */
export const rescueSelector: Hex = "0x48349a2f";
/** The selector of `batch(bytes[])`. */
export const batchSelector: Hex = "0x1e897afb";

/**
 * Encodes calldata for `PaymentFactory.execute`: the selector and the terms.
 *
 * @param terms from `encodeTerms`; they are not decoded here
 * @throws {InvalidError} on malformed hex
 */
export function executeCalldata(terms: Bytes): Uint8Array {
  return joined([fromHex(executeSelector), parseBytes(terms, ["terms"])]);
}

/**
 * Encodes calldata for `PaymentFactory.recover`.
 *
 * @param terms from `encodeTerms`; they are not decoded here
 * @param tokens 20 bytes each, in any letter case; the zero address means the native
 *   coin
 * @throws {InvalidError} on malformed hex
 */
export function recoverCalldata(terms: Bytes, tokens: readonly Hex[]): Uint8Array {
  const tuple = parseBytes(terms, ["terms"]).subarray(32);
  const addresses = tokens.map((token, index) => word(fromHex(token, ["tokens", index])));
  return joined([
    fromHex(recoverSelector),
    word(64),
    word(64 + tuple.length),
    tuple,
    word(tokens.length),
    ...addresses,
  ]);
}

/**
 * Encodes calldata for `PaymentFactory.rescue`.
 *
 * @param call the call that the vault makes, with `value` in wei
 * @throws {InvalidError} on malformed hex
 */
export function rescueCalldata(
  terms: Bytes,
  call: { readonly target: Hex; readonly value: bigint; readonly data: Bytes },
): Uint8Array {
  const tuple = parseBytes(terms, ["terms"]).subarray(32);
  const data = parseBytes(call.data, ["data"]);
  return joined([
    fromHex(rescueSelector),
    word(128),
    word(fromHex(call.target, ["target"])),
    word(fromHex(`0x${call.value.toString(16).padStart(64, "0")}`)),
    word(128 + tuple.length),
    tuple,
    word(data.length),
    data,
    new Uint8Array(roundUpToWords(data.length) - data.length),
  ]);
}

/**
 * Encodes calldata for `PaymentFactory.batch`.
 *
 * @param items calldata for `execute` or `recover`
 * @throws {InvalidError} on malformed hex
 */
export function batchCalldata(items: readonly Bytes[]): Uint8Array {
  const parts = items.map((item, index) => parseBytes(item, ["items", index]));
  const offsets: Uint8Array[] = [];
  const tails: Uint8Array[] = [];
  let offset = 32 * parts.length;
  for (const item of parts) {
    const length = roundUpToWords(item.length);
    offsets.push(word(offset));
    tails.push(word(item.length), item, new Uint8Array(length - item.length));
    offset += 32 + length;
  }
  return joined([fromHex(batchSelector), word(32), word(parts.length), ...offsets, ...tails]);
}

/** Encodes a number below 2^32 or an address as a word. */
function word(value: number | Uint8Array): Uint8Array {
  const bytes = new Uint8Array(32);
  if (typeof value === "number") new DataView(bytes.buffer).setUint32(28, value);
  else bytes.set(value, 32 - value.length);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
