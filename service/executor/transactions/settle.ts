// Ends purposes: by the receipt of any transaction ever signed for them, shown by a quorum of
// endpoints, in a block that still stands, and confirmed by the code of the vaults. Jobs go on once
// the receipt has its confirmations; the cost is charged once its block is final.
// A nonce counts as taken by another transaction only once that transaction is found.

import { batchSelector, decodeExecutions, type Hex, makeRecord } from "executable-address";
import { type Answer, type Block, blockCall, blockOf, resultOf } from "../../chain/rpc/json-rpc.ts";
import { middle, readAnswers, type View } from "../../chain/rpc/view.ts";
import { midnightAfter } from "../../flow/days.ts";
import { type JobUpdate, patience, retryAt } from "../ledger/jobs.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { VaultOutcome } from "../ledger/settlements.ts";
import type { ChainSettings, Pass } from "../pass.ts";
import { findCoded, type HoldingsMemory } from "../payments/vaults.ts";
import { adoptReplacement } from "./foreign.ts";
import {
  compareReceipts,
  divideGas,
  outcomesOf,
  type Receipt,
  readGasTaken,
  type TraceMemory,
  tipsIn,
} from "./receipt.ts";
import type { SendMemory } from "./send.ts";

export type ReceiptMemory = {
  receipts: {
    /** By purpose whose receipt is not final: its block. The receipt is read again once that is. */
    mined: Map<string, number>;
    /** By purpose: passes in a row in which its used nonce had no receipt of ours. */
    absent: Map<string, number>;
  };
};

export const openReceiptMemory = (): ReceiptMemory => ({
  receipts: { mined: new Map(), absent: new Map() },
});

/** The pass of a function that settles purposes. */
export type SettlePass = Pass<ReceiptMemory & SendMemory & TraceMemory & HoldingsMemory>;

/** Passes in a row without a receipt before another transaction is looked for. */
const absentPassesMin = 3;

/** How soon an address is looked at again whose transaction was replaced by one of nothing. */
const freedSeconds = 60;

/** @param usedBelow the sender's nonce on chain: every lower one was spent on something */
export async function settle(
  pass: SettlePass,
  pending: readonly Purpose[],
  usedBelow: number,
): Promise<void> {
  const { parts, memory, view } = pass;
  const used = pending.filter((purpose) => purpose.nonce < usedBelow);
  if (used.length === 0) return;
  // A receipt settled above the newest anchor would stay settled if a reorganisation replaced it.
  const anchor = (await parts.ledger.findAnchor(parts.chain.chainId))?.number ?? -1;
  const below = used.filter((purpose) => !isAbove(anchor, purpose, view.head.number));
  if (below.length === 0) return;
  const finalBlock = Math.min(await readFinalBlock(view, parts.chain), anchor);
  const deepBlock = Math.max(
    finalBlock,
    Math.min(view.head.number - parts.chain.confirmations, anchor),
  );
  const boundOf = ({ blockNumber }: Purpose) => (blockNumber === null ? deepBlock : finalBlock);
  const asked = below.filter((purpose) => {
    const minedAt = memory.receipts.mined.get(purpose.id) ?? purpose.blockNumber;
    return minedAt === null || minedAt <= boundOf(purpose);
  });
  if (asked.length === 0) return;
  const calls = asked.flatMap((purpose) =>
    purpose.transactions.map((transaction) => ({
      method: "eth_getTransactionReceipt",
      params: [transaction.hash],
    })),
  );
  const answers = await view.readEach(calls);
  const deep: Mined[] = [];
  let at = 0;
  for (const purpose of asked) {
    const end = at + purpose.transactions.length;
    const mine = answers.map((list) => list?.slice(at, end));
    at = end;
    const receipt = await findReceipt(pass, purpose, mine);
    if (!receipt) continue;
    if (receipt.blockNumber <= boundOf(purpose)) {
      deep.push({ purpose, receipt, isFinal: receipt.blockNumber <= finalBlock });
    } else await awaitDepth(pass, purpose, receipt);
  }
  const seen = await readSeen(pass, deep);
  for (const each of deep) await record(pass, each, seen);
}

/** `isFinal`: it is settled, and otherwise confirmed: its jobs go on, and its cost waits. */
type Mined = { purpose: Purpose; receipt: Receipt; isFinal: boolean };

/** The receipt is read again once its block is deep enough. */
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

/** Whether it can only be mined above the anchor. A signer's head above the chain's was a lie. */
function isAbove(anchor: number, { transactions }: Purpose, head: number): boolean {
  const { signedBlock } = transactions[0]!;
  return anchor <= signedBlock && signedBlock <= head;
}

/** The newest block that is taken for final: as most endpoints say, else by blocks on top of it. */
export async function readFinalBlock(
  view: Pick<View, "head" | "quorum" | "readEach">,
  { confirmations, finality }: Pick<ChainSettings, "confirmations" | "finality">,
): Promise<number> {
  const deepEnough = view.head.number - confirmations;
  if (finality === "blocks") return deepEnough;
  const lists = await view.readEach([blockCall("finalized")]);
  const numbers = readAnswers(lists, 0, (result) => BigInt(blockOf(result).number));
  return numbers.length < view.quorum ? deepEnough : Number(middle(numbers));
}

async function findReceipt(
  pass: SettlePass,
  purpose: Purpose,
  answers: (Answer[] | undefined)[],
): Promise<Receipt | undefined> {
  const { parts, memory, view } = pass;
  const { found, others } = compareReceipts(answers, view.quorum);
  for (const place of others) view.accuse(place, "eth_getTransactionReceipt");
  if (found === "disagreement") {
    const detail = `receipts of nonce ${purpose.nonce} differ`;
    parts.report({ kind: "rpc_disagreement", about: "receipt", detail });
    return undefined;
  }
  if (found === "absent") await suspect(pass, purpose);
  if (typeof found === "string") return undefined;
  memory.receipts.absent.delete(purpose.id);
  return found;
}

/** The chain says this beside receipts: their blocks by number, and the vaults with code. */
type Seen = { blocks: Map<number, Block>; coded: Set<Hex> };

async function readSeen(pass: SettlePass, deep: readonly Mined[]): Promise<Seen> {
  const numbers = [...new Set(deep.map(({ receipt }) => receipt.blockNumber))];
  const vaults = deep.flatMap(({ purpose }) => purpose.addresses);
  const [answers, coded] = await Promise.all([
    pass.view.read(numbers.map(blockCall)),
    findCoded(pass, vaults),
  ]);
  const blocks = numbers.map((number, i) => [number, blockOf(resultOf(answers[i]))] as const);
  return { blocks: new Map(blocks), coded };
}

async function record(pass: SettlePass, mined: Mined, seen: Seen): Promise<void> {
  const { parts, fence, memory } = pass;
  const { purpose, receipt, isFinal } = mined;
  const vaults = vaultsOfBatch(purpose.data, parts.factory);
  const sent = { sender: purpose.sender, vaults };
  const outcomes = outcomesOf(receipt, parts.factory, sent).filter((outcome) =>
    purpose.addresses.includes(outcome.vault),
  );
  const minedAtSeconds = timeOf(pass, receipt, outcomes, seen);
  if (minedAtSeconds === undefined) return;
  // The jobs of a confirmed purpose have gone on already.
  const updates =
    purpose.blockNumber === null ? await updatesAfter(pass, mined, outcomes, seen) : [];
  const { transactionHash, blockNumber, paid } = receipt;
  const settled = { purposeId: purpose.id, transactionHash, blockNumber, updates };
  if (!isFinal) {
    await parts.ledger.confirmPurpose(fence, settled);
    memory.receipts.mined.set(purpose.id, blockNumber);
    return;
  }
  const tips = tipsIn(receipt, purpose, parts.chain.tipPrices);
  const gasOf = isFillIn(mined) ? undefined : await findGasTaken(pass, mined, vaults, outcomes);
  const isNew = await parts.ledger.settlePurpose(fence, {
    ...settled,
    ...{ paid, minedAtSeconds, gasOf, tips, outcomes },
  });
  if (!isNew) return;
  memory.receipts.mined.delete(purpose.id);
  for (const { hash } of purpose.transactions) memory.sending.sentMs.delete(hash);
  const { kind, sender, nonce } = purpose;
  const earned = [...tips.values()].reduce((sum, wei) => sum + wei, 0n);
  parts.report({ kind: "settled", purpose: kind, sender, nonce, paid, tips: earned });
  for (const outcome of outcomes) reportOutcome(pass, outcome, transactionHash);
}

/** Finds the gas that each address took: by a trace, or by what ran and what failed. */
async function findGasTaken(
  pass: SettlePass,
  { purpose, receipt }: Mined,
  vaults: readonly Hex[],
  outcomes: readonly VaultOutcome[],
): Promise<Map<Hex, number> | undefined> {
  const traced = await readGasTaken(pass, receipt, vaults);
  if (traced || !receipt.succeeded) return traced;
  const failed = outcomes.filter(({ kind }) => kind === "failed").map(({ vault }) => vault);
  return divideGas(purpose.shares, receipt.gasUsed, new Set(failed));
}

/** Whether a transfer of nothing was mined in place of the purpose. */
const isFillIn = ({ purpose, receipt }: Mined): boolean =>
  purpose.transactions.some(({ hash, isFill }) => isFill && hash === receipt.transactionHash);

async function updatesAfter(
  pass: SettlePass,
  mined: Mined,
  outcomes: readonly VaultOutcome[],
  seen: Seen,
): Promise<JobUpdate[]> {
  const { purpose, receipt } = mined;
  const isFill = isFillIn(mined);
  const overtaken = findOvertaken(purpose, !isFill && receipt.succeeded, outcomes, seen);
  const updates: JobUpdate[] = [];
  for (const address of purpose.addresses) {
    const isOvertaken = overtaken.has(address);
    if (isFill && !isOvertaken) updates.push(await setFree(pass, address));
    else {
      const mine = isOvertaken ? [] : outcomes;
      updates.push(await updateOf(pass, purpose, address, mine, isOvertaken));
    }
  }
  return updates;
}

/** The vaults that the items of a batch are about, lower case; none where `data` is no batch. */
function vaultsOfBatch(data: Hex, factory: Hex): Hex[] {
  if (!data.startsWith(batchSelector)) return [];
  return decodeExecutions(data).map((item) => {
    if ("error" in item) throw item.error;
    return makeRecord(item.intent, { factory }).address.toLowerCase() as Hex;
  });
}

/**
 * The time of the receipt's block, in seconds; undefined where that block does not stand, or a
 * vault that executed or closed has no code now.
 */
function timeOf(
  { parts }: SettlePass,
  receipt: Receipt,
  outcomes: readonly VaultOutcome[],
  { blocks, coded }: Seen,
): number | undefined {
  const over = outcomes.filter((outcome) => outcome.kind !== "failed");
  const hasCode = over.every(({ vault }) => coded.has(vault));
  const block = blocks.get(receipt.blockNumber);
  if (block?.hash === receipt.blockHash && hasCode) return block.timestamp;
  const detail = `the receipt of ${receipt.transactionHash} is not borne out by the chain`;
  parts.report({ kind: "rpc_disagreement", about: "state", detail });
  return undefined;
}

/** Its transaction was replaced by one of nothing: it did not fail, and waits as for a budget. */
async function setFree({ parts, nowSeconds }: SettlePass, address: Hex): Promise<JobUpdate> {
  const { detectedAtSeconds } = await parts.ledger.readHistory(parts.chain.chainId, address);
  const waitedSeconds = patience(freedSeconds, nowSeconds - detectedAtSeconds);
  const dueAtSeconds = Math.min(nowSeconds + waitedSeconds, midnightAfter(nowSeconds));
  return { address, state: "waiting", dueAtSeconds, reason: "replaced_by_nothing" };
}

/** Updates a job: it is due at once after a success, and after a backoff otherwise. */
async function updateOf(
  { parts, nowSeconds }: SettlePass,
  purpose: Purpose,
  address: Hex,
  outcomes: readonly VaultOutcome[],
  isOvertaken: boolean,
): Promise<JobUpdate> {
  const mine = outcomes.filter((outcome) => outcome.vault === address);
  const failure = mine.find((outcome) => "reason" in outcome);
  const base = {
    address,
    state: "waiting" as const,
    dueAtSeconds: nowSeconds,
    reason: null,
    notBeforeSeconds: 0,
  };
  const isExecuted = mine.some((outcome) => outcome.kind === "executed");
  if (isExecuted || isOvertaken) return { ...base, failures: 0 };
  if (mine.some((outcome) => outcome.kind === "recovered") && !failure) {
    return { ...base, failures: 0, recoveryFailures: 0 };
  }
  const before = await parts.ledger.readHistory(parts.chain.chainId, address);
  const isExecution = purpose.kind === "execute";
  const count = before.failures + 1;
  const expirationSeconds = isExecution ? before.expirationSeconds : undefined;
  const notBeforeSeconds = retryAt(nowSeconds, count, parts.random, expirationSeconds);
  const failures = {
    failures: count,
    ...(isExecution
      ? { paidFailures: before.paidFailures + 1 }
      : { recoveryFailures: before.recoveryFailures + 1 }),
  };
  const reason = failure && "reason" in failure ? failure.reason : "reverted on chain";
  return { ...base, ...failures, reason, notBeforeSeconds, dueAtSeconds: notBeforeSeconds };
}

/**
 * Addresses for which another executor's transaction came first: an execution failed at a vault
 * that has code, or a recovery succeeded without an event of the address.
 */
function findOvertaken(
  { kind, addresses }: Purpose,
  succeeded: boolean,
  outcomes: readonly VaultOutcome[],
  { coded }: Seen,
): Set<Hex> {
  if (kind === "recover" && succeeded) {
    return new Set(addresses.filter((vault) => !outcomes.some((each) => each.vault === vault)));
  }
  const isOurs = (vault: Hex) =>
    outcomes.some((outcome) => outcome.vault === vault && outcome.kind === "executed");
  const failed = kind === "execute" ? addresses.filter((vault) => !isOurs(vault)) : [];
  return new Set(failed.filter((vault) => coded.has(vault)));
}

function reportOutcome({ parts }: SettlePass, outcome: VaultOutcome, hash: Hex): void {
  const address = outcome.vault;
  if ("reason" in outcome) {
    parts.report({ kind: "attempt_failed", address, reason: outcome.reason });
  } else parts.report({ kind: outcome.kind, address, hash });
}

/**
 * The nonce is spent and no endpoint has a receipt of ours: adopts the transaction that spent it.
 */
async function suspect(pass: SettlePass, purpose: Purpose): Promise<void> {
  const { memory, view } = pass;
  if (!view.isWhole) return;
  const passes = (memory.receipts.absent.get(purpose.id) ?? 0) + 1;
  memory.receipts.absent.set(purpose.id, passes);
  if (passes < absentPassesMin) return;
  if (await adoptReplacement(pass, purpose)) memory.receipts.absent.delete(purpose.id);
}
