// Proves what became of an address: a header leads from a block's hash to the state, an account's
// proof from there to the hash of its code, and that says executed or closed, for ever.
// spec/proof.md has the format.

import { fromHex, type Hex, isHash } from "../abi/hex.ts";
import { factoryAddress } from "../deployment.ts";
import { describeValue } from "../errors.ts";
import type { AddressRecord } from "../intent/intent.ts";
import { chooseKeccak, type Keccak } from "../keccak/keccak.ts";
import { verifyRecord } from "../record.ts";
import type { BlockReference } from "../status/shape.ts";
import { invalidProof, ProofError } from "./error.ts";
import { readTrustedHeader } from "./header.ts";
import { bytesOf, decodeCount, decodeRlp, listOf, sameBytes } from "./rlp.ts";
import { proveInTrie } from "./trie.ts";
import { vaultCodeHashes } from "./vault-code.ts";

/** A block that the caller takes for one of the chain: {@link blockHashOf} finds one. */
export type TrustedBlock = { readonly chainId: number; readonly hash: Hex };

/** The header of a block, RLP, and the account's proof in its state, as EIP-1186 has it. */
export type OutcomeProof = { readonly header: Hex; readonly account: readonly Hex[] };

/**
 * - `executed`: the calls ran; for good
 * - `closed`: over without a call having run; they never can
 * - `open`: neither, and a block may still run them
 * - `never`: neither, at a block later than the expiry: they never can, and what is there returns
 */
export type Outcome = {
  readonly outcome: "executed" | "closed" | "open" | "never";
  readonly block: BlockReference;
};

/** `factory`: the one that is trusted, {@link factoryAddress} by default. */
export type ProofOptions = { readonly factory?: Hex; readonly keccak?: Keccak };

/**
 * @param record proved here as `verifyRecord` does
 * @throws {ProofError} `wrong_chain`; `invalid_proof` where it does not show that account at that
 *   block, or another code than a vault's
 * @throws {InvalidError} with the faults of the record
 */
export function proveOutcome(
  record: AddressRecord,
  proof: OutcomeProof,
  block: TrustedBlock,
  options: ProofOptions = {},
): Outcome {
  const { intent, address, factory, keccak } = subjectOf(record, block, options);
  const header = readTrustedHeader(bytesIn(proof?.header, "header"), block.hash, keccak);
  const nodes = nodesOf(proof.account, "account");
  const account = proveInTrie(header.stateRoot, keccak(fromHex(address)), nodes, keccak);
  const hashes = vaultCodeHashes(factory, keccak);
  const code = account === undefined ? hashes.none : codeHashOf(account);
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
  if (outcome === undefined) throw invalidProof("account: a code that no vault has there");
  return { outcome, block: { number, hash, timestamp } };
}

/** The record, proved, where `block` is of its chain. */
export function subjectOf(
  record: AddressRecord,
  { chainId, hash }: TrustedBlock,
  options: ProofOptions,
): AddressRecord & { keccak: Keccak } {
  const keccak = chooseKeccak(options);
  const subject = verifyRecord(record, { factory: options.factory ?? factoryAddress, keccak });
  const wanted = subject.intent.chainId;
  if (chainId !== wanted)
    throw new ProofError("wrong_chain", `wanted a block of chain ${wanted}, found ${chainId}`);
  if (!isHash(hash))
    throw new TypeError(`hash: expected 32 bytes of hex, found ${String(hash).slice(0, 80)}`);
  return { ...subject, keccak };
}

function codeHashOf(account: Uint8Array): Uint8Array {
  const [nonce, balance, storageRoot, codeHash] = listOf(decodeRlp(account), "account", 4, 4);
  decodeCount(nonce, "account's nonce");
  bytesOf(balance, "account's balance");
  bytesOf(storageRoot, "account's storage root", 32);
  return bytesOf(codeHash, "account's code hash", 32);
}

/** @throws {ProofError} `invalid_proof` unless it is hex */
export function bytesIn(value: unknown, what: string): Uint8Array {
  if (typeof value === "string" && /^0x([0-9a-f]{2})*$/i.test(value)) return fromHex(value);
  throw invalidProof(`${what}: expected hex, found ${describeValue(value)}`);
}

/** The way down a trie is no longer than its key, and one more. */
const nodesMax = 65;

/** @throws {ProofError} `invalid_proof` unless it is a list of hex */
export function nodesOf(value: unknown, what: string): Uint8Array[] {
  if (!Array.isArray(value) || value.length > nodesMax)
    throw invalidProof(`${what}: expected a list of at most ${nodesMax} nodes`);
  return value.map((node) => bytesIn(node, what));
}
