// Proofs made of what a node answers: each is verified before it is given, so a node can withhold
// one and cannot forge one.

import { fromHex, toHex, toQuantity } from "../../abi/hex.ts";
import type { AddressRecord, Hex } from "../../intent/intent.ts";
import { chooseKeccak, type Keccak } from "../../keccak/keccak.ts";
import { parseHex, type Rpc } from "../../status/rpc.ts";
import { ProofError } from "../error.ts";
import type { TransactionProof } from "../execution.ts";
import {
  type OutcomeProof,
  type ProofOptions,
  proveOutcome,
  type TrustedBlock,
} from "../outcome.ts";
import { encodeCount, encodeRlp } from "../rlp.ts";
import { encodeReceipt, encodeTransaction, headersOf, type Json } from "./fields.ts";
import { buildProof } from "./trie.ts";

/**
 * The proof of what became of `record` at `block`, and what it proves.
 *
 * @throws {ProofError} `unproved` where the node has none that verifies
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
    const account = listIn((answer as Json | null)?.accountProof, "accountProof");
    const proof: OutcomeProof = {
      header: toHex(headerOf(json, block.hash, keccak)),
      account: account.map((node) => parseHex(node, "accountProof")),
    };
    return { proof, found: proveOutcome(record, proof, block, options) };
  });
}

/** Which transaction, by its block and its place there. */
type Place = { readonly blockHash: Hex; readonly transactionHash: Hex };

/**
 * The proof of what the transaction at `place` did for `record`, in its own block.
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

/** Both tries of a block are built whole: their proofs are no question that nodes answer. */
async function askTransaction(
  rpc: Rpc,
  { blockHash, transactionHash }: Place,
  keccak: Keccak,
): Promise<TransactionProof> {
  const block = await askBlock(rpc, blockHash, true);
  const transactions = listIn(block.transactions, "transactions") as readonly Json[];
  const index = transactions.findIndex(({ hash }) => hash === transactionHash);
  if (index < 0) throw unproved(`${transactionHash} is not in block ${blockHash}`);
  const key = encodeRlp(encodeCount(index));
  const prove = (values: readonly Uint8Array[], root: unknown, what: string) => {
    const entries = values.map((value, at) => ({ key: encodeRlp(encodeCount(at)), value }));
    const { root: found, nodes } = buildProof(entries, key, keccak);
    if (toHex(found) !== root) throw unproved(`${what} do not make ${root}`);
    return nodes.map((node) => toHex(node));
  };
  const receipts = await askReceipts(rpc, blockHash, transactions);
  const bytes = await Promise.all(transactions.map((each) => askBytes(rpc, each, keccak)));
  return {
    headers: [toHex(headerOf(block, blockHash, keccak))],
    transactionIndex: index,
    receipt: prove(receipts.map(encodeReceipt), block.receiptsRoot, "receipts"),
    transaction: prove(bytes, block.transactionsRoot, "transactions"),
  };
}

async function askBlock(rpc: Rpc, hash: Hex, isWhole: boolean): Promise<Json> {
  const block = await rpc("eth_getBlockByHash", [hash, isWhole]);
  if (typeof block === "object" && block !== null) return block as Json;
  throw unproved(`no block ${hash}`);
}

function headerOf(block: Json, hash: Hex, keccak: Keccak): Uint8Array {
  for (const header of headersOf(block)) if (toHex(keccak(header)) === hash) return header;
  throw unproved(`the header of ${hash} is not hashed as Ethereum's are, or another was shown`);
}

async function askReceipts(rpc: Rpc, blockHash: Hex, transactions: readonly Json[]) {
  const all = await rpc("eth_getBlockReceipts", [blockHash]).catch(() => undefined);
  if (Array.isArray(all) && all.length === transactions.length) return all as Json[];
  const each = transactions.map(({ hash }) => rpc("eth_getTransactionReceipt", [hash]));
  return (await Promise.all(each)) as Json[];
}

/** A transaction, by its fields or, of a kind that is not known here, as the node has its bytes. */
async function askBytes(rpc: Rpc, transaction: Json, keccak: Keccak): Promise<Uint8Array> {
  const hash = parseHex(transaction.hash, "transaction hash", 32);
  const made = encodeTransaction(transaction);
  if (made && toHex(keccak(made)) === hash) return made;
  const raw = parseHex(await rpc("eth_getRawTransactionByHash", [hash]), "transaction");
  const bytes = fromHex(raw);
  if (toHex(keccak(bytes)) === hash) return bytes;
  throw unproved(`the bytes of ${hash} are not known`);
}

function listIn(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw unproved(`${what}: expected a list`);
}

const unproved = (message: string) => new ProofError("unproved", message);

/** Runs `ask`. @throws {ProofError} `unproved` where a node is the reason, or as `ask` throws */
async function orUnproved<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ProofError && !/^(invalid_proof|unproved)$/.test(error.code)) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ProofError("unproved", message, { cause: error });
  }
}
