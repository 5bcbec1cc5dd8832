// Block headers, whose keccak-256 is the block hash. The first fifteen fields have not changed
// since Ethereum's first block. Chains and forks append fields, and the hash covers every field.

import { toHex } from "../abi/hex.ts";
import type { Keccak } from "../keccak/keccak.ts";
import type { BlockReference } from "../status/shape.ts";
import { invalidProof } from "./error.ts";
import { decodeCount, decodeRlp, expectBytes, expectList } from "./rlp.ts";

export type Header = BlockReference & {
  readonly parentHash: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly transactionsRoot: Uint8Array;
  readonly receiptsRoot: Uint8Array;
};

/** A header has 15 fields before London and 21 since Prague. Later forks may add more. */
const fieldsMin = 15;
const fieldsMax = 64;

/**
 * Decodes a header.
 * @throws {ProofError} `invalid_proof` if `bytes` do not encode a header
 */
export function readHeader(bytes: Uint8Array, keccak: Keccak): Header {
  const fields = expectList(decodeRlp(bytes), "header", fieldsMin, fieldsMax);
  const take = (index: number, what: string, length: number) =>
    expectBytes(fields[index], `header's ${what}`, length);
  take(1, "uncles", 32);
  take(2, "beneficiary", 20);
  take(6, "bloom", 256);
  take(13, "mix hash", 32);
  take(14, "nonce", 8);
  return {
    hash: toHex(keccak(bytes)),
    parentHash: take(0, "parent hash", 32),
    stateRoot: take(3, "state root", 32),
    transactionsRoot: take(4, "transactions root", 32),
    receiptsRoot: take(5, "receipts root", 32),
    number: decodeCount(fields[8], "header's number"),
    timestamp: decodeCount(fields[11], "header's timestamp"),
  };
}

/**
 * Decodes the header of the block that the caller trusts.
 *
 * @throws {ProofError} `invalid_proof` if `bytes` are not a header with this `hash`
 */
export function readTrustedHeader(bytes: Uint8Array, hash: string, keccak: Keccak): Header {
  const found = toHex(keccak(bytes));
  if (found !== hash.toLowerCase())
    throw invalidProof(`header: expected the block ${hash}, found ${found}`);
  return readHeader(bytes, keccak);
}
