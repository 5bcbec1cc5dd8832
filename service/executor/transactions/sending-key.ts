// Settles, resends, and replaces the transactions of one key. Also detects transactions that a
// reorganization removed, and fills nonce gaps. If a key cannot send, only its own transactions are
// delayed.

import { upperMedian } from "../../flow/numbers.ts";
import { once } from "../../flow/together.ts";
import type { Purpose } from "../ledger/purposes.ts";
import { type Budgets, findBudgetRefusal, reserveFor } from "../money/budgets.ts";
import { computeCost } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { findWithCode } from "../payments/vaults.ts";
import { adoptUnknown, type UnknownNonces } from "./foreign.ts";
import { canAfford, measureSize, type Purse, readPurse, zeroValueTransfer } from "./purse.ts";
import {
  broadcast,
  readKeyNonce,
  readNonces,
  replace,
  type SendPass,
  SignerFailed,
  send,
} from "./send.ts";
import { type SettlePass, settle } from "./settle.ts";

/** The state of one key. */
export type SendingKey = {
  pass: KeyPass;
  /** The key's nonce on chain: the lowest nonce that no mined transaction uses. */
  nonce: number;
  /** Whether `nonce` was read in this pass, and does not come from the cache. */
  isFresh: boolean;
  /** The key's purposes that are not settled yet, including confirmed purposes. */
  pending: readonly Purpose[];
  unmined: readonly Purpose[];
  /** The number of transactions that `dispatch` has sent in this pass. `unmined` lacks them. */
  sent: number;
  /** The first call reads the purse and reports the key's balance. */
  openPurse: () => Promise<Purse>;
};

export type KeyPass = Pass<
  SettlePass["memory"] & SendPass["memory"] & UnknownNonces & { sleep: { isAsleep: boolean } }
>;

/** Settles the key's mined transactions, and returns the key's state. */
export async function openKey(pass: KeyPass): Promise<SendingKey> {
  const { parts, signer } = pass;
  const { chainId } = parts.chain;
  let pending = await parts.ledger.findPending(chainId, signer.address);
  const isBehind = pass.memory.unknownNonces.has(signer.address);
  const { nonce, isFresh } = await readKeyNonce(pass, pending.length > 0 || isBehind);
  if (isFresh && (await adoptUnknown(pass, nonce))) {
    pending = await parts.ledger.findPending(chainId, signer.address);
  }
  if (isFresh && pending.length > 0) {
    await settle(pass, pending, nonce);
    pending = await parts.ledger.findPending(chainId, signer.address);
  }
  const unmined = pending.filter((purpose) => purpose.nonce >= nonce);
  return {
    pass,
    nonce,
    isFresh,
    pending,
    unmined,
    sent: 0,
    openPurse: once(async () => {
      const purse = await readPurse(pass, unmined);
      const wei = purse.balanceSure;
      const isLow = wei < parts.chain.balanceWarnBelow;
      parts.report({ kind: "balance", sender: signer.address, wei, isLow });
      return purse;
    }),
  };
}

/** Resends and replaces the key's transactions. A failure to sign does not affect other keys. */
export async function keepUp(key: SendingKey, budgets: () => Promise<Budgets>): Promise<void> {
  if (!key.isFresh && key.unmined.length === 0) return;
  try {
    await maintain(key, budgets);
  } catch (error) {
    if (!(error instanceof SignerFailed)) throw error;
  }
}

/**
 * The maximum number of replacements per pass. The number is low, because each replacement raises
 * the cost. After the first replacements are mined, the other stuck transactions may be mined
 * without a replacement.
 */
const replacedPerPassMax = 4;

/**
 * The maximum number of nonce gaps to fill per pass. If there are more, an endpoint has probably
 * returned a wrong nonce.
 */
const gapsPerPassMax = 16;

async function maintain(key: SendingKey, budgets: () => Promise<Budgets>): Promise<void> {
  const { pass, nonce, unmined, openPurse } = key;
  await reopenUndone(pass, nonce);
  await fillGaps(key, budgets);
  await resend(pass, unmined);
  const { underpriced } = pass.memory.prices;
  const stuck = unmined.filter((purpose) => isStuck(pass, purpose));
  for (const purpose of stuck.slice(0, replacedPerPassMax)) {
    const isMoot = isHopeless(pass, purpose) || (await isOver(pass, purpose));
    if (!isMoot && !isOverdue(pass, purpose) && !isOutpriced(purpose, await openPurse())) {
      underpriced.delete(purpose.id);
      continue;
    }
    const day = await budgets();
    const isTooMuch = (wei: bigint) => findBudgetRefusal(day, purpose.shares, wei) !== undefined;
    const raise = await replace(pass, await openPurse(), purpose, isMoot, isTooMuch);
    reserveFor(day, purpose.shares, raise);
  }
}

/**
 * Resets a confirmed, settled, or foreign purpose to pending if a quorum reports that its nonce is
 * unused. This happens only after a reorganization that was deeper than the number of
 * confirmations.
 */
async function reopenUndone(pass: KeyPass, nonce: number): Promise<void> {
  const { parts, fence, view, signer } = pass;
  const { chainId } = parts.chain;
  const undone = await parts.ledger.findConfirmedFrom(chainId, signer.address, nonce);
  if (undone.length === 0) return;
  const nonces = await readNonces(pass);
  if (nonces.length < view.quorum) return;
  const reached = upperMedian(nonces)!;
  for (const purpose of undone) {
    const isPast = (purpose.blockNumber ?? view.head.number) <= view.head.number;
    if (!isPast || reached > purpose.nonce) continue;
    await parts.ledger.reopenPurpose(fence, purpose.id, purpose.addresses);
    parts.report({ kind: "reopened", nonce: purpose.nonce });
  }
}

/**
 * Fills each nonce gap below the database's next nonce with a zero-value transfer. A nonce gap is a
 * nonce without a transaction. Nonce gaps appear, for example, after the loss of a database.
 */
async function fillGaps(
  { pass, nonce, pending, openPurse }: SendingKey,
  budgets: () => Promise<Budgets>,
): Promise<void> {
  const { parts, view, signer } = pass;
  const { chainId } = parts.chain;
  const next = await parts.ledger.readNextNonce(chainId, signer.address);
  if (next <= nonce || !view.isWhole) return;
  const final = await parts.ledger.findConfirmedFrom(chainId, signer.address, nonce);
  const known = new Set([...pending, ...final].map((purpose) => purpose.nonce));
  for (let gap = nonce; gap < Math.min(next, nonce + gapsPerPassMax); gap++) {
    if (known.has(gap)) continue;
    const purse = await openPurse();
    const order = { kind: "fill", nonce: gap, ...zeroValueTransfer, shares: [] } as const;
    const size = measureSize(order);
    if (!canAfford(purse, size)) continue;
    await send(pass, purse, order);
    (await budgets()).reserveForChain(computeCost(size, purse.suggested.maxFee, purse.perByte));
    parts.report({ kind: "gap_filled", nonce: gap });
  }
}

async function resend(pass: KeyPass, unmined: readonly Purpose[]): Promise<void> {
  const { parts, memory } = pass;
  for (const purpose of unmined) {
    const newest = purpose.transactions.at(-1)!;
    const sentMs = memory.sending.sentMs.get(newest.hash);
    if (sentMs !== undefined && parts.clock() - sentMs < parts.tuning.resendMs) continue;
    await broadcast(pass, purpose, newest);
  }
}

/**
 * If nodes keep rejecting a transaction as too large, the executor abandons it after this time.
 * Before that, the rejection is probably temporary, because a transaction's gas limit never exceeds
 * the gas limit of a block.
 */
const hopelessSeconds = 60;

const isHopeless = ({ memory, nowSeconds }: KeyPass, { id }: Purpose): boolean =>
  nowSeconds - (memory.sending.hopeless.get(id) ?? nowSeconds) >= hopelessSeconds;

/**
 * Returns whether the newest transaction of `purpose` may have to be replaced. A transaction is
 * stuck if, for `hopelessSeconds`, nodes have rejected it because of its size. A transaction that
 * was signed before the newest block is also stuck if it is overdue, or if nodes rejected its fee
 * as too low.
 */
function isStuck(pass: KeyPass, purpose: Purpose): boolean {
  const { memory, view } = pass;
  if (isHopeless(pass, purpose)) return true;
  if (purpose.transactions.at(-1)!.signedBlock >= view.head.number) return false;
  return memory.prices.underpriced.has(purpose.id) || isOverdue(pass, purpose);
}

/** Returns whether the newest transaction offers less than the base fee, or has waited too long. */
function isOverdue({ parts, view, nowSeconds }: KeyPass, purpose: Purpose): boolean {
  const newest = purpose.transactions.at(-1)!;
  if (newest.fee.maxFee < view.head.baseFee) return true;
  return nowSeconds - newest.signedAtSeconds >= parts.tuning.stuckSeconds;
}

/**
 * Returns whether the suggested fee is now higher than the fee of the newest transaction. If nodes
 * reject a transaction as too cheap, the executor ignores the rejection unless the suggested fee
 * has risen. Without this rule, nodes could make the executor raise its fee in each block.
 */
function isOutpriced({ transactions }: Purpose, { suggested }: Purse): boolean {
  const { fee } = transactions.at(-1)!;
  return fee.maxFee < suggested.maxFee || fee.priorityFee < suggested.priorityFee;
}

/**
 * Returns whether all addresses in the transaction already have code, so that no execution can
 * succeed.
 */
async function isOver(pass: KeyPass, purpose: Purpose): Promise<boolean> {
  if (purpose.kind !== "execute") return false;
  return (await findWithCode(pass, purpose.addresses)).size === purpose.addresses.length;
}
