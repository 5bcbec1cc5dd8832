// The one body that create and look-up share, byte for byte: an address record, as JSON.

import { formatAddress, type Intent } from "executable-address";
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
  const { buffer, byteOffset, byteLength } = terms;
  const hex = Buffer.from(buffer, byteOffset, byteLength).toString("hex");
  // Put together here: JSON.stringify would read the hex, most of the body, for what to escape.
  const head = `{"address":"${formatAddress(address, keccak)}","factory":"${factory}"`;
  return `${head},"intent":${JSON.stringify(intent)},"terms":"0x${hex}"}`;
}
