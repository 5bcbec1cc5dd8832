// Stores reported tokens: unlisted tokens that an address received according to a report. Anyone
// can report a token, so rows are limited per address and per account. If a transaction shows that
// a token's contract moves nothing, the token is never tried again.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql, type Transaction } from "kysely";
import type { ReportedFate, TokenReport } from "../../chain/sent.ts";
import { dayOf } from "../../flow/days.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { findCreators } from "../../store/find-records.ts";
import type { Tables } from "../../store/tables.ts";
import { withTerms } from "./due.ts";
import { hintJobs, type Job } from "./jobs.ts";
import { type Fence, fenced } from "./lease.ts";

/** A reported token, and the address that received it. Both are lowercase. */
export type ReportedToken = { address: Hex; token: Hex };

/** The maximum number of waiting tokens per address. Anyone can use up this limit with reports. */
const waitingMax = 8;
/** The maximum number of reported tokens per account and day, on all chains together. */
export const reportedPerAccountDay = 100;

/** Saves new tokens, and wakes the address's job. Idempotent. */
export function reportTokens(db: Kysely<Tables>, report: TokenReport): Promise<ReportedFate[]> {
  const { chainId, block, notBefore } = report;
  const address = lowerAddress(report.address);
  return db.transaction().execute(async (transaction) => {
    const accountId = (await findCreators(transaction, [address])).get(address)?.accountId ?? "";
    const day = dayOf(block.timestamp);
    const known = await readRows(transaction, chainId, address);
    const isWaiting = ({ due_at }: ReportedRow) => due_at !== null;
    let waiting = new Set(known.filter(isWaiting).map(({ token }) => toHex(token))).size;
    let today = await countToday(transaction, accountId, day);
    const fates: ReportedFate[] = [];
    for (const token of report.tokens) {
      const fate = fateOf(known.filter((row) => toHex(row.token) === token.toLowerCase()));
      if (fate) fates.push(fate);
      else if (waiting >= waitingMax || today >= reportedPerAccountDay) fates.push("over_limit");
      else {
        const fresh = { account_id: accountId, day, due_at: notBefore, purpose_id: null };
        const key = { chain_id: chainId, address: fromHex(address), token: fromHex(token) };
        await transaction
          .insertInto("executor_named")
          .values({ ...key, ...fresh })
          .onConflict((conflict) =>
            conflict.columns(["chain_id", "address", "token"]).doUpdateSet(fresh),
          )
          .execute();
        waiting++;
        today++;
        fates.push("queued");
      }
    }
    if (!fates.includes("queued")) return fates;
    await hintJobs(transaction, chainId, [{ address, block, isEnough: false }]);
    return fates;
  });
}

/**
 * Reads the reported tokens of an address, with the state of each token's newest transaction.
 * Usually, the result has one row per token. If a token's contract calls the factory, the
 * transaction can have several outcomes. The result then has a row for each outcome.
 */
function readRows(transaction: Transaction<Tables>, chainId: number, address: Hex) {
  return transaction
    .selectFrom("executor_named as reported")
    .leftJoin("executor_purposes as purpose", "purpose.id", "reported.purpose_id")
    .leftJoin("executor_outcomes as outcome", "outcome.purpose_id", "reported.purpose_id")
    .select(["reported.token", "reported.due_at", "purpose.state", "outcome.kind"])
    .where("reported.chain_id", "=", chainId)
    .where("reported.address", "=", fromHex(address))
    .execute();
}

type ReportedRow = Awaited<ReturnType<typeof readRows>>[number];

/**
 * Returns whether a reported token is queued or has failed. Returns undefined if the token can be
 * reported again.
 * @param rows the rows of one token
 */
function fateOf(rows: readonly ReportedRow[]): ReportedFate | undefined {
  if (rows.some(({ due_at, state }) => due_at !== null || state === "pending")) return "queued";
  return rows.some(({ kind }) => kind !== null && kind !== "recovered") ? "failed" : undefined;
}

async function countToday(transaction: Transaction<Tables>, accountId: string, day: number) {
  const row = await transaction
    .selectFrom("executor_named")
    .select(({ fn }) => fn.countAll().as("n"))
    .where("account_id", "=", accountId)
    .where("day", "=", day)
    .executeTakeFirst();
  return Number(row?.n ?? 0);
}

/** A reported token that is due, with the job of its address. */
export type ReportedJob = ReportedToken & { job: Job };

/**
 * Finds due tokens, starting with the token that has been due longest. Skips an address if its job
 * is due, has a pending transaction, or was dropped. Also postpones the found tokens, so that they
 * are not retried immediately after a failure.
 *
 * @param againSeconds the new due time of the found tokens
 */
export function takeReported(
  db: Kysely<Tables>,
  fence: Fence,
  nowSeconds: number,
  againSeconds: number,
  limit: number,
): Promise<ReportedJob[]> {
  const { chainId } = fence;
  return fenced(db, fence, async (transaction) => {
    const rows = await transaction
      .selectFrom("executor_named as reported")
      .innerJoin("executor_jobs as job", (join) =>
        join
          .onRef("job.chain_id", "=", "reported.chain_id")
          .onRef("job.address", "=", "reported.address"),
      )
      .selectAll("job")
      .select("reported.token")
      .where("reported.chain_id", "=", chainId)
      .where("reported.due_at", "<=", nowSeconds)
      .where("job.purpose_id", "is", null)
      .where("job.state", "<>", "dropped")
      .where((row) => row.or([row("job.due_at", "is", null), row("job.due_at", ">", nowSeconds)]))
      .orderBy("reported.due_at")
      .limit(limit)
      .execute();
    // An address has at most one transaction at a time.
    const once = rows.filter(
      ({ address }, index) =>
        rows.findIndex((row) => toHex(row.address) === toHex(address)) === index,
    );
    const jobs = await withTerms(transaction, once);
    const taken: ReportedJob[] = [];
    for (const { address, token } of once) {
      const reported = { address: toHex(address), token: toHex(token) };
      await postpone(transaction, chainId, reported, againSeconds);
      const job = jobs.find((each) => each.address === reported.address);
      if (job) taken.push({ ...reported, job });
    }
    return taken;
  });
}

/**
 * Sets the time at which a token is due.
 *
 * @param dueAtSeconds null if the token waits until it is reported again
 */
export function postponeReported(
  db: Kysely<Tables>,
  fence: Fence,
  reported: ReportedToken,
  dueAtSeconds: number | null,
): Promise<void> {
  return fenced(db, fence, (transaction) =>
    postpone(transaction, fence.chainId, reported, dueAtSeconds),
  );
}

/**
 * Saves which purpose sends the token to `recovery`. The caller saves the purpose itself in the
 * same transaction.
 */
export async function noteSent(
  transaction: Transaction<Tables>,
  { chainId }: Pick<Fence, "chainId">,
  reported: ReportedToken,
  purposeId: string,
): Promise<void> {
  await update(transaction, chainId, reported, { due_at: null, purpose_id: purposeId });
}

const postpone = (
  transaction: Transaction<Tables>,
  chainId: number,
  reported: ReportedToken,
  dueAtSeconds: number | null,
) => update(transaction, chainId, reported, { due_at: dueAtSeconds });

async function update(
  transaction: Transaction<Tables>,
  chainId: number,
  { address, token }: ReportedToken,
  changes: { due_at: number | null; purpose_id?: string },
): Promise<void> {
  await transaction
    .updateTable("executor_named")
    .set(changes)
    .where("chain_id", "=", chainId)
    .where("address", "=", fromHex(address))
    .where("token", "=", fromHex(token))
    .execute();
}

/**
 * For each account ID, counts the returns of reported tokens since the block time `sinceSeconds`.
 */
export async function countReturns(
  db: Kysely<Tables>,
  chainId: number,
  sinceSeconds: number,
): Promise<Map<string, number>> {
  const rows = await db
    .selectFrom("executor_purposes as purpose")
    .innerJoin("executor_purpose_addresses as of", "of.purpose_id", "purpose.id")
    .select(["of.account_id", ({ fn }) => fn.countAll().as("n")])
    .where("purpose.chain_id", "=", chainId)
    .where("purpose.created_at", ">=", sinceSeconds)
    .where(sql<boolean>`purpose.kind = 'return'`)
    .groupBy("of.account_id")
    .execute();
  return new Map(rows.map(({ account_id, n }) => [account_id, Number(n)]));
}
