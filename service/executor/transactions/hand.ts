// One key in one pass: its nonces, its transactions that are not final, and its money. What keeps
// one key from sending delays what that key has sent, and nothing else.

import { hourMs } from "../../flow/days.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { Budgets } from "../money/budgets.ts";
import { unknownDataFee } from "../money/data-fee.ts";
import type { Pass, TransactionsMemory } from "../parts.ts";
import { adoptUnknown } from "./foreign.ts";
import { openPurse, type Purse, readNonce, SignerFailed } from "./send.ts";
import { settle } from "./settle.ts";
import { upkeep } from "./upkeep.ts";

/** `nonce`: the key's on chain; purposes at or above it are not mined. */
export type Hand = {
  pass: Pass;
  nonce: number;
  isFresh: boolean;
  pending: readonly Purpose[];
  unmined: readonly Purpose[];
  purse: () => Promise<Purse>;
};

export const freshTransactions = (): TransactionsMemory => ({
  nonces: new Map(),
  restingMs: new Map(),
  dataFee: unknownDataFee,
  sentMs: new Map(),
  underpriced: new Set(),
  hopeless: new Map(),
  mined: new Map(),
  absent: new Map(),
  unknown: new Map(),
  untracedMs: Number.NEGATIVE_INFINITY,
});

/** Settles what the key has sent, as far as it is final. @param pass with the key as its signer */
export async function openHand(pass: Pass): Promise<Hand> {
  const { parts, signer } = pass;
  const { chainId } = parts.chain;
  let pending = await parts.ledger.findPending(chainId, signer.address);
  const isBehind = pass.memory.transactions.unknown.has(signer.address);
  const { nonce, isFresh } = await nonceOf(pass, pending.length > 0 || isBehind);
  if (isFresh && (await adoptUnknown(pass, nonce))) {
    pending = await parts.ledger.findPending(chainId, signer.address);
  }
  if (isFresh && pending.length > 0) {
    await settle(pass, pending, nonce);
    pending = await parts.ledger.findPending(chainId, signer.address);
  }
  const unmined = pending.filter((purpose) => purpose.nonce >= nonce);
  return { pass, nonce, isFresh, pending, unmined, purse: openPurse(pass, unmined) };
}

/** Keeps the key's transactions moving. Where it signs nothing, the other keys go on. */
export async function keepUp(hand: Hand, budgets: () => Promise<Budgets>): Promise<void> {
  const { pass, nonce, isFresh, pending, unmined, purse } = hand;
  if (!isFresh && unmined.length === 0) return;
  try {
    await upkeep(pass, purse, pending, nonce, budgets);
  } catch (error) {
    if (!(error instanceof SignerFailed)) throw error;
  }
}

/** While nothing is pending, the nonce is read this seldom, and while the chain sleeps. */
const idleNonceMs = 60_000;
const asleepNonceMs = 6 * hourMs;

/** Read at each head while something is pending; the sender's balance is shown as often. */
async function nonceOf(
  pass: Pass,
  isPending: boolean,
): Promise<{ nonce: number; isFresh: boolean }> {
  const { memory, view, parts, signer } = pass;
  const known = memory.transactions.nonces.get(signer.address);
  const isSame = known?.head === view.head.hash;
  const keptMs = memory.rest.isAsleep ? asleepNonceMs : idleNonceMs;
  const isRecent = known && parts.clock() - known.sinceMs < keptMs;
  if (known && (isSame || !isPending) && isRecent) return { nonce: known.value, isFresh: false };
  const nonce = await readNonce(pass);
  const read = { value: nonce, head: view.head.hash, sinceMs: parts.clock() };
  memory.transactions.nonces.set(signer.address, read);
  return { nonce, isFresh: true };
}
