// Commands that read from the nodes of a chain and need no service. A quorum of the nodes must
// agree.

import { formatAddress, isAddress } from "../abi/checksum.ts";
import { type Hex, isHash } from "../abi/hex.ts";
import type { Client } from "../client/client.ts";
import type { AddressRecord, Intent } from "../intent/intent.ts";
import { decodeTerms } from "../intent/terms.ts";
import type { GatherOptions } from "../proof/agree.ts";
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

/** The input and options of a command that reads from a chain. */
export type OnChain = {
  readonly input: unknown;
  readonly factory: Hex;
  readonly options: Options;
  readonly client: () => Client;
};

/** @throws {Misuse} if `--rpc` is missing */
export function nodesOf({ factory, options }: Pick<OnChain, "factory" | "options">) {
  const { rpc: rpcs } = options.many;
  if (rpcs.length === 0)
    throw new Misuse(
      "missing --rpc, the URL of a node of the chain; you can repeat it for several nodes",
    );
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
 * Returns the record that `input` identifies. `input` can be:
 *
 * - a record, a receipt, an intent, or encoded terms
 * - an address, with `--url`
 * - the hash of a transaction to the factory; `--address` selects one of several records
 *
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
  throw new Error(
    `expected exactly one address in this transaction, found ${found}; choose one with --address`,
  );
}

/** Returns the records of all factory calls in a transaction. */
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

/** Creates a receipt. */
export const prove = async (given: OnChain) => makeReceipt(await recordOf(given), nodesOf(given));

/** Reads the state and balances of an address from the nodes. */
export async function readNow(given: OnChain, record: AddressRecord) {
  const nodes = nodesOf(given);
  const agreed = await blockHashOf(nodes.rpcs, { ...nodes, chainId: record.intent.chainId });
  return { ...(await readAgreed(record, agreed, nodes)), depth: agreed.head - agreed.number };
}

export const isReceipt = (input: unknown): boolean =>
  typeof input === "object" && (input as { format?: unknown } | null)?.format === receiptFormat;

/**
 * Verifies a receipt. If no nodes are given, the output lists the receipt's blocks. The user must
 * compare these blocks with the chain.
 */
export async function verifySavedReceipt({ input, factory, options }: OnChain) {
  const isAlone = options.many.rpc.length === 0;
  const hashes = isAlone ? "its own" : await agreeOnReceipt(input, nodesOf({ factory, options }));
  const { outcome, block, execution, payments, blocks, record } = verifyReceipt(input, hashes, {
    factory,
  });
  const address = formatAddress(record.address);
  const compared = isAlone ? { compare: blocks } : { blocks };
  return { address, outcome, block, execution, payments, ...compared };
}

/** The note about a receipt that was verified without nodes. */
export const compareBlocks = new ProofError(
  "unproved",
  "the receipt is consistent, but it is proven only if each block in `compare` belongs to the " +
    "chain: compare the blocks yourself, or use --rpc",
);

export const disputedPayments = new ProofError(
  "unproved",
  "the nodes report different payments, or some report none or search only the newest blocks: " +
    "each listed payment is proven, but others may be missing; add nodes with --rpc",
);
