// Lists, sums and looks read these columns of many records at once. The store takes them from the
// terms when it saves a record, so that nothing else reads terms by their bytes. A record is still
// proved by its terms alone: these columns authorise nothing.

/** `token` 20 bytes, `amount` decimal, `expiresAt` Unix seconds. */
export type RecordColumns = {
  chainId: number;
  token: Uint8Array;
  amount: string;
  expiresAt: number;
};

/**
 * Every intent has these words at the same place (spec/terms.md): 0x20 ‖ token ‖ amount ‖ calls ‖
 * expiration ‖ recovery ‖ salt ‖ chainId, of 32 bytes each.
 *
 * @throws {RangeError} where the terms are shorter than that
 */
export function deriveColumns(terms: Uint8Array): RecordColumns {
  const bytes = Buffer.from(terms.buffer, terms.byteOffset, terms.byteLength);
  return {
    chainId: Number(bytes.readBigUInt64BE(248)),
    token: bytes.subarray(44, 64),
    amount: String(BigInt(`0x${bytes.toString("hex", 64, 96)}`)),
    expiresAt: Number(bytes.readBigUInt64BE(152)),
  };
}

/** Returns a reference as it is searched: the databases fold letters each in its own way. */
export const foldReference = (reference: string): string => reference.toLowerCase();
