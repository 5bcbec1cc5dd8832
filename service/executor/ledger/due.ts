// Decides when jobs are due. `findDueJobs` finds the jobs that are due now, in an order that is
// fair to accounts. Other queries find jobs that were postponed too far, and the payment that has
// waited longest. A function that postpones a job does not write to the database. It only returns
// the update for the job.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, type Selectable, sql } from "kysely";
import { hourSeconds, midnightAfter } from "../../flow/days.ts";
import { inGroups, roundRobin } from "../../flow/groups.ts";
import { backoff } from "../../flow/wait.ts";
import { findRecords, type UnverifiedRecord } from "../../store/find-records.ts";
import { statementRows } from "../../store/statement-rows.ts";
import { accountIdPrefix, type Tables } from "../../store/tables.ts";
import { hasFailed } from "../tables.ts";
import type { Job, JobUpdate } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";
import { type JobReason, type Reason, reasonsWith } from "./reasons.ts";

/**
 * Finds jobs that are due and have no pending transaction. Alternates between accounts, so that one
 * account's many jobs do not delay other accounts. Within an account, failed jobs come last, and
 * jobs are otherwise sorted by due time. First reads the jobs that have been due longest. If
 * `limit` or more jobs are due, also reads jobs of up to 100 fast and 10 slow accounts. These
 * accounts would otherwise have to wait.
 *
 * @param slowness returns the simulation time of a slow account's calls, and 0 for any other
 *   account. At most a tenth of the `limit` jobs belong to slow accounts. Among slow accounts, the
 *   fastest comes first.
 */
export async function findDueJobs(
  db: Kysely<Tables>,
  chainId: number,
  nowSeconds: number,
  limit: number,
  slowness: Slowness = () => 0,
): Promise<Job[]> {
  const oldest = await readDue(db, { chainId, nowSeconds, limit });
  const more =
    oldest.length < limit ? [] : await readInTurn(db, { chainId, nowSeconds, limit }, slowness);
  const once = new Map([...oldest, ...more].map((row) => [toHex(row.address), row] as const));
  const sorted = [...once.values()].toSorted(byMerit);
  const turns = roundRobin(sorted, (row) => row.account_id, byDueTime);
  const bySlowness = turns.toSorted((a, b) => slowness(a.account_id) - slowness(b.account_id));
  const isSlow = (row: Row) => slowness(row.account_id) > 0;
  const slow = bySlowness.filter(isSlow).slice(0, Math.ceil(limit / 10));
  const quick = bySlowness.filter((row) => !isSlow(row)).slice(0, limit - slow.length);
  const due = [...quick, ...slow];
  return inGroups(due, statementRows.withTerms, (some) => withTerms(db, some));
}

/** The maximum number of fast accounts whose jobs `readInTurn` reads. */
const accountsMax = 100;

const slowAccountsMax = 10;

/**
 * The maximum number of accounts to list. With a low limit, the list could contain only slow
 * accounts. The limit can be high, because each account costs only one index seek.
 */
const walkMax = 1000;

/** Converts rows to jobs. Omits rows whose address has no record. */
export async function withTerms(db: Kysely<Tables>, rows: Row[]): Promise<Job[]> {
  const found = await findRecords(
    db,
    rows.map(({ address }) => toHex(address)),
  );
  const records = new Map(found.map((each) => [each.address, each]));
  return rows.flatMap((row) => {
    const record = records.get(toHex(row.address));
    return record ? [toJob(row, record)] : [];
  });
}

type Row = Selectable<Tables["executor_jobs"]>;

type Slowness = (accountId: string) => number;

type Due = { chainId: number; nowSeconds: number; limit: number };

/**
 * Reads due jobs. `of` selects one account's jobs. `failed` is 1 for jobs that have failed before,
 * and 0 for all other jobs. With `of`, the query uses the index `executor_jobs_turn`.
 */
async function readDue(
  db: Kysely<Tables>,
  { chainId, nowSeconds, limit }: Due,
  of?: { accountId: string; failed: 0 | 1 },
): Promise<Row[]> {
  const mine = of ? sql`and account_id = ${of.accountId} and ${hasFailed} = ${of.failed}` : sql``;
  const { rows } = await sql<Row>`select * from executor_jobs
    where chain_id = ${chainId} and due_at <= ${nowSeconds} and purpose_id is null ${mine}
    order by due_at, address limit ${limit}`.execute(db);
  return rows;
}

/**
 * Reads due jobs of several accounts. Each account has the same limit on the number of its jobs.
 * Every second, the list begins with a different account.
 */
async function readInTurn(db: Kysely<Tables>, due: Due, slowness: Slowness): Promise<Row[]> {
  const scattered = Math.imul(due.nowSeconds, 2_654_435_761) >>> 0;
  const start = `${accountIdPrefix}${scattered.toString(16).padStart(8, "0")}`;
  const behind = await accountsAfter(db, due.chainId, start);
  const before = behind.length < walkMax ? await accountsAfter(db, due.chainId, "") : [];
  const found = [...new Set([...behind, ...before])];
  const bySlowness = found.toSorted((a, b) => slowness(a) - slowness(b));
  const quick = bySlowness.filter((id) => slowness(id) === 0).slice(0, accountsMax);
  const slow = bySlowness.filter((id) => slowness(id) > 0).slice(0, slowAccountsMax);
  const accounts = [...quick, ...slow];
  const limit = Math.ceil(due.limit / accounts.length);
  const rows: Row[] = [];
  for (const accountId of accounts) {
    const mine = await readDue(db, { ...due, limit }, { accountId, failed: 0 });
    if (mine.length < limit) {
      const more = { ...due, limit: limit - mine.length };
      mine.push(...(await readDue(db, more, { accountId, failed: 1 })));
    }
    rows.push(...mine);
  }
  return rows;
}

/** Returns the account IDs above `after` that have waiting jobs, in ascending order. */
async function accountsAfter(db: Kysely<Tables>, chainId: number, after: string) {
  const next = (place: RawBuilder<unknown>) => sql`select min(account_id) from executor_jobs
    where chain_id = ${chainId} and purpose_id is null and due_at is not null
      and account_id > ${place}`;
  const { rows } = await sql<{ id: string }>`
    with recursive walk (id, n) as (
      select (${next(sql`${after}`)}), 1
      union all select (${next(sql`walk.id`)}), n + 1
      from walk where id is not null and n < ${walkMax}
    )
    select id from walk where id is not null order by n`.execute(db);
  return rows.map(({ id }) => id);
}

const byDueTime = (a: Row, b: Row) => a.due_at! - b.due_at!;

/** Sorts by due time, but puts failed jobs at the end. */
function byMerit(a: Row, b: Row): number {
  const failed = (row: Row) => (row.failures > 0 ? 1 : 0);
  return failed(a) - failed(b) || byDueTime(a, b) || Buffer.compare(a.address, b.address);
}

function toJob(row: Row, record: UnverifiedRecord): Job {
  return {
    address: record.address,
    terms: toHex(record.terms),
    accountId: record.accountId,
    isClientId: record.isClientId,
    reason: row.reason,
    detectedAtSeconds: row.detected_at,
    notBeforeSeconds: row.not_before,
    failures: row.failures,
    paidFailures: row.paid_failures,
    recoveryFailures: row.recovery_failures,
    recoveryDay: row.recovery_day,
    recoveries: row.recoveries,
  };
}

/** The due time and the address of a job. {@link pullLate} sorts jobs by these two fields. */
export type LatePlace = { dueAtSeconds: number; address: Hex };

const untilExpiry = new Set<string | null>(reasonsWith("untilExpiry"));

/**
 * Makes jobs due immediately, unless they wait for their intents to expire. Starts with the first
 * job after `place` (a due time and an address).
 *
 * @returns the number of changed jobs, and the next position, which is undefined at the end
 */
export async function pullLate(
  db: Kysely<Tables>,
  fence: Fence,
  place: LatePlace,
): Promise<{ count: number; next: LatePlace | undefined }> {
  const { chainId } = fence;
  const { rows } = await sql<{ address: Buffer; due_at: number; reason: string | null }>`
    select address, due_at, reason from executor_jobs
    where chain_id = ${chainId} and purpose_id is null
      and (due_at, address) > (${place.dueAtSeconds}, ${fromHex(place.address)})
    order by due_at, address limit ${statementRows.short}`.execute(db);
  const late = rows.filter(({ reason }) => !untilExpiry.has(reason));
  if (late.length > 0) {
    const addresses = late.map(({ address }) => address);
    await fenced(db, fence, (transaction) =>
      transaction
        .updateTable("executor_jobs")
        .set({ due_at: 0, not_before: 0 })
        .where("chain_id", "=", chainId)
        .where("address", "in", addresses)
        .execute(),
    );
  }
  const last = rows.length === statementRows.short ? rows.at(-1) : undefined;
  const next = last && { dueAtSeconds: Number(last.due_at), address: toHex(last.address) };
  return { count: late.length, next };
}

/**
 * Returns how many seconds the oldest payment has waited; 0 if no payment waits. Usually, the wait
 * begins when the payment's job becomes due. If the executor itself caused the delay (`isOwn` in
 * reasons.ts), the wait begins at detection. Jobs that were postponed for another reason, such as a
 * used-up budget, count only when due.
 */
export async function readWaitedSeconds(
  db: Kysely<Tables>,
  chainId: number,
  nowSeconds: number,
): Promise<number> {
  const untilSeconds = nowSeconds + obstacleWaitSecondsMax;
  const isWanting = sql`coalesce(reason, '') in (${sql.join(reasonsWith("isOwn"))})`;
  const { rows } = await sql<{ since: number | string | null }>`
    select min(nullif(case when due_at = 0 or ${isWanting} then detected_at else due_at end, 0))
      as since
    from executor_jobs
    where chain_id = ${chainId} and purpose_id is null and due_at <= ${untilSeconds}
      and (due_at <= ${nowSeconds} or ${isWanting})`.execute(db);
  const since = rows[0]?.since;
  return since == null ? 0 : Math.max(0, nowSeconds - Number(since));
}

/**
 * Postpones a job to a time. The job's failures and its backoff do not change.
 *
 * @param dueAtSeconds null if the job waits until more money is detected
 */
export function waitUntil(
  address: Hex,
  dueAtSeconds: number | null,
  reason: JobReason | null,
): JobUpdate {
  return { address, state: "waiting", dueAtSeconds, reason };
}

/**
 * The first backoff, before {@link waitForBackoff} shortens it. Also the minimum delay before a
 * retry if:
 * - the fee is too high
 * - no node returned an estimate
 * - the endpoints disagree on the nonce
 */
export const retrySecondsMin = 15;
/**
 * The longest backoff. A failing job is tried only a few times a day, because each attempt needs an
 * estimate.
 */
const longestSeconds = 21_600;

type Failed = Pick<Job, "address" | "failures">;

/**
 * Counts a failure of a job, and postpones the job until its backoff ends. The backoff doubles with
 * each failure, and is then shortened at random by up to a quarter. After a failed execution, the
 * backoff ends one second after expiration at the latest. The money can then be recovered.
 *
 * @param expirationSeconds the intent's expiration time; undefined if a recovery failed
 */
export function waitForBackoff(
  { address, failures: before }: Failed,
  { nowSeconds, random }: { nowSeconds: number; random: () => number },
  reason: JobReason,
  expirationSeconds = Number.POSITIVE_INFINITY,
): JobUpdate {
  const failures = before + 1;
  const full = backoff(failures, retrySecondsMin, longestSeconds);
  const retrySeconds = nowSeconds + Math.ceil(full * (0.75 + random() / 4));
  const latestSeconds = Math.max(nowSeconds, expirationSeconds + 1);
  const notBeforeSeconds = Math.min(retrySeconds, latestSeconds);
  return { ...waitUntil(address, notBeforeSeconds, reason), notBeforeSeconds, failures };
}

type Waiting = Pick<Job, "address" | "detectedAtSeconds">;

/** Postpones a job because the endpoints could not answer a request for it. */
export function waitForEndpoints(job: Waiting, nowSeconds: number, reason: Reason): JobUpdate {
  const waitSeconds = computeWaitSeconds(job, nowSeconds, retrySecondsMin);
  return waitUntil(job.address, nowSeconds + waitSeconds, reason);
}

/**
 * The minimum retry delay if a budget is used up, or if a zero-value transfer replaced the
 * transaction. Part of a budget may become free before midnight, because transactions can cost less
 * than reserved.
 */
const budgetSeconds = 60;

/**
 * Postpones a job because nobody pays for its transaction now. The job is retried at midnight at
 * the latest, because each day has a new budget.
 */
export function waitForBudget(job: Waiting, nowSeconds: number, reason: Reason): JobUpdate {
  const waitSeconds = computeWaitSeconds(job, nowSeconds, budgetSeconds);
  const dueAtSeconds = Math.min(nowSeconds + waitSeconds, midnightAfter(nowSeconds));
  return waitUntil(job.address, dueAtSeconds, reason);
}

/** The maximum retry delay after a problem that the job did not cause. */
const obstacleWaitSecondsMax = hourSeconds;

/**
 * Returns the retry delay in seconds after a problem that the job did not cause. The delay equals
 * the time that the money has waited, but is at least `secondsMin` and at most an hour.
 */
function computeWaitSeconds(
  { detectedAtSeconds }: Waiting,
  nowSeconds: number,
  secondsMin: number,
): number {
  const waitedSeconds = nowSeconds - detectedAtSeconds;
  return Math.min(Math.max(secondsMin, waitedSeconds), obstacleWaitSecondsMax);
}

/** Abandons a job. The job becomes due again if more money is detected. */
export function giveUp(address: Hex, reason: Reason): JobUpdate {
  return { address, state: "given_up", dueAtSeconds: null, reason };
}
