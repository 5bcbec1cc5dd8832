// Sends each batch with a key that is able to send it. A key cannot send if it lacks money, cannot
// sign, or has too many pending transactions.
//
// If no key has money for gas, the affected jobs wait and cause no further work. The executor reads
// the keys' balances at intervals (`rereadMs`) to decide whether these jobs can continue.

import { batchCalldata, executeCalldata, recoverCalldata, toHex } from "executable-address";
import { hourMs } from "../../flow/days.ts";
import { retrySecondsMin, waitUntil } from "../ledger/due.ts";
import type { Job, JobUpdate } from "../ledger/jobs.ts";
import type { Reason } from "../ledger/reasons.ts";
import { type Budgets, reserveFor } from "../money/budgets.ts";
import { computeCost, type Size } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import {
  canAfford,
  computeGasPerByte,
  measureSize,
  type Purse,
  surelyAffords,
} from "../transactions/purse.ts";
import {
  isResting,
  nextNonce,
  type Order,
  type SendPass,
  SignerFailed,
  send,
} from "../transactions/send.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { type Batch, computeShares, computeSizeMax, type Ready } from "./gas.ts";

/**
 * Recoveries can use at most half of the transactions that a key can still send, rounded up. The
 * other half is left for executions. If a key can send only one more transaction, this transaction
 * can be a recovery.
 */
const recoveryShare = 1 / 2;

/** The retry delay after a problem that may end soon, such as a failed signer. */
const waitSeconds = 5;

/**
 * Returns how many transactions the key can send before it reaches its limit of pending
 * transactions.
 */
export const countFreeSlots = ({ pass, unmined, sent }: SendingKey) =>
  Math.max(0, pass.parts.tuning.inFlightMax - unmined.length - sent);

/** Returns whether the key can send now, provided that it has enough money. */
export const isAble = (key: SendingKey): boolean => countFreeSlots(key) > 0 && !isResting(key.pass);

/**
 * Sends the batches in the given order. For each batch, starts with the key that can send the most
 * transactions.
 *
 * @param purse the balance and costs of the key with the most money
 * @param budgets must cover the batches; the highest cost of each sent batch is reserved in them
 * @param sendOrder {@link signAndSend}, except in a dry run
 * @returns updates for the jobs that were not sent
 */
export async function dispatch(
  pass: Pass<ShortageMemory>,
  purse: Purse,
  budgets: Budgets,
  batches: readonly Batch[],
  keys: readonly SendingKey[],
  sendOrder: SendOrder,
): Promise<JobUpdate[]> {
  const sendAndReserve: SendOrder = async (key, order) => {
    const obstacle = await sendOrder(key, order);
    if (obstacle) return obstacle;
    const { suggested, perByte } = key.purse;
    const cost = computeCost(measureSize(order), suggested.maxFee, perByte);
    reserveFor(budgets, order.shares, cost);
    return undefined;
  };
  const unsent: JobUpdate[] = [];
  const awake = keys.filter((key) => !isResting(key.pass));
  const isMoreLater = awake.length < keys.length;
  const able = await Promise.all(awake.map(openSlots));
  for (const batch of batches) {
    const order = encodeOrder(batch, computeGasPerByte(purse));
    const obstacles = await sendByAny(able, order, sendAndReserve);
    if (obstacles.length === 0) continue;
    const other = obstacles.find((each) => each !== "no_money");
    const reason = other ?? (isMoreLater ? "no_free_slot" : undefined);
    if (!reason) {
      unsent.push(...recordShortage(pass, purse, batch.ready));
      continue;
    }
    // A different key may be able to send the batch later. If a key lacks money, the job waits for
    // at least `waitSeconds`, because each attempt calls endpoints.
    const secondsMin = obstacles.includes("no_money") ? waitSeconds : 0;
    const seconds = Math.max(secondsMin, obstacleSeconds[reason]);
    const untilSeconds = pass.nowSeconds + seconds;
    unsent.push(
      ...batch.ready.map(({ item }) => waitUntil(item.job.address, untilSeconds, reason)),
    );
  }
  return unsent;
}

/**
 * A key, and the number of transactions that it can still send. `nonce` is the next nonce, or the
 * reason why it is not known. The nonce is read when it is first needed.
 */
type KeySlots = {
  sending: SendingKey;
  pass: SendPass;
  purse: Purse;
  slots: number;
  recoveries: number;
  nonce: number | "unread" | "earlier_nonces_unknown" | "endpoints_disagree_on_nonce";
};

async function openSlots(key: SendingKey): Promise<KeySlots> {
  const slots = countFreeSlots(key);
  const recoveries = Math.ceil(slots * recoveryShare);
  const purse = await key.openPurse();
  return { sending: key, pass: key.pass, purse, slots, recoveries, nonce: "unread" };
}

/** The retry delay of a job in seconds, by the reason why no key sent the job's transaction. */
const obstacleSeconds = {
  no_free_slot: 0,
  signer_unavailable: waitSeconds,
  endpoints_disagree_on_nonce: retrySecondsMin,
  earlier_nonces_unknown: waitSeconds,
} as const satisfies Partial<Record<Reason, number>>;
type Obstacle = keyof typeof obstacleSeconds | "no_money";

type NewOrder = Omit<Order, "nonce">;

/**
 * Sends an order with one key. The caller has checked that the key has enough money.
 *
 * @returns the reason why the key cannot send the order
 */
export type SendOrder = (key: KeySlots, order: NewOrder) => Promise<Obstacle | undefined>;

/**
 * Tries the keys in order, starting with the key that can send the most transactions. If some keys
 * certainly have enough money, uses only these keys. With any other key, the transaction could stay
 * pending until somebody tops up the key.
 *
 * @returns the reason why each key failed; empty if a key sent the transaction
 */
async function sendByAny(
  keys: readonly KeySlots[],
  order: NewOrder,
  sendOrder: SendOrder,
): Promise<Obstacle[]> {
  const obstacles: Obstacle[] = [];
  const size = measureSize(order);
  const sure = keys.filter(({ purse }) => surelyAffords(purse, size));
  for (const key of keys.toSorted((a, b) => b.slots - a.slots)) {
    const isTried = sure.length === 0 || sure.includes(key);
    const obstacle = isTried ? await sendBy(key, order, sendOrder) : "no_money";
    if (!obstacle) return [];
    obstacles.push(obstacle);
  }
  return obstacles;
}

async function sendBy(
  key: KeySlots,
  order: NewOrder,
  sendOrder: SendOrder,
): Promise<Obstacle | undefined> {
  const { pass, purse } = key;
  const isRecovery = order.kind !== "execute";
  if (key.slots === 0 || (isRecovery && key.recoveries === 0)) return "no_free_slot";
  if (isResting(pass)) return "signer_unavailable";
  if (!canAfford(purse, measureSize(order))) return "no_money";
  const obstacle = await sendOrder(key, order);
  if (obstacle) return obstacle;
  key.slots--;
  key.sending.sent++;
  if (isRecovery) key.recoveries--;
  return undefined;
}

/** Signs, stores, and broadcasts an order with the key's next nonce. */
export const signAndSend: SendOrder = async (key, order) => {
  const { pass, purse } = key;
  if (key.nonce === "unread") key.nonce = await nextNonce(pass);
  const { nonce } = key;
  if (typeof nonce === "string") return nonce;
  try {
    await send(pass, purse, { ...order, nonce });
    key.nonce = nonce + 1;
  } catch (error) {
    if (error instanceof SignerFailed) return "signer_unavailable";
    throw error;
  }
  return undefined;
};

function encodeOrder(batch: Batch, perByte: number): NewOrder {
  const { ready, gas } = batch;
  const items = ready.map((each) => {
    const { terms } = each.item.job;
    if (each.kind === "execute") return executeCalldata(terms);
    return recoverCalldata(terms, each.kind === "recover" ? each.tokens : [each.token]);
  });
  const data = toHex(items.length === 1 ? items[0]! : batchCalldata(items));
  const [first] = ready;
  const { kind, item } = first!;
  const reported =
    first!.kind === "return" ? { address: item.job.address, token: first!.token } : undefined;
  return { kind, data, gas, shares: computeShares(batch, perByte), reported };
}

/**
 * This state exists only while no key has enough money for gas. Times are in milliseconds of a
 * monotonic clock.
 */
type Shortage = {
  /** The size of the cheapest unaffordable transaction: no key could pay for it. */
  least: Size;
  /** When the balances are read next. */
  readAtMs: number;
  /** The time at which the executor tries all jobs again. */
  tryAtMs: number;
};

export type ShortageMemory = { shortage: Shortage | undefined };

export const openShortageMemory = (): ShortageMemory => ({ shortage: undefined });

const outOfGasMoney: Reason = "executor_out_of_gas_money";

/** The interval at which the balances are read while no key has money. */
const rereadMs = 15_000;
/**
 * After this time, the executor tries all jobs again, because they may cost less now. For example,
 * an expired intent needs a recovery, which can be cheaper than an execution.
 */
const tryMs = hourMs;

/**
 * Returns the due jobs that the keys may be able to pay for. Also returns updates for the jobs that
 * wait because no key has money.
 */
export async function skipUnaffordable(
  pass: Pass<ShortageMemory>,
  due: readonly Job[],
  canPayFor: (size: Size) => Promise<boolean>,
): Promise<{ jobs: readonly Job[]; waiting: JobUpdate[] }> {
  const { parts, memory } = pass;
  const poor = due.filter(({ reason }) => reason === outOfGasMoney);
  const known = memory.shortage;
  if (!known || poor.length === 0) return { jobs: due, waiting: [] };
  const nowMs = parts.clock();
  if (nowMs >= known.readAtMs) {
    if (nowMs >= known.tryAtMs || (await canPayFor(known.least))) {
      memory.shortage = undefined;
      return { jobs: due, waiting: [] };
    }
    known.readAtMs = nowMs + rereadMs;
    parts.report({ kind: "stopped_for_balance" });
  }
  return {
    jobs: due.filter(({ reason }) => reason !== outOfGasMoney),
    waiting: poor.map((job) => untilNextRead(pass, job, known)),
  };
}

/**
 * Remembers that no key can pay for the items in `refused`. Returns updates for the items' jobs.
 */
function recordShortage(
  pass: Pass<ShortageMemory>,
  purse: Purse,
  refused: readonly Ready[],
): JobUpdate[] {
  const { parts, memory } = pass;
  const costAt = (size: Size) => computeCost(size, purse.suggested.maxFee, purse.perByte);
  const nowMs = parts.clock();
  if (!memory.shortage) parts.report({ kind: "stopped_for_balance" });
  for (const each of refused) {
    const least = computeSizeMax([each]);
    memory.shortage ??= { least, readAtMs: nowMs + rereadMs, tryAtMs: nowMs + tryMs };
    if (costAt(least) < costAt(memory.shortage.least)) memory.shortage.least = least;
  }
  return refused.map(({ item: { job } }) => untilNextRead(pass, job, memory.shortage!));
}

/** Postpones the job until the next read of the balances, which serves all waiting jobs. */
function untilNextRead(
  { parts, nowSeconds }: Pass,
  { address }: Job,
  { readAtMs }: Shortage,
): JobUpdate {
  const seconds = Math.max(1, Math.ceil((readAtMs - parts.clock()) / 1000));
  return waitUntil(address, nowSeconds + seconds, outOfGasMoney);
}
