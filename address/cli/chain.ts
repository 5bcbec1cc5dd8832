// The commands that ask nodes of a chain and no service: more than half of those named must agree.

import { formatAddress, isAddress } from "../abi/checksum.ts";
import { type Hex, isHash } from "../abi/hex.ts";
import type { Client } from "../client/client.ts";
import type { AddressRecord, Intent } from "../intent/intent.ts";
import { decodeTerms } from "../intent/terms.ts";
import type { GatherOptions } from "../proof/gather.ts";
import {
  agreeOnReceipt,
  blockHashOf,
  makeReceipt,
  ProofError,
  readAgreed,
  rebuild,
  receiptFormat,
  verifyReceipt,
} from "../proof/proof.ts";
import { makeRecord, verifyRecord } from "../record.ts";
import { countOption, Misuse, type Options } from "./arguments.ts";

/** Input and options of a command on a chain. */
export type OnChain = {
  readonly input: unknown;
  readonly factory: Hex;
  readonly options: Options;
  readonly client: () => Client;
};

/** @throws {Misuse} without `--rpc` */
export function nodesOf({ factory, options }: Pick<OnChain, "factory" | "options">) {
  const { rpc: rpcs } = options.many;
  if (rpcs.length === 0) throw new Misuse("--rpc is needed: a node of the chain, or several");
  const quorum = countOption(options, "quorum");
  const confirmations = countOption(options, "confirmations");
  return {
    rpcs,
    factory,
    ...(quorum !== undefined && { quorum }),
    ...(confirmations !== undefined && { confirmations }),
  } satisfies GatherOptions;
}

/**
 * The record that `input` stands for: itself, a receipt's, that of an intent, of terms, of the one
 * call of a transaction to the factory (or the one of `--address`), or of an address at `--url`.
 */
export async function recordOf(given: OnChain): Promise<AddressRecord> {
  const { input, factory, options, client } = given;
  if (typeof input === "object" && input !== null) {
    const { record, terms } = input as { record?: AddressRecord; terms?: Hex };
    if (record) return verifyRecord(record, { factory });
    return terms ? verifyRecord(input, { factory }) : makeRecord(input as Intent, { factory });
  }
  const text = String(input);
  if (isAddress(text)) {
    const found = await client().lookup(text);
    if (found) return found;
    throw new Error(`the service has no intent for ${text}`);
  }
  if (!isHash(text)) return makeRecord(decodeTerms(text as Hex, { factory }), { factory });
  const records = await rebuildRecords(given);
  const wanted = options.one.address?.toLowerCase();
  const those = records.filter(({ address }) => !wanted || address.toLowerCase() === wanted);
  if (those.length === 1) return those[0]!;
  const found = those.map(({ address }) => address).join(", ") || "none";
  throw new Error(`expected one address in this transaction, or --address; found ${found}`);
}

/** The records of all that a transaction asked the factory for. */
export async function rebuildRecords(given: OnChain): Promise<AddressRecord[]> {
  const hash = given.options.one.tx ?? given.input;
  if (!isHash(hash)) {
    const found = JSON.stringify(hash).slice(0, 80);
    throw new Misuse(`expected the hash of a transaction, found ${found}`);
  }
  const { factory } = given;
  const calls = await rebuild(hash, nodesOf(given));
  const records = calls.map((call) => {
    if ("error" in call) throw call.error;
    return makeRecord(call.intent, { factory });
  });
  return records.filter(
    ({ address }, index) => records.findIndex((each) => each.address === address) === index,
  );
}

/** The receipt, to be kept. */
export const prove = async (given: OnChain) => makeReceipt(await recordOf(given), nodesOf(given));

/** Reads from nodes alone what an address holds now. */
export async function readNow(given: OnChain, record: AddressRecord) {
  const nodes = nodesOf(given);
  const agreed = await blockHashOf(nodes.rpcs, { ...nodes, chainId: record.intent.chainId });
  return { ...(await readAgreed(record, agreed, nodes)), depth: agreed.head - agreed.number };
}

export const isReceipt = (input: unknown): boolean =>
  typeof input === "object" && (input as { format?: unknown } | null)?.format === receiptFormat;

/** Verifies a receipt. Without nodes its blocks are listed for the reader to compare. */
export async function verifyKept({ input, factory, options }: OnChain) {
  const isAlone = options.many.rpc.length === 0;
  const hashes = isAlone ? "its own" : await agreeOnReceipt(input, nodesOf({ factory, options }));
  const { outcome, block, execution, payments, blocks, record } = verifyReceipt(input, hashes, {
    factory,
  });
  const address = formatAddress(record.address);
  const compared = isAlone ? { compare: blocks } : { blocks };
  return { address, outcome, block, execution, payments, ...compared };
}

/** This is told of a receipt that no node was asked about. */
export const compareBlocks = new ProofError(
  "unproved",
  "so far the receipt agrees with itself: it is proved if each block under compare is of the " +
    "chain; --rpc asks nodes",
);

export const disputedPayments = new ProofError(
  "unproved",
  "the nodes report different payments, or one gave none: each payment listed is proved, but " +
    "others may be missing; ask more nodes with --rpc",
);
