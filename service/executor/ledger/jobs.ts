// Keeps one job for each address that has received money: its state, its failures, and when it is
// due again. The cost of a pass depends on the number of jobs, not on the number of addresses.

import { fromHex, type Hex } from "executable-address";
import type { Kysely, Selectable, Transaction } from "kysely";
import { markWatches } from "../../events/mark.ts";
import { groupsOf, statementRows } from "../../flow/groups.ts";
import { backoff } from "../../flow/wait.ts";
import type { Touched } from "../../follow/parts.ts";
import { findCreators } from "../../store/held.ts";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";

/** A vault on a chain. Times in seconds of that chain's clock. */
export type Job = {
  address: Hex;
  terms: Hex;
  /** This account created it first; `isClientId`: by its client ID. */
  accountId: string;
  isClientId: boolean;
  reason: string | null;
  /** When money was last seen to come. */
  detectedAtSeconds: number;
  notBeforeSeconds: number;
  failures: number;
  paidFailures: number;
  recoveryFailures: number;
  /** Transactions that returned money of it, on the day `recoveryDay` of the chain's clock. */
  recoveryDay: number;
  recoveries: number;
};

/** The changes of a job once it was worked on. Fields left out stay as they are. */
export type JobUpdate = {
  address: Hex;
  state: "waiting" | "idle" | "given_up";
  /** Null: when money comes. */
  dueAtSeconds: number | null;
  reason: string | null;
  notBeforeSeconds?: number;
  failures?: number;
  paidFailures?: number;
  recoveryFailures?: number;
};

/**
 * How often a job failed, when money was last seen to come, and when its intent expires. Zero and
 * never where it is not known.
 */
export async function readHistory(
  db: Kysely<Tables>,
  chainId: number,
  address: Hex,
): Promise<
  Pick<Job, "failures" | "paidFailures" | "recoveryFailures" | "detectedAtSeconds"> & {
    expirationSeconds: number;
  }
> {
  const row = await db
    .selectFrom("executor_jobs")
    .select(["failures", "paid_failures", "recovery_failures", "detected_at"])
    .where("chain_id", "=", chainId)
    .where("address", "=", fromHex(address))
    .executeTakeFirst();
  const creator = (await findCreators(db, [address])).get(address);
  return {
    failures: row?.failures ?? 0,
    paidFailures: row?.paid_failures ?? 0,
    recoveryFailures: row?.recovery_failures ?? 0,
    detectedAtSeconds: row?.detected_at ?? 0,
    expirationSeconds: creator?.expirationSeconds ?? Number.POSITIVE_INFINITY,
  };
}

/**
 * Makes jobs of addresses at which money was seen, or makes theirs due, though never before the
 * backoff of the last failure ends. The accounts that created an address get an event of it.
 */
export async function wakeJobs(
  transaction: Transaction<Tables>,
  chainId: number,
  sightings: readonly Touched[],
  nowSeconds: number,
): Promise<void> {
  const newest = Math.max(...sightings.map(({ blockNumber }) => blockNumber));
  const addresses = sightings.map(({ address }) => address);
  await markWatches(transaction, chainId, addresses, newest);
  const creators = await findCreators(transaction, addresses);
  for (const some of groupsOf(sightings, statementRows.short)) {
    const rows = some.map(({ address, blockNumber }) => ({
      chain_id: chainId,
      address: fromHex(address),
      account_id: creators.get(address)?.accountId ?? "",
      due_at: nowSeconds,
      not_before: 0,
      purpose_id: null,
      failures: 0,
      paid_failures: 0,
      recovery_failures: 0,
      recovery_day: 0,
      recoveries: 0,
      state: "waiting" as const,
      reason: null,
      detected_at: nowSeconds,
      detected_block: blockNumber,
    }));
    await transaction
      .insertInto("executor_jobs")
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(["chain_id", "address"])
          .doUpdateSet((row) => ({
            detected_at: nowSeconds,
            detected_block: row.ref("excluded.detected_block"),
            due_at: row
              .case()
              .when("executor_jobs.not_before", ">", nowSeconds)
              .then(row.ref("executor_jobs.not_before"))
              .else(nowSeconds)
              .end(),
          }))
          .where("executor_jobs.state", "<>", "dropped"),
      )
      .execute();
  }
}

/** Keeps them in several commits: each update is its job's own. */
export async function updateJobs(
  db: Kysely<Tables>,
  fence: Fence,
  updates: readonly JobUpdate[],
): Promise<void> {
  for (const some of groupsOf(updates, statementRows.short)) {
    await fenced(db, fence, (transaction) => writeUpdates(transaction, fence.chainId, some));
  }
}

/** Jobs that change alike, as those of a burst do, share a statement. @param updates of one each */
export async function writeUpdates(
  transaction: Transaction<Tables>,
  chainId: number,
  updates: readonly JobUpdate[],
): Promise<void> {
  const alike = new Map<string, { columns: ReturnType<typeof toColumns>; keys: Uint8Array[] }>();
  for (const update of updates) {
    const columns = toColumns(update);
    const text = JSON.stringify(columns);
    const group = alike.get(text) ?? { columns, keys: [] };
    alike.set(text, group);
    group.keys.push(fromHex(update.address));
  }
  for (const { columns, keys } of alike.values()) {
    await transaction
      .updateTable("executor_jobs")
      .set(columns)
      .where("chain_id", "=", chainId)
      .where("address", "in", keys)
      .where("state", "<>", "dropped")
      .execute();
  }
}

const toColumns = (update: JobUpdate) => ({
  state: update.state,
  due_at: update.dueAtSeconds,
  reason: update.reason,
  ...(update.notBeforeSeconds === undefined ? {} : { not_before: update.notBeforeSeconds }),
  ...(update.failures === undefined ? {} : { failures: update.failures }),
  ...(update.paidFailures === undefined ? {} : { paid_failures: update.paidFailures }),
  ...(update.recoveryFailures === undefined ? {} : { recovery_failures: update.recoveryFailures }),
});

/**
 * For an operator: makes the job due at once and forgets its failures.
 * @returns false where no record is held for `address`
 */
export function retryJob(db: Kysely<Tables>, chainId: number, address: Hex): Promise<boolean> {
  return putJob(db, chainId, address, { state: "waiting", due_at: 0, reason: null });
}

/**
 * For an operator: nothing more is sent for the address, whatever it receives, until `retryJob`.
 * A transaction that is in flight for it stays in flight.
 * @returns false where no record is held for `address`
 */
export function dropJob(db: Kysely<Tables>, chainId: number, address: Hex): Promise<boolean> {
  const dropped = { state: "dropped", due_at: null, reason: "dropped_by_operator" } as const;
  return putJob(db, chainId, address, dropped);
}

/** One statement, so that no pass sees the job before it is as the operator wants it. */
async function putJob(
  db: Kysely<Tables>,
  chainId: number,
  address: Hex,
  wanted: Pick<Selectable<Tables["executor_jobs"]>, "state" | "due_at" | "reason">,
): Promise<boolean> {
  const creator = (await findCreators(db, [address])).get(address);
  if (!creator) return false;
  const fresh = {
    ...wanted,
    not_before: 0,
    failures: 0,
    paid_failures: 0,
    recovery_failures: 0,
    recoveries: 0,
  };
  await db
    .insertInto("executor_jobs")
    .values({
      ...fresh,
      chain_id: chainId,
      address: fromHex(address),
      account_id: creator.accountId,
      purpose_id: null,
      recovery_day: 0,
      detected_at: 0,
      detected_block: 0,
    })
    .onConflict((conflict) => conflict.columns(["chain_id", "address"]).doUpdateSet(fresh))
    .execute();
  return true;
}

const firstSeconds = 15;
/** A job that fails for hours is tried a few times a day: each try costs an estimate of its gas. */
const longestSeconds = 21_600;

/** An obstacle that ends by itself, such as a spent budget, is checked at least so often. */
const patienceSeconds = 3600;

/**
 * Seconds until the next check of such an obstacle: as long as the money has waited, within
 * `leastSeconds` and an hour.
 */
export function patience(leastSeconds: number, waitedSeconds: number): number {
  return Math.min(Math.max(leastSeconds, waitedSeconds), patienceSeconds);
}

/**
 * When to try again after failure number `failures`: the backoff doubles each time, and a random
 * part of it is left out. No failed execution holds back the recovery that follows expiry.
 * @param expirationSeconds of the intent whose execution failed; undefined: a recovery failed
 */
export function retryAt(
  nowSeconds: number,
  failures: number,
  random: () => number,
  expirationSeconds = Number.POSITIVE_INFINITY,
): number {
  const full = backoff(failures, firstSeconds, longestSeconds);
  const retrySeconds = nowSeconds + Math.ceil(full * (0.75 + random() / 4));
  return Math.min(retrySeconds, Math.max(nowSeconds, expirationSeconds + 1));
}

/**
 * Money was seen at `address` in the state after `block`, `timestamp` in Unix seconds; `isEnough`:
 * as much as its intent asks for.
 */
export type JobHint = {
  address: Hex;
  block: { number: number; timestamp: number };
  isEnough: boolean;
};

/** The one reason for giving up that may end by itself: more money may come, or gas get cheaper. */
export const notWorthItsGas = "not_worth_its_gas";
/** It waits for more money, until its expiry. */
export const underfunded = "underfunded";

/**
 * Makes a job of each vault that has none, and makes due what rests, was not worth its gas, or
 * waits for money that is there. Another job that waits, or was sent, stays as it is, so repeating
 * a hint changes nothing.
 *
 * @returns those that changed anything
 */
export async function hintJobs(
  db: Kysely<Tables>,
  chainId: number,
  hints: readonly JobHint[],
): Promise<JobHint[]> {
  const woken: JobHint[] = [];
  const addresses = hints.map(({ address }) => address.toLowerCase() as Hex);
  const creators = await findCreators(db, addresses);
  for (const hint of hints) {
    const { address, block, isEnough } = hint;
    // `due_at` 0: a block's timestamp comes from one endpoint and must not delay the job.
    const due = {
      due_at: 0,
      state: "waiting" as const,
      reason: null,
      detected_at: block.timestamp,
      detected_block: block.number,
    };
    const counts = {
      not_before: 0,
      failures: 0,
      paid_failures: 0,
      recovery_failures: 0,
    };
    const { numInsertedOrUpdatedRows } = await db
      .insertInto("executor_jobs")
      .values({
        chain_id: chainId,
        address: fromHex(address),
        account_id: creators.get(address.toLowerCase() as Hex)?.accountId ?? "",
        purpose_id: null,
        ...counts,
        ...due,
      })
      .onConflict((conflict) =>
        conflict
          .columns(["chain_id", "address"])
          .doUpdateSet(due)
          .where((row) => {
            const isWaitingFor = (state: "given_up" | "waiting", reason: string) =>
              row.and([
                row("executor_jobs.state", "=", state),
                row("executor_jobs.reason", "=", reason),
              ]);
            return row.or([
              row("executor_jobs.state", "=", "idle"),
              isWaitingFor("given_up", notWorthItsGas),
              ...(isEnough ? [isWaitingFor("waiting", underfunded)] : []),
            ]);
          }),
      )
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows) woken.push(hint);
  }
  return woken;
}
