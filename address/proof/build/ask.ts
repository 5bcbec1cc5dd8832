// Builds proofs from the responses of a node. Each proof is verified before it is returned. A node
// can therefore withhold a proof, but cannot forge one.

import { fromHex, toHex, toQuantity } from "../../abi/hex.ts";
import { describeType } from "../../errors.ts";
import type { AddressRecord, Hex } from "../../intent/intent.ts";
import { chooseKeccak, type Keccak } from "../../keccak/keccak.ts";
import { parseHex, type Rpc } from "../../status/rpc.ts";
import { isFinal, ProofError } from "../error.ts";
import type { TransactionProof } from "../execution.ts";
import {
  type OutcomeProof,
  type ProofOptions,
  proveOutcome,
  type TrustedBlock,
} from "../outcome.ts";
import { encodeCount, encodeRlp } from "../rlp.ts";
import { encodeReceipt, encodeTransaction, type Json, listHeaders } from "./fields.ts";
import { buildProof } from "./trie.ts";

/**
 * Builds and verifies the proof of the outcome of `record` at `block`. Returns the proof and the
 * proved outcome.
 *
 * @throws {ProofError} `unproved` if the node does not provide a valid proof
 */
export async function askOutcome(
  rpc: Rpc,
  record: AddressRecord,
  block: TrustedBlock & { readonly number: number },
  options: ProofOptions = {},
) {
  return orUnproved(async () => {
    const keccak = chooseKeccak(options);
    const [json, answer] = await Promise.all([
      askBlock(rpc, block.hash, false),
      rpc("eth_getProof", [record.address, [], toQuantity(block.number)]),
    ]);
    const account = expectArray((answer as Json | null)?.accountProof, "accountProof");
    const proof: OutcomeProof = {
      header: toHex(findHeader(json, block.hash, keccak)),
      account: account.map((node) => parseHex(node, "accountProof")),
    };
    return { proof, found: proveOutcome(record, proof, block, options) };
  });
}

/** A transaction and its block. */
type Place = { readonly blockHash: Hex; readonly transactionHash: Hex };

/**
 * Builds the proof of the events that a transaction emitted for `record`. Returns the proof, and
 * the result of `prove`.
 *
 * @param prove `proveExecution` or `proveRecovery`
 * @throws {ProofError} `unproved`
 */
export async function askEvents<Found>(
  rpc: Rpc,
  record: AddressRecord,
  place: Place,
  prove: Prove<Found>,
  options: ProofOptions = {},
) {
  return orUnproved(async () => {
    const proof = await askTransaction(rpc, place, chooseKeccak(options));
    const block = { chainId: record.intent.chainId, hash: place.blockHash };
    return { proof, found: prove(record, proof, block, options) };
  });
}

type Prove<Found> = (
  record: AddressRecord,
  proof: TransactionProof,
  block: TrustedBlock,
  options: ProofOptions,
) => Found;

/**
 * Builds a trie from the block's transactions, and another from its receipts. No JSON-RPC method
 * returns proofs of transactions or receipts.
 */
async function askTransaction(
  rpc: Rpc,
  { blockHash, transactionHash }: Place,
  keccak: Keccak,
): Promise<TransactionProof> {
  const block = await askBlock(rpc, blockHash, true);
  const transactions = expectArray(block.transactions, "transactions") as readonly Json[];
  const index = transactions.findIndex(({ hash }) => hash === transactionHash);
  if (index < 0)
    throw unproved(`block ${blockHash}: expected the transaction ${transactionHash}, found none`);
  const key = encodeRlp(encodeCount(index));
  const prove = (values: readonly Uint8Array[], root: unknown, what: string) => {
    const entries = values.map((value, at) => ({ key: encodeRlp(encodeCount(at)), value }));
    const { root: found, nodes } = buildProof(entries, key, keccak);
    if (toHex(found) !== root)
      throw unproved(`${what}: expected the root ${root}, found ${toHex(found)}`);
    return nodes.map((node) => toHex(node));
  };
  const receipts = await askReceipts(rpc, blockHash, transactions);
  const bytes = await Promise.all(transactions.map((each) => askBytes(rpc, each, keccak)));
  return {
    headers: [toHex(findHeader(block, blockHash, keccak))],
    transactionIndex: index,
    receipt: prove(receipts.map(encodeReceipt), block.receiptsRoot, "receipts"),
    transaction: prove(bytes, block.transactionsRoot, "transactions"),
  };
}

async function askBlock(rpc: Rpc, hash: Hex, isWhole: boolean): Promise<Json> {
  const block = await rpc("eth_getBlockByHash", [hash, isWhole]);
  if (typeof block === "object" && block !== null) return block as Json;
  throw unproved(`the node has no block ${hash}`);
}

function findHeader(block: Json, hash: Hex, keccak: Keccak): Uint8Array {
  let found = "none";
  for (const header of listHeaders(block)) {
    found = toHex(keccak(header));
    if (found === hash) return header;
  }
  throw unproved(`block ${hash}: expected a header with this hash, found ${found}`);
}

async function askReceipts(rpc: Rpc, blockHash: Hex, transactions: readonly Json[]) {
  const all = await rpc("eth_getBlockReceipts", [blockHash]).catch(() => undefined);
  if (Array.isArray(all) && all.length === transactions.length) return all as Json[];
  const each = transactions.map(({ hash }) => rpc("eth_getTransactionReceipt", [hash]));
  return (await Promise.all(each)) as Json[];
}

/** Encodes a transaction by its fields, or requests its bytes if its type is unknown. */
async function askBytes(rpc: Rpc, transaction: Json, keccak: Keccak): Promise<Uint8Array> {
  const hash = parseHex(transaction.hash, "transaction hash", 32);
  const made = encodeTransaction(transaction);
  if (made && toHex(keccak(made)) === hash) return made;
  const raw = parseHex(await rpc("eth_getRawTransactionByHash", [hash]), "transaction");
  const bytes = fromHex(raw);
  const found = toHex(keccak(bytes));
  if (found === hash) return bytes;
  throw unproved(`transaction ${hash}: expected bytes with this hash, found ${found}`);
}

function expectArray(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw unproved(`${what}: expected a list, found ${describeType(value)}`);
}

const unproved = (message: string) => new ProofError("unproved", message);

/**
 * Runs `ask`. Rethrows an error that another node cannot resolve ({@link isFinal}).
 *
 * @throws {ProofError} `unproved` for every other error
 */
async function orUnproved<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (isFinal(error)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ProofError("unproved", message, { cause: error });
  }
}
