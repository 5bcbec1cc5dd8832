// The one body that create and look-up share, byte for byte: an address record, as JSON.

import { formatAddress, type Hex, type Intent, toHex } from "executable-address";
import type { Parts } from "./parts.ts";

/**
 * @param address 20 bytes
 * @param intent as the library parses or decodes it, so that its fields stand in one order
 */
export function recordJson(
  address: Uint8Array,
  terms: Uint8Array,
  intent: Intent,
  { factory, keccak }: Pick<Parts, "factory" | "keccak">,
): string {
  const hex: Hex = toHex(terms);
  return JSON.stringify({ address: formatAddress(address, keccak), factory, intent, terms: hex });
}
