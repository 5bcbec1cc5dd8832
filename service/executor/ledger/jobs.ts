// Stores one job for each address that has received money. A job has a state, failure counts, and a
// due time. The executor reads only due jobs, so the number of addresses does not matter.
//
// Neither `wakeJobs` nor `makeDue` changes the state of an existing job. A job can therefore be due
// although its state is `idle` or `given_up`.
//
// The following functions write to the table `executor_jobs`. In this file:
// - `wakeJobs` makes a job due after a payment
// - `hintJobs` makes a job due if a balance shows money
// - `makeDue` makes a job due after a reorganization of a chain that is not the intent's chain
// - `updateJobs` and `writeUpdates` save when and why the executor works on a job again
// - `retryJob` and `dropJob` save an operator's decision
//
// In other files:
// - due.ts: `pullLate` makes a job due if it was postponed too far
// - purposes.ts: `insertPurpose` assigns a transaction to its jobs
// - settlements.ts: `noteMined` saves a reason. `confirmPurpose`, `settlePurpose`, `recordForeign`,
//   and `adoptPurpose` free the jobs of a transaction. `reopenPurpose` assigns the transaction to
//   its jobs again

import { fromHex, type Hex } from "executable-address";
import type { Kysely, Selectable, Transaction } from "kysely";
import { markWatches } from "../../events/mark.ts";
import { groupsOf } from "../../flow/groups.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import type { Touched } from "../../follow/payment.ts";
import { findCreators } from "../../store/find-records.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";
import type { JobReason, Reason } from "./reasons.ts";

/** The executor's work for one address on one chain. Times are block times in seconds. */
export type Job = {
  address: Hex;
  terms: Hex;
  /**
   * The account that first created the address. `isClientId` says whether the address was created
   * with the account's client ID.
   */
  accountId: string;
  isClientId: boolean;
  reason: string | null;
  /** The time at which money was last detected. */
  detectedAtSeconds: number;
  notBeforeSeconds: number;
  failures: number;
  paidFailures: number;
  recoveryFailures: number;
  /** `recoveries` counts the recoveries on the day `recoveryDay`. */
  recoveryDay: number;
  recoveries: number;
};

/** An update to a job. Omitted fields keep their values. */
export type JobUpdate = {
  address: Hex;
  state: "waiting" | "idle" | "given_up";
  /** Null if the job waits until more money is detected. */
  dueAtSeconds: number | null;
  reason: JobReason | null;
  notBeforeSeconds?: number;
  failures?: number;
  paidFailures?: number;
  recoveryFailures?: number;
};

/**
 * Reads a job's failure counts, its last detection time, and its intent's expiration time. If there
 * is no job, the counts and the detection time are 0. If there is no record, the expiration time is
 * infinite.
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

export async function countJobs(db: Kysely<Tables>, chainId: number) {
  const rows = await db
    .selectFrom("executor_jobs")
    .select((select) => ["state", "reason", select.fn.countAll().as("count")])
    .where("chain_id", "=", chainId)
    .groupBy(["state", "reason"])
    .execute();
  return rows.map(({ state, reason, count }) => ({ state, reason, count: Number(count) }));
}

/**
 * Finds the jobs of addresses on several chains. Each row contains a job and one of its pending
 * transactions. A job without a pending transaction has a single row. The rows are sorted by
 * signing time.
 *
 * @param addresses 20 bytes each
 */
export function findJobs(db: Kysely<Tables>, chainIds: number[], addresses: Uint8Array[]) {
  return db
    .selectFrom("executor_jobs as job")
    .leftJoin("executor_purposes as purpose", "purpose.id", "job.purpose_id")
    .leftJoin("executor_transactions as sent", "sent.purpose_id", "job.purpose_id")
    .select(["job.address", "job.chain_id", "job.state", "job.reason", "job.failures"])
    .select(["job.detected_block", "job.detected_at", "purpose.kind", "sent.hash"])
    .where("job.chain_id", "in", chainIds)
    .where("job.address", "in", addresses)
    .orderBy("sent.signed_at")
    .execute();
}

const noAttempts = {
  not_before: 0,
  failures: 0,
  paid_failures: 0,
  recovery_failures: 0,
  recoveries: 0,
};

/** Returns a new row for a job that is due immediately. */
const newJob = (chainId: number, address: Hex, accountId = "") => ({
  chain_id: chainId,
  address: fromHex(address),
  account_id: accountId,
  ...noAttempts,
  recovery_day: 0,
  purpose_id: null,
  state: "waiting" as const,
  reason: null,
  due_at: 0,
  detected_at: 0,
  detected_block: 0,
});

/**
 * Creates or wakes the jobs of addresses that received money. A job that has failed still waits for
 * the end of its backoff. Also marks the addresses for a status read, so that their accounts get
 * events.
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
      ...newJob(chainId, address, creators.get(address)?.accountId),
      due_at: nowSeconds,
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

/**
 * Makes idle and abandoned jobs due. This is necessary if a reorganization removed the block at
 * which a saved balance was read. Balances are saved only for chains other than the intent's chain.
 */
export async function makeDue(
  transaction: Transaction<Tables>,
  chainId: number,
  addresses: readonly Hex[],
): Promise<void> {
  for (const some of groupsOf(addresses, statementRows.short)) {
    const keys = some.map((address) => fromHex(address));
    await transaction
      .updateTable("executor_jobs")
      .set({ due_at: 0 })
      .where("chain_id", "=", chainId)
      .where("address", "in", keys)
      .where("state", "in", ["idle", "given_up"])
      .execute();
  }
}

/**
 * Saves updates in several commits. This is safe, because the updates do not depend on each other.
 */
export async function updateJobs(
  db: Kysely<Tables>,
  fence: Fence,
  updates: readonly JobUpdate[],
): Promise<void> {
  for (const some of groupsOf(updates, statementRows.short)) {
    await fenced(db, fence, (transaction) => writeUpdates(transaction, fence.chainId, some));
  }
}

/** Saves updates, with one statement for each distinct set of changes. */
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
 * Makes a job due now and resets its failures, for the command `executor retry`.
 *
 * @returns false if there is no record of `address`
 */
export function retryJob(db: Kysely<Tables>, chainId: number, address: Hex): Promise<boolean> {
  return putJob(db, chainId, address, { state: "waiting", due_at: 0, reason: null });
}

/**
 * Drops a job, for the command `executor drop`. No transaction is sent for the address until
 * `retryJob` is called, even if it receives money. A pending transaction is not affected.
 *
 * @returns false if there is no record of `address`
 */
export function dropJob(db: Kysely<Tables>, chainId: number, address: Hex): Promise<boolean> {
  const dropped = { state: "dropped", due_at: null, reason: "dropped_by_operator" } as const;
  return putJob(db, chainId, address, dropped);
}

/** Saves a job in one statement, so that the executor reads no intermediate state. */
async function putJob(
  db: Kysely<Tables>,
  chainId: number,
  address: Hex,
  wanted: Pick<Selectable<Tables["executor_jobs"]>, "state" | "due_at"> & {
    reason: Reason | null;
  },
): Promise<boolean> {
  const creator = (await findCreators(db, [address])).get(address);
  if (!creator) return false;
  await db
    .insertInto("executor_jobs")
    .values({ ...newJob(chainId, address, creator.accountId), ...wanted })
    .onConflict((conflict) =>
      conflict.columns(["chain_id", "address"]).doUpdateSet({ ...noAttempts, ...wanted }),
    )
    .execute();
  return true;
}

/**
 * An address that may have money for which no log was found, such as native coin. Another example
 * is a payment from before the address was created in this service. The executor reads the balances
 * itself. `block` is the block at which the money was found, with its `timestamp` in Unix seconds.
 * `isEnough` is true if the balance is at least the intent's amount.
 */
export type JobHint = {
  address: Hex;
  block: { number: number; timestamp: number };
  isEnough: boolean;
};

/**
 * Creates a job for each address that has none. Idempotent. Makes an existing job due if:
 * - the job is idle
 * - the job waits for money that has arrived
 * - the job was abandoned because its money was not worth the gas
 *
 * @returns the hints that changed a job
 */
export async function hintJobs(
  db: Kysely<Tables>,
  chainId: number,
  hints: readonly JobHint[],
): Promise<JobHint[]> {
  const woken: JobHint[] = [];
  const addresses = hints.map(({ address }) => lowerAddress(address));
  const creators = await findCreators(db, addresses);
  for (const hint of hints) {
    const { address, block, isEnough } = hint;
    const lower = lowerAddress(address);
    // The job is due immediately (`due_at` is 0). The block's timestamp is not used, because a
    // single endpoint reported it.
    const due = {
      due_at: 0,
      state: "waiting" as const,
      reason: null,
      detected_at: block.timestamp,
      detected_block: block.number,
    };
    const { numInsertedOrUpdatedRows } = await db
      .insertInto("executor_jobs")
      .values({ ...newJob(chainId, address, creators.get(lower)?.accountId), ...due })
      .onConflict((conflict) =>
        conflict
          .columns(["chain_id", "address"])
          .doUpdateSet(due)
          .where((row) => {
            const isWaitingFor = (state: "given_up" | "waiting", reason: Reason) =>
              row.and([
                row("executor_jobs.state", "=", state),
                row("executor_jobs.reason", "=", reason),
              ]);
            return row.or([
              row("executor_jobs.state", "=", "idle"),
              isWaitingFor("given_up", "not_worth_its_gas"),
              ...(isEnough ? [isWaitingFor("waiting", "underfunded")] : []),
            ]);
          }),
      )
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows) woken.push(hint);
  }
  return woken;
}
