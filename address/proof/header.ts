// Block headers: the bytes whose hash is the block's. The first fifteen fields are where Ethereum
// has had them since its first block; chains and forks put theirs behind, and the hash binds all.

import { toHex } from "../abi/hex.ts";
import type { Keccak } from "../keccak/keccak.ts";
import type { BlockReference } from "../status/shape.ts";
import { invalidProof } from "./error.ts";
import { bytesOf, decodeCount, decodeRlp, listOf } from "./rlp.ts";

export type Header = BlockReference & {
  readonly parentHash: Uint8Array;
  readonly stateRoot: Uint8Array;
  readonly transactionsRoot: Uint8Array;
  readonly receiptsRoot: Uint8Array;
};

/** Before London a header has 15 fields; Prague's has 21, and nobody knows of later ones. */
const fieldsMin = 15;
const fieldsMax = 64;

/** @throws {ProofError} `invalid_proof` unless `bytes` are laid out as a header */
export function readHeader(bytes: Uint8Array, keccak: Keccak): Header {
  const fields = listOf(decodeRlp(bytes), "header", fieldsMin, fieldsMax);
  const take = (index: number, what: string, length: number) =>
    bytesOf(fields[index], `header's ${what}`, length);
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
 * The header of the block that the caller trusts.
 *
 * @throws {ProofError} `invalid_proof` where `bytes` are another block's
 */
export function readTrustedHeader(bytes: Uint8Array, hash: string, keccak: Keccak): Header {
  const found = toHex(keccak(bytes));
  if (found !== hash.toLowerCase())
    throw invalidProof(`header: expected the block ${hash}, found ${found}`);
  return readHeader(bytes, keccak);
}
