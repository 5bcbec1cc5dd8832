// Transaction receipts as the receipts trie has them: EIP-2718, bare or behind a byte for the type.

import { toHex } from "../abi/hex.ts";
import type { Hex } from "../intent/intent.ts";
import { invalidProof } from "./error.ts";
import { bytesOf, decodeRlp, listOf } from "./rlp.ts";

export type Log = { readonly address: Hex; readonly topics: readonly Hex[]; readonly data: Hex };

/**
 * The logs of a transaction that succeeded. What chains put behind the four fields of a receipt,
 * such as OP Stack's deposits, is left aside.
 *
 * @throws {ProofError} `invalid_proof` for anything else
 */
export function readReceiptLogs(value: Uint8Array): Log[] {
  const isTyped = value[0] !== undefined && value[0] < 0x80;
  const fields = listOf(decodeRlp(isTyped ? value.subarray(1) : value), "receipt", 4, 16);
  const status = bytesOf(fields[0], "receipt's status");
  if (status.length !== 1 || status[0] !== 1)
    throw invalidProof(`receipt: wanted success, found status ${toHex(status)}`);
  bytesOf(fields[2], "receipt's bloom", 256);
  return listOf(fields[3], "receipt's logs").map((item) => {
    const [address, topics, data] = listOf(item, "log", 3, 3);
    return {
      address: toHex(bytesOf(address, "log's address", 20)),
      topics: listOf(topics, "log's topics", 0, 4).map((topic) =>
        toHex(bytesOf(topic, "log's topic", 32)),
      ),
      data: toHex(bytesOf(data, "log's data")),
    };
  });
}
