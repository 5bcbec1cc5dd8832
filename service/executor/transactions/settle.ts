// Handles mined transactions. A purpose (ledger/purposes.ts) is mined when one of its transactions
// has a receipt. A valid receipt has a quorum, and its block is in the chain. Each executed or
// recovered address must have code. A purpose is confirmed when its receipt has enough
// confirmations. The purpose's jobs then continue. A purpose is settled when its receipt's block is
// final. The purpose's cost is then charged.
//
// If a nonce is used but none of the known transactions with this nonce has a receipt, an unknown
// transaction may have used the nonce. The purpose then stays pending until the executor finds that
// transaction.

import { batchSelector, type Hex } from "executable-address";
import {
  type Answer,
  type Block,
  blockCall,
  blockOf,
  parseBlock,
} from "../../chain/rpc/json-rpc.ts";
import { readAnswers, type View } from "../../chain/rpc/view.ts";
import { partsOf } from "../../flow/groups.ts";
import { lowerMedian } from "../../flow/numbers.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { VaultOutcome } from "../ledger/settlements.ts";
import type { Pass } from "../pass.ts";
import { findWithCode, type HoldingsMemory } from "../payments/vaults.ts";
import type { ChainSettings } from "../settings.ts";
import { adoptReplacement, decodeFactoryCalls } from "./foreign.ts";
import {
  computeUpdates,
  isFailure,
  isZeroValueTransfer,
  type MinedPurpose,
} from "./job-updates.ts";
import {
  compareReceipts,
  decodeOutcomes,
  describeReceipts,
  divideGas,
  type Receipt,
  readGasUsed,
  type TraceMemory,
  tipsIn,
} from "./receipt.ts";
import type { SendMemory } from "./send.ts";

export type ReceiptMemory = {
  receipts: {
    /**
     * The block of each receipt that is not final, by purpose ID. The receipt is read again when
     * this block has enough confirmations or is final.
     */
    mined: Map<string, number>;
    /**
     * For each purpose with a used nonce, by ID: the number of successive passes without a receipt.
     */
    absent: Map<string, number>;
  };
};

export const openReceiptMemory = (): ReceiptMemory => ({
  receipts: { mined: new Map(), absent: new Map() },
});

export type SettlePass = Pass<ReceiptMemory & SendMemory & TraceMemory & HoldingsMemory>;

/**
 * After this number of passes without a receipt, the executor searches for another transaction that
 * used the nonce.
 */
const absentPassesMin = 3;

/**
 * Checks the receipts of mined transactions, and confirms or settles their purposes.
 * @param usedBelow the key's nonce on chain
 */
export async function settle(
  pass: SettlePass,
  pending: readonly Purpose[],
  usedBelow: number,
): Promise<void> {
  const { parts, view } = pass;
  const used = pending.filter((purpose) => purpose.nonce < usedBelow);
  if (used.length === 0) return;
  // Reorganizations are detected only up to the newest anchor (a block whose hash is stored). Later
  // receipts are not used yet, because a reorganization of their blocks would not be noticed.
  const anchor = (await parts.ledger.findAnchor(parts.chain.chainId))?.number ?? -1;
  const below = used.filter((purpose) => !isOnlyAbove(anchor, purpose, view.head.number));
  if (below.length === 0) return;
  const depths = await readDepths(pass, anchor);
  const checked = below.filter((purpose) => !isKnownAbove(pass, purpose, depths));
  if (checked.length === 0) return;

  const deep: Mined[] = [];
  for (const { purpose, answers } of await readReceipts(view, checked)) {
    const receipt = await findReceipt(pass, purpose, answers);
    if (!receipt) continue;
    if (receipt.blockNumber > boundOf(purpose, depths)) await awaitDepth(pass, purpose, receipt);
    else deep.push({ purpose, receipt, isFinal: receipt.blockNumber <= depths.final });
  }
  const evidence = await readEvidence(pass, deep);
  for (const each of deep) await recordReceipt(pass, each, evidence);
}

/**
 * `isFinal` is true if the cost is charged now. Otherwise, the transaction is only confirmed, and
 * the cost is charged later.
 */
type Mined = MinedPurpose & { isFinal: boolean };

/** The newest block with enough confirmations, and the newest final block. */
type Depths = { confirmed: number; final: number };

async function readDepths({ parts, view }: SettlePass, anchor: number): Promise<Depths> {
  const final = Math.min(await readFinalBlock(view, parts.chain), anchor);
  const confirmed = Math.min(view.head.number - parts.chain.confirmations, anchor);
  return { confirmed: Math.max(confirmed, final), final };
}

/**
 * Returns the highest block number that a receipt may have. A receipt from a newer block has to
 * wait. For an unconfirmed transaction, the limit is the newest block with enough confirmations.
 * For a confirmed transaction, the limit is the newest final block.
 */
const boundOf = ({ blockNumber }: Purpose, { confirmed, final }: Depths): number =>
  blockNumber === null ? confirmed : final;

/**
 * Returns true if the receipt's block is above {@link boundOf}, and false if the block is unknown.
 */
function isKnownAbove({ memory }: SettlePass, purpose: Purpose, depths: Depths): boolean {
  const minedAt = memory.receipts.mined.get(purpose.id) ?? purpose.blockNumber;
  return minedAt !== null && minedAt > boundOf(purpose, depths);
}

/** Requests the receipts of all transactions from each endpoint, in one batch. */
async function readReceipts(view: View, purposes: readonly Purpose[]) {
  const hashes = purposes.flatMap(({ transactions }) => transactions.map(({ hash }) => hash));
  const lists = await view.readEach(
    hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [hash] })),
  );
  const split = lists.map(
    (list) => list && partsOf(list, purposes, ({ transactions }) => transactions.length),
  );
  return purposes.map((purpose, index) => {
    return { purpose, answers: split.map((parts) => parts?.[index]?.part) };
  });
}

/** Stores the block of a receipt. The block is too new, so the receipt is read again later. */
async function awaitDepth(
  { parts, memory, fence, view }: SettlePass,
  { id, blockNumber }: Purpose,
  receipt: Receipt,
): Promise<void> {
  const { mined } = memory.receipts;
  const isNews = blockNumber === null && !mined.has(id);
  mined.set(id, Math.min(receipt.blockNumber, view.head.number));
  if (isNews) await parts.ledger.noteMined(fence, id);
}

/**
 * Returns true if no block up to the anchor can contain the purpose's transactions. This is certain
 * if the chain was already at the anchor when the first transaction was signed. Ignores a
 * `signedBlock` above the newest block, because such a value must be wrong.
 */
function isOnlyAbove(anchor: number, { transactions }: Purpose, head: number): boolean {
  const { signedBlock } = transactions[0]!;
  return anchor <= signedBlock && signedBlock <= head;
}

/**
 * Returns the newest final block, by the `finalized` tag or by confirmations. If too few endpoints
 * support the tag, uses confirmations.
 */
export async function readFinalBlock(
  view: Pick<View, "head" | "quorum" | "readEach">,
  { confirmations, finality }: Pick<ChainSettings, "confirmations" | "finality">,
): Promise<number> {
  const deepEnough = view.head.number - confirmations;
  if (finality === "blocks") return deepEnough;
  const lists = await view.readEach([blockCall("finalized")]);
  const numbers = readAnswers(lists, 0, (result) => BigInt(blockOf(result).number));
  return numbers.length < view.quorum ? deepEnough : Number(lowerMedian(numbers));
}

async function findReceipt(
  pass: SettlePass,
  purpose: Purpose,
  answers: (Answer[] | undefined)[],
): Promise<Receipt | undefined> {
  const { parts, memory, view } = pass;
  const { found, others, receipts } = compareReceipts(answers, view.quorum);
  for (const place of others) view.accuse(place, "eth_getTransactionReceipt");
  if (found === "disagreement") {
    const detail = `nonce ${purpose.nonce}: ${describeReceipts(receipts, view.nameOf)}`;
    parts.report({ kind: "rpc_disagreement", about: "receipt", detail });
    return undefined;
  }
  if (found === "absent") await searchReplacement(pass, purpose);
  if (typeof found === "string") return undefined;
  memory.receipts.absent.delete(purpose.id);
  return found;
}

/** The data for verifying receipts: blocks by number, and the addresses that have code. */
type Evidence = { blocks: Map<number, Block>; withCode: Set<Hex> };

async function readEvidence(pass: SettlePass, deep: readonly Mined[]): Promise<Evidence> {
  const numbers = [...new Set(deep.map(({ receipt }) => receipt.blockNumber))];
  const vaults = deep.flatMap(({ purpose }) => purpose.addresses);
  const [answers, withCode] = await Promise.all([
    pass.view.read(numbers.map(blockCall)),
    findWithCode(pass, vaults),
  ]);
  const blocks = numbers.map((number, i) => [number, parseBlock(answers[i])] as const);
  return { blocks: new Map(blocks), withCode };
}

async function recordReceipt(pass: SettlePass, mined: Mined, evidence: Evidence): Promise<void> {
  const { parts, fence, memory } = pass;
  const { purpose, receipt, isFinal } = mined;
  const vaults = decodeBatchVaults(purpose.data, parts.factory);
  const sent = { sender: purpose.sender, vaults };
  const outcomes = decodeOutcomes(receipt, parts.factory, sent).filter((outcome) =>
    purpose.addresses.includes(outcome.vault),
  );
  const minedAtSeconds = findBlockTime(pass, receipt, outcomes, evidence);
  if (minedAtSeconds === undefined) return;
  // If the transaction is already confirmed, its jobs have been updated.
  const updates =
    purpose.blockNumber === null
      ? await computeUpdates(pass, mined, outcomes, evidence.withCode)
      : [];
  const { transactionHash, blockNumber, paid } = receipt;
  const settled = { purposeId: purpose.id, transactionHash, blockNumber, updates };
  if (!isFinal) {
    await parts.ledger.confirmPurpose(fence, settled);
    memory.receipts.mined.set(purpose.id, blockNumber);
    return;
  }
  const tips = tipsIn(receipt, purpose, parts.chain.tipPrices);
  const gasByAddress = isZeroValueTransfer(mined)
    ? undefined
    : await findGasUsed(pass, mined, vaults, outcomes);
  const isNew = await parts.ledger.settlePurpose(fence, {
    ...settled,
    ...{ paid, minedAtSeconds, gasByAddress, tips, outcomes },
  });
  if (!isNew) return;
  memory.receipts.mined.delete(purpose.id);
  for (const { hash } of purpose.transactions) memory.sending.sentMs.delete(hash);
  const { kind, sender, nonce } = purpose;
  const earned = [...tips.values()].reduce((sum, wei) => sum + wei, 0n);
  parts.report({ kind: "settled", purpose: kind, sender, nonce, paid, tips: earned });
  for (const outcome of outcomes) reportOutcome(pass, outcome, transactionHash);
}

/** Finds the gas that each address used, from a trace or, without one, from the outcomes. */
async function findGasUsed(
  pass: SettlePass,
  { purpose, receipt }: Mined,
  vaults: readonly Hex[],
  outcomes: readonly VaultOutcome[],
): Promise<Map<Hex, number> | undefined> {
  const traced = await readGasUsed(pass, receipt, vaults);
  if (traced || !receipt.succeeded) return traced;
  const failed = outcomes.filter(({ kind }) => kind === "failed").map(({ vault }) => vault);
  return divideGas(purpose.shares, receipt.gasUsed, new Set(failed));
}

/** Returns the addresses of a batch's items, lowercase; empty if `data` is not a batch. */
function decodeBatchVaults(data: Hex, factory: Hex): Hex[] {
  if (!data.startsWith(batchSelector)) return [];
  return decodeFactoryCalls(data, factory).map((call) => {
    if ("error" in call) throw call.error;
    return call.vault;
  });
}

/**
 * Returns the receipt's block time in seconds. Returns undefined, and reports a disagreement, if
 * the block is not in the chain or if an executed or recovered address has no code.
 */
function findBlockTime(
  { parts }: SettlePass,
  receipt: Receipt,
  outcomes: readonly VaultOutcome[],
  { blocks, withCode }: Evidence,
): number | undefined {
  const { transactionHash, blockNumber, blockHash } = receipt;
  const codeless = outcomes.find(({ kind, vault }) => kind !== "failed" && !withCode.has(vault));
  const block = blocks.get(blockNumber);
  if (block?.hash === blockHash && !codeless) return block.timestamp;
  const fault =
    block?.hash === blockHash
      ? `expected code at ${codeless?.vault} (${codeless?.kind}), found none`
      : `expected block ${blockNumber} with the hash ${block?.hash}, found ${blockHash}`;
  const detail = `the receipt of ${transactionHash}: ${fault}`;
  parts.report({ kind: "rpc_disagreement", about: "state", detail });
  return undefined;
}

function reportOutcome({ parts }: SettlePass, outcome: VaultOutcome, hash: Hex): void {
  const address = outcome.vault;
  if (isFailure(outcome)) {
    parts.report({ kind: "attempt_failed", address, reason: outcome.reason });
  } else parts.report({ kind: outcome.kind, address, hash });
}

/**
 * After several successive passes without a receipt, adopts the unknown transaction that used the
 * nonce.
 */
async function searchReplacement(pass: SettlePass, purpose: Purpose): Promise<void> {
  const { memory, view } = pass;
  if (!view.isWhole) return;
  const passes = (memory.receipts.absent.get(purpose.id) ?? 0) + 1;
  memory.receipts.absent.set(purpose.id, passes);
  if (passes < absentPassesMin) return;
  if (await adoptReplacement(pass, purpose)) memory.receipts.absent.delete(purpose.id);
}
