// Proves the outcome of an address. The block's hash proves a header, and the header's state root
// proves the account. The hash of the account's code shows whether the address was executed or
// closed. This outcome is permanent (spec/proof.md).

import { fromHex, type Hex, isHash, toHex } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { describeType, describeValue } from "../errors.ts";
import type { AddressRecord } from "../intent/intent.ts";
import { chooseKeccak, type Keccak } from "../keccak/keccak.ts";
import { verifyRecord } from "../record.ts";
import type { BlockReference } from "../status/shape.ts";
import { invalidProof, ProofError } from "./error.ts";
import { readTrustedHeader } from "./header.ts";
import { decodeCount, decodeRlp, expectBytes, expectList, sameBytes } from "./rlp.ts";
import { proveInTrie } from "./trie.ts";
import { vaultCodeHashes } from "./vault-code.ts";

/** A block that the caller trusts, for example from {@link blockHashOf}. */
export type TrustedBlock = { readonly chainId: number; readonly hash: Hex };

/** The RLP header of a block, and the proof of the account in the block's state (EIP-1186). */
export type OutcomeProof = { readonly header: Hex; readonly account: readonly Hex[] };

/**
 * - `executed`: the calls were executed. This outcome is permanent.
 * - `closed`: a recovery closed the address without executing the calls. This outcome is permanent.
 * - `open`: the calls can still be executed.
 * - `never`: the intent has expired without an execution or a recovery. The calls can never be
 *   executed, so the money can only be recovered.
 */
export type Outcome = {
  readonly outcome: "executed" | "closed" | "open" | "never";
  readonly block: BlockReference;
};

/** `factory` is the trusted factory, by default {@link factoryAddress}. */
export type ProofOptions = { readonly factory?: Hex; readonly keccak?: Keccak };

/**
 * Proves the outcome of `record` at `block`.
 *
 * @param record can be unverified, because this function calls `verifyRecord`
 * @throws {ProofError} `wrong_chain`
 * @throws {ProofError} `invalid_proof` if the account, the block, or the account's code is wrong
 * @throws {InvalidError} with the faults of the record
 */
export function proveOutcome(
  record: AddressRecord,
  proof: OutcomeProof,
  block: TrustedBlock,
  options: ProofOptions = {},
): Outcome {
  const { intent, address, factory, keccak } = verifySubject(record, block, options);
  const header = readTrustedHeader(parseHexIn(proof?.header, "header"), block.hash, keccak);
  const nodes = parseNodes(proof.account, "account");
  const account = proveInTrie(header.stateRoot, keccak(fromHex(address)), nodes, keccak);
  const hashes = vaultCodeHashes(factory, keccak);
  const code = account === undefined ? hashes.none : decodeCodeHash(account);
  const is = (hash: Uint8Array) => sameBytes(code, hash);
  const { number, hash, timestamp } = header;
  const isLate = timestamp > intent.expirationTimestamp;
  const outcome = is(hashes.executed)
    ? "executed"
    : is(hashes.closed) && isLate
      ? "closed"
      : is(hashes.none)
        ? isLate
          ? "never"
          : "open"
        : undefined;
  if (outcome === undefined)
    throw invalidProof(
      "account: expected a code hash that the vault can have at this time, " +
        `found ${toHex(code)}`,
    );
  return { outcome, block: { number, hash, timestamp } };
}

/** Verifies `record`, and checks that the block belongs to the record's chain. */
export function verifySubject(
  record: AddressRecord,
  { chainId, hash }: TrustedBlock,
  options: ProofOptions,
): AddressRecord & { keccak: Keccak } {
  const keccak = chooseKeccak(options);
  const subject = verifyRecord(record, { factory: options.factory ?? factoryAddress, keccak });
  const wanted = subject.intent.chainId;
  if (chainId !== wanted)
    throw new ProofError("wrong_chain", `expected a block of chain ${wanted}, found ${chainId}`);
  if (!isHash(hash))
    throw new TypeError(`hash: expected 32 bytes of hex, found ${describeValue(hash)}`);
  return { ...subject, keccak };
}

function decodeCodeHash(account: Uint8Array): Uint8Array {
  const [nonce, balance, storageRoot, codeHash] = expectList(decodeRlp(account), "account", 4, 4);
  decodeCount(nonce, "account's nonce");
  expectBytes(balance, "account's balance");
  expectBytes(storageRoot, "account's storage root", 32);
  return expectBytes(codeHash, "account's code hash", 32);
}

/**
 * Decodes hex.
 * @throws {ProofError} `invalid_proof` for anything else
 */
export function parseHexIn(value: unknown, what: string): Uint8Array {
  if (typeof value === "string" && /^0x([0-9a-f]{2})*$/i.test(value)) return fromHex(value);
  throw invalidProof(`${what}: expected hex, found ${describeValue(value)}`);
}

/** A path has at most one node per nibble of the key, and one final node. */
const nodesMax = 65;

/**
 * Decodes a list of trie nodes in hex.
 * @throws {ProofError} `invalid_proof` for anything else
 */
export function parseNodes(value: unknown, what: string): Uint8Array[] {
  const nodes = parseList(value, what, nodesMax, "nodes");
  return nodes.map((node) => parseHexIn(node, what));
}

/** @throws {ProofError} `invalid_proof` unless `value` is a list of at most `most` items */
export function parseList(value: unknown, what: string, most: number, items: string): unknown[] {
  if (Array.isArray(value) && value.length <= most) return value;
  const found = Array.isArray(value) ? value.length : describeType(value);
  throw invalidProof(`${what}: expected a list of at most ${most} ${items}, found ${found}`);
}
