// Handles one sending key in one pass: settles mined transactions, resends pending ones, replaces
// stuck ones, reopens purposes that a reorganization undid, and fills nonces that have no purpose.
// A key that cannot send delays only its own transactions.

import { hourMs } from "../../flow/days.ts";
import { once } from "../../flow/together.ts";
import type { Purpose } from "../ledger/purposes.ts";
import { type Budgets, findBudgetRefusal, reserveFor } from "../money/budgets.ts";
import { computeCost } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { findWithCode } from "../payments/vaults.ts";
import { adoptUnknown, type UnknownNonces } from "./foreign.ts";
import {
  broadcast,
  canAfford,
  emptyTransfer,
  measureSize,
  type Purse,
  readNonce,
  readNonces,
  readPurse,
  replace,
  type SendPass,
  SignerFailed,
  send,
} from "./send.ts";
import { type SettlePass, settle } from "./settle.ts";

/** The state of one key in a pass. */
export type SendingKey = {
  pass: KeyPass;
  /** The key's nonce on chain. Purposes with this or a higher nonce are not mined. */
  nonce: number;
  /** Whether `nonce` was read in this pass. */
  isFresh: boolean;
  /** The key's purposes (uses of nonces) that are not final. */
  pending: readonly Purpose[];
  unmined: readonly Purpose[];
  openPurse: () => Promise<Purse>;
};

/**
 * The pass for one key. Its memory contains the state for settling, sending, and reading vaults.
 */
export type KeyPass = Pass<
  SettlePass["memory"] & SendPass["memory"] & UnknownNonces & { rest: { isAsleep: boolean } }
>;

/** Settles the key's final transactions, and returns the key's state. */
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
    openPurse: once(() => readPurse(pass, unmined)),
  };
}

/**
 * Resends and replaces the key's transactions. If the key fails to sign, other keys are not
 * affected.
 */
export async function keepUp(key: SendingKey, budgets: () => Promise<Budgets>): Promise<void> {
  const { pass, nonce, isFresh, pending, unmined } = key;
  if (!isFresh && unmined.length === 0) return;
  try {
    await upkeep(pass, key.openPurse, pending, nonce, budgets);
  } catch (error) {
    if (!(error instanceof SignerFailed)) throw error;
  }
}

/**
 * The time for which a nonce is cached while no transaction is pending (`idleNonceMs`), and while
 * the chain sleeps (`asleepNonceMs`).
 */
const idleNonceMs = 60_000;
const asleepNonceMs = 6 * hourMs;

/** Reads the nonce at each new head while a transaction is pending, and less often otherwise. */
async function readKeyNonce(
  pass: KeyPass,
  isPending: boolean,
): Promise<{ nonce: number; isFresh: boolean }> {
  const { memory, view, parts, signer } = pass;
  const known = memory.nonces.get(signer.address);
  const isSame = known?.head === view.head.hash;
  const ageMsMax = memory.rest.isAsleep ? asleepNonceMs : idleNonceMs;
  const isRecent = known && parts.clock() - known.sinceMs < ageMsMax;
  if (known && (isSame || !isPending) && isRecent) return { nonce: known.value, isFresh: false };
  const nonce = await readNonce(pass);
  const read = { value: nonce, head: view.head.hash, sinceMs: parts.clock() };
  memory.nonces.set(signer.address, read);
  return { nonce, isFresh: true };
}

/**
 * The maximum number of replacements per pass. Each replacement raises the cost. After the first
 * replacements, the rest of the queue may be mined without replacements.
 */
const replacedPerPassMax = 4;

/**
 * The maximum number of gaps to fill per pass. If there are more gaps, an endpoint probably
 * returned a false nonce.
 */
const gapsPerPassMax = 16;

/** @param nonce the key's nonce on chain */
async function upkeep(
  pass: KeyPass,
  openPurse: () => Promise<Purse>,
  pending: readonly Purpose[],
  nonce: number,
  budgets: () => Promise<Budgets>,
): Promise<void> {
  const unmined = pending.filter((purpose) => purpose.nonce >= nonce);
  await reopenUndone(pass, nonce);
  await fillGaps(pass, openPurse, pending, nonce, budgets);
  await resend(pass, unmined);
  const { underpriced } = pass.memory.sending;
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
 * Reopens confirmed and final purposes whose nonce is free again according to a quorum of
 * endpoints. A nonce becomes free again only after a reorganization that was deeper than the number
 * of confirmations.
 */
async function reopenUndone(pass: KeyPass, nonce: number): Promise<void> {
  const { parts, fence, view, signer } = pass;
  const { chainId } = parts.chain;
  const undone = await parts.ledger.findConfirmedFrom(chainId, signer.address, nonce);
  if (undone.length === 0) return;
  const nonces = await readNonces(pass);
  if (nonces.length < view.quorum) return;
  // `reached` is the median of the nonces, or the higher one if there are two.
  const reached = nonces[Math.floor((nonces.length - 1) / 2)]!;
  for (const purpose of undone) {
    const isPast = (purpose.blockNumber ?? view.head.number) <= view.head.number;
    if (!isPast || reached > purpose.nonce) continue;
    await parts.ledger.reopenPurpose(fence, purpose.id, purpose.addresses);
    parts.report({ kind: "reopened", nonce: purpose.nonce });
  }
}

/**
 * Fills the gaps in the nonces below the ledger's next nonce: sends a zero-value transfer for each
 * nonce that has no purpose. Gaps appear, for example, after the loss of a database.
 */
async function fillGaps(
  pass: KeyPass,
  openPurse: () => Promise<Purse>,
  pending: readonly Purpose[],
  nonce: number,
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
    const order = { kind: "fill", nonce: gap, ...emptyTransfer, shares: [] } as const;
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
 * The time in seconds after which a transaction is abandoned if nodes refuse it as too large for
 * any block. The transaction's gas limit is below the gas limit of blocks, so the refusal can also
 * be a temporary fault of the nodes.
 */
const hopelessSeconds = 60;

const isHopeless = ({ memory, nowSeconds }: KeyPass, { id }: Purpose): boolean =>
  nowSeconds - (memory.sending.hopeless.get(id) ?? nowSeconds) >= hopelessSeconds;

/**
 * Returns whether the newest transaction of `purpose` may have to be replaced. A transaction is
 * stuck if it is too large for any block. It is also stuck if it is too cheap or overdue, and at
 * least one block was mined without it.
 */
function isStuck(pass: KeyPass, purpose: Purpose): boolean {
  const { memory, view } = pass;
  if (isHopeless(pass, purpose)) return true;
  if (purpose.transactions.at(-1)!.signedBlock >= view.head.number) return false;
  return memory.sending.underpriced.has(purpose.id) || isOverdue(pass, purpose);
}

/** Returns whether the newest transaction offers less than the base fee, or has waited too long. */
function isOverdue({ parts, view, nowSeconds }: KeyPass, purpose: Purpose): boolean {
  const newest = purpose.transactions.at(-1)!;
  if (newest.fee.maxFee < view.head.baseFee) return true;
  return nowSeconds - newest.signedAtSeconds >= parts.tuning.stuckSeconds;
}

/**
 * Returns whether a new transaction would offer a higher fee. A refusal by nodes is not a
 * sufficient reason for a replacement, because nodes could then raise the fee in each block.
 */
function isOutpriced({ transactions }: Purpose, { suggested }: Purse): boolean {
  const { fee } = transactions.at(-1)!;
  return fee.maxFee < suggested.maxFee || fee.priorityFee < suggested.priorityFee;
}

/**
 * Returns whether all vaults in the transaction already have code, so that no execution can run.
 */
async function isOver(pass: KeyPass, purpose: Purpose): Promise<boolean> {
  if (purpose.kind !== "execute") return false;
  return (await findWithCode(pass, purpose.addresses)).size === purpose.addresses.length;
}
