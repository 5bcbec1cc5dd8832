// The one body that create and look-up share, byte for byte: an address record, as JSON.

import { formatAddress, type Intent } from "executable-address";
import { decodeRecord } from "../store/record.ts";
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
  return `${head},"intent":${intentJson(intent)},"terms":"0x${hex}"}`;
}

/** The same of terms as they are held. @throws {CorruptError} as {@link decodeRecord} */
export function heldRecordJson(
  address: Uint8Array,
  terms: Uint8Array,
  parts: Pick<Parts, "factory" | "keccak">,
): string {
  return recordJson(address, terms, decodeRecord(address, terms, parts), parts);
}

/**
 * As JSON.stringify has it, in half the time: arguments are the only text of an intent that could
 * hold something to escape.
 */
function intentJson(intent: Intent): string {
  let calls = "";
  for (const { target, function: name, args } of intent.calls) {
    const comma = calls === "" ? "" : ",";
    calls += `${comma}{"target":"${target}","function":"${name}","args":${JSON.stringify(args)}}`;
  }
  const { token, amount, expirationTimestamp, recovery, salt, chainId } = intent;
  const upToCalls = `{"token":"${token}","amount":"${amount}","calls":[${calls}]`;
  const upToRecovery = `"expirationTimestamp":${expirationTimestamp},"recovery":"${recovery}"`;
  return `${upToCalls},${upToRecovery},"salt":"${salt}","chainId":${chainId}}`;
}
