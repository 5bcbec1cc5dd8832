// The addresses that have received money, and when each is due again. The cost of a pass grows with
// their number, never with how many addresses were created.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, type RawBuilder, type Selectable, sql, type Transaction } from "kysely";
import { markWatches } from "../../events/mark.ts";
import { groupsOf, inGroups, roundRobin, statementRows } from "../../flow/groups.ts";
import type { Touched } from "../../follow/parts.ts";
import { findCreators, findHeld, type Held } from "../../store/held.ts";
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

/** Accounts that take turns, where more jobs are due than are asked for. */
const accountsMax = 100;
const slowAccountsMax = 10;
/** Accounts looked for, so that slow ones do not hide the others: a seek of an index for each. */
const walkMax = 1000;

/**
 * Jobs that are due and have nothing in flight. Accounts take turns, so that one account's many
 * jobs do not delay another's. Within an account those that never failed come first, then those
 * that waited longest. Where more than `limit` are due, 100 accounts are asked at a time.
 * @param slowness of an account; those above 0 share a tenth of `limit`, the least slow first
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

async function withTerms(db: Kysely<Tables>, rows: Row[]): Promise<Job[]> {
  const found = await findHeld(
    db,
    rows.map(({ address }) => toHex(address)),
  );
  const held = new Map(found.map((each) => [each.address, each]));
  return rows.flatMap((row) => {
    const record = held.get(toHex(row.address));
    return record ? [toJob(row, record)] : [];
  });
}

type Row = Selectable<Tables["executor_jobs"]>;
type Slowness = (accountId: string) => number;
type Due = { chainId: number; nowSeconds: number; limit: number };

const hasFailed = sql`case when failures > 0 then 1 else 0 end`;

/** With `of`: one account's, that failed before or that did not, by index `executor_jobs_turn`. */
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

/** Reads as many of each account; with each second another account comes first. */
async function readInTurn(db: Kysely<Tables>, due: Due, slowness: Slowness): Promise<Row[]> {
  const scattered = Math.imul(due.nowSeconds, 2_654_435_761) >>> 0;
  const start = `acc_${scattered.toString(16).padStart(8, "0")}`;
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

/** Accounts with waiting jobs, in order of their ids, behind `after`. */
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

/** Within an account those that never failed first, then those that waited longest. */
function byMerit(a: Row, b: Row): number {
  const failed = (row: Row) => (row.failures > 0 ? 1 : 0);
  return failed(a) - failed(b) || byDueTime(a, b) || Buffer.compare(a.address, b.address);
}

function toJob(row: Row, record: Held): Job {
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
  wanted: Pick<Row, "state" | "due_at" | "reason">,
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
