// Sends batches with any key that can. A key that is full, does not sign, or lacks money is
// skipped. While no key has money for gas, waiting jobs are not examined: a read of the balance
// every few seconds decides when to continue. Payments that arrive meanwhile are tried once.

import { batchCalldata, executeCalldata, recoverCalldata, toHex } from "executable-address";
import { hourMs } from "../../flow/days.ts";
import type { Job, JobUpdate } from "../ledger/jobs.ts";
import { costOf, type Size } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import {
  canAfford,
  gasPerByte,
  isResting,
  nextNonce,
  type Order,
  type Purse,
  type SendPass,
  SignerFailed,
  send,
  sizeOf,
  surelyAffords,
} from "../transactions/send.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { type Batch, type Ready, sharesOf, sizeMax } from "./batch.ts";

/** Recoveries may take every second slot, so that half of them stay free for executions. */
const recoverySlots = 2;

/** How soon a job is tried again that some key may send later. */
const waitSeconds = 5;

/** How soon a job is tried again where a node gave no estimate, or nodes disagree. */
export const soonSeconds = 15;

/** How many transactions more the key may have on their way. */
export const roomOf = ({ pass, unmined }: SendingKey) =>
  pass.parts.tuning.inFlightMax - unmined.length;

/** Whether the key may send now, if it has the money. */
export const isAble = (key: SendingKey): boolean => roomOf(key) > 0 && !isResting(key.pass);

/**
 * Sends them in their order, each by the key that has most slots free.
 * @param purse that of the key with the most money
 * @returns updates of jobs for which there was no money or no slot
 */
export async function dispatch(
  pass: Pass<ShortageMemory>,
  purse: Purse,
  batches: readonly Batch[],
  keys: readonly SendingKey[],
): Promise<JobUpdate[]> {
  const unsent: JobUpdate[] = [];
  const awake = keys.filter((key) => !isResting(key.pass));
  const isMoreLater = awake.length < keys.length;
  const senders = await Promise.all(awake.map(senderOf));
  for (const batch of batches) {
    const order = orderOf(batch, gasPerByte(purse));
    const obstacles = await sendByAny(senders, order);
    if (obstacles.length === 0) continue;
    const other = obstacles.find((each) => each !== "no_money");
    const reason = other ?? (isMoreLater ? "no_free_slot" : undefined);
    if (!reason) {
      unsent.push(...noteShortage(pass, purse, batch.ready));
      continue;
    }
    // Beside a key without money the others are waited for: each look is paid for in calls.
    const secondsMin = obstacles.includes("no_money") ? waitSeconds : 0;
    const seconds = Math.max(secondsMin, obstacleSeconds[reason]);
    unsent.push(...postponed(pass, batch, reason, seconds));
  }
  return unsent;
}

/**
 * A key and what is left of its slots in this pass. `nonce` of its next transaction: read for the
 * first of them; or why there is none.
 */
type Sender = {
  pass: SendPass;
  purse: Purse;
  slots: number;
  recoveries: number;
  nonce: number | "unread" | "earlier_nonces_unknown" | "endpoints_disagree_on_nonce";
};

async function senderOf(key: SendingKey): Promise<Sender> {
  const slots = roomOf(key);
  const recoveries = Math.ceil(slots / recoverySlots);
  return { pass: key.pass, purse: await key.openPurse(), slots, recoveries, nonce: "unread" };
}

/** How soon a job is tried again after what kept each key from sending it. */
const obstacleSeconds = {
  no_free_slot: 0,
  signer_unavailable: waitSeconds,
  endpoints_disagree_on_nonce: soonSeconds,
  earlier_nonces_unknown: waitSeconds,
};
type Obstacle = keyof typeof obstacleSeconds | "no_money";

/**
 * A key that only one of two endpoints shows to have the money is tried where no other has it: what
 * an empty key signs waits until it is filled up.
 * @returns what kept each key from sending; nothing where one of them sent
 */
async function sendByAny(
  senders: readonly Sender[],
  order: Omit<Order, "nonce">,
): Promise<Obstacle[]> {
  const obstacles: Obstacle[] = [];
  const size = sizeOf(order);
  const sure = senders.filter(({ purse }) => surelyAffords(purse, size));
  for (const sender of senders.toSorted((a, b) => b.slots - a.slots)) {
    const isTried = sure.length === 0 || sure.includes(sender);
    const obstacle = isTried ? await sendBy(sender, order) : "no_money";
    if (!obstacle) return [];
    obstacles.push(obstacle);
  }
  return obstacles;
}

async function sendBy(sender: Sender, order: Omit<Order, "nonce">): Promise<Obstacle | undefined> {
  const { pass, purse } = sender;
  const isRecovery = order.kind === "recover";
  if (sender.slots === 0 || (isRecovery && sender.recoveries === 0)) return "no_free_slot";
  if (isResting(pass)) return "signer_unavailable";
  const size = sizeOf(order);
  if (!canAfford(purse, size)) return "no_money";
  const { onPlanned } = pass.parts;
  if (onPlanned) {
    const wei = costOf(size, purse.suggested.maxFee, purse.perByte);
    purse.reserved += wei;
    onPlanned(order, pass.signer.address, wei);
  } else {
    const obstacle = await sendNow(sender, order);
    if (obstacle) return obstacle;
  }
  sender.slots--;
  if (isRecovery) sender.recoveries--;
  return undefined;
}

async function sendNow(sender: Sender, order: Omit<Order, "nonce">): Promise<Obstacle | undefined> {
  const { pass, purse } = sender;
  if (sender.nonce === "unread") sender.nonce = await nextNonce(pass);
  const { nonce } = sender;
  if (typeof nonce === "string") return nonce;
  try {
    await send(pass, purse, { ...order, nonce });
    sender.nonce = nonce + 1;
  } catch (error) {
    if (error instanceof SignerFailed) return "signer_unavailable";
    throw error;
  }
  return undefined;
}

function postponed(
  { nowSeconds }: Pass,
  { ready }: Batch,
  reason: string,
  seconds: number,
): JobUpdate[] {
  return ready.map(({ item: { job } }) => {
    return { address: job.address, state: "waiting", dueAtSeconds: nowSeconds + seconds, reason };
  });
}

function orderOf(batch: Batch, perByte: number): Omit<Order, "nonce"> {
  const { ready, gas } = batch;
  const items = ready.map((each) => {
    const { terms } = each.item.job;
    return each.kind === "recover" ? recoverCalldata(terms, each.tokens) : executeCalldata(terms);
  });
  const data = toHex(items.length === 1 ? items[0]! : batchCalldata(items));
  const { kind } = ready[0]!;
  return { kind, data, gas, shares: sharesOf(batch, perByte) };
}

/** No key has money for gas. Times are of the process's clock. */
type Shortage = {
  /** The size of the cheapest transaction that was refused. */
  least: Size;
  /** When the balance is read again. */
  lookAtMs: number;
  /** When all are tried again. */
  tryAtMs: number;
};

export type ShortageMemory = { shortage: Shortage | undefined };

export const openShortageMemory = (): ShortageMemory => ({ shortage: undefined });

const outOfGasMoney = "executor_out_of_gas_money";

const lookMs = 15_000;
/** They may have become cheaper to execute, or have expired. */
const tryMs = hourMs;

/** The due jobs of which there is something to ask; `waiting` says when to look at the others. */
export async function withoutWaiting(
  pass: Pass<ShortageMemory>,
  due: readonly Job[],
  canPayFor: (size: Size) => Promise<boolean>,
): Promise<{ jobs: readonly Job[]; waiting: JobUpdate[] }> {
  const { parts, memory } = pass;
  const poor = due.filter(({ reason }) => reason === outOfGasMoney);
  const known = memory.shortage;
  if (!known || poor.length === 0) return { jobs: due, waiting: [] };
  const nowMs = parts.clock();
  if (nowMs >= known.lookAtMs) {
    if (nowMs >= known.tryAtMs || (await canPayFor(known.least))) {
      memory.shortage = undefined;
      return { jobs: due, waiting: [] };
    }
    known.lookAtMs = nowMs + lookMs;
    parts.report({ kind: "stopped_for_balance" });
  }
  return {
    jobs: due.filter(({ reason }) => reason !== outOfGasMoney),
    waiting: poor.map((job) => untilNextLook(pass, job, known)),
  };
}

/** There is no money for a batch of these. */
function noteShortage(
  pass: Pass<ShortageMemory>,
  purse: Purse,
  refused: readonly Ready[],
): JobUpdate[] {
  const { parts, memory } = pass;
  const costAt = (size: Size) => costOf(size, purse.suggested.maxFee, purse.perByte);
  const nowMs = parts.clock();
  if (!memory.shortage) parts.report({ kind: "stopped_for_balance" });
  for (const each of refused) {
    const least = sizeMax([each]);
    memory.shortage ??= { least, lookAtMs: nowMs + lookMs, tryAtMs: nowMs + tryMs };
    if (costAt(least) < costAt(memory.shortage.least)) memory.shortage.least = least;
  }
  return refused.map(({ item: { job } }) => untilNextLook(pass, job, memory.shortage!));
}

/** All at once, so that one reading of the balance is for all of them. */
function untilNextLook(
  { parts, nowSeconds }: Pass,
  { address }: Job,
  { lookAtMs }: Shortage,
): JobUpdate {
  const seconds = Math.max(1, Math.ceil((lookAtMs - parts.clock()) / 1000));
  return { address, state: "waiting", dueAtSeconds: nowSeconds + seconds, reason: outOfGasMoney };
}
