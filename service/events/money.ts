// Computes an account's requested, paid, executed, and returned amounts by day and token. Paid,
// executed, and returned amounts are added in the transaction that saves an address's new status.
// Requested amounts are added when the dashboard reads the sums. A create request therefore writes
// no additional row. The median times from creation to payment, and from payment to execution, come
// from the account's events.

import { type AddressStatus, isSame } from "executable-address/status";
import { type Kysely, sql, type Transaction } from "kysely";
import { dayOf } from "../flow/days.ts";
import { upperMedian } from "../flow/numbers.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";
import { type Cursor, listAddresses } from "./list-addresses.ts";

/** The totals of one address, as decimal text in base units of its token. */
export type Moved = { paid: string; executed: string; returned: string };
export const nothingMoved: Moved = { paid: "0", executed: "0", returned: "0" };

/**
 * Computes the totals of one address. The executed amount is the amount that the calls used. The
 * paid amount is the sum of the balance, the executed amount, and the returned amount.
 */
export function movedOf({ token, balance, execution, recoveries }: AddressStatus): Moved {
  const isOfToken = (each: { token: string }) => isSame(each.token, token);
  const returned = sumOf(recoveries.filter(isOfToken));
  const executed = execution ? BigInt(execution.held) - BigInt(execution.left) : 0n;
  return {
    paid: `${BigInt(balance) + executed + returned}`,
    executed: `${executed}`,
    returned: `${returned}`,
  };
}

export const sumOf = (amounts: readonly { amount: string }[]): bigint =>
  amounts.reduce((sum, { amount }) => sum + BigInt(amount), 0n);

/**
 * The fields of a daily sum. The amounts are in base units, and the counts are numbers of
 * addresses.
 */
const amounts = ["requested", "paid", "executed", "returned"] as const;
const counts = ["requestedCount", "paidCount", "executedCount", "returnedCount"] as const;
type Amount = (typeof amounts)[number];
type Count = (typeof counts)[number];

/**
 * The daily sums of one account, chain, and token, or a change of these sums. `token` has 20 bytes.
 */
type Sum = Record<Amount | Count, bigint> & {
  accountId: string;
  day: number;
  chainId: number;
  token: Buffer;
};

const none = {
  ...{ requested: 0n, paid: 0n, executed: 0n, returned: 0n },
  ...{ requestedCount: 0n, paidCount: 0n, executedCount: 0n, returnedCount: 0n },
};

/**
 * Compares an address's new status with its previous totals. Returns the change of the daily sums.
 * Returns undefined if no amount has changed.
 */
export function movedSum(accountId: string, before: Moved, status: AddressStatus): Sum | undefined {
  const now = movedOf(status);
  const day = dayOf(status.block.timestamp);
  const token = Buffer.from(status.token.slice(2), "hex");
  const sum = { ...none, accountId, day, chainId: status.chainId, token };
  for (const name of ["paid", "executed", "returned"] as const) {
    sum[name] = BigInt(now[name]) - BigInt(before[name]);
    sum[`${name}Count`] = BigInt(now[name] !== "0") - BigInt(before[name] !== "0");
  }
  const isMoved = sum.paid !== 0n || sum.executed !== 0n || sum.returned !== 0n;
  return isMoved ? sum : undefined;
}

const keyOf = ({ accountId, day, chainId, token }: Sum) =>
  [
    accountId,
    `${day}`.padStart(8, "0"),
    `${chainId}`.padStart(16, "0"),
    token.toString("hex"),
  ].join();

/**
 * Adds `sums` to the stored sums. The sums are written in a fixed order, so that two servers cannot
 * deadlock.
 */
export async function addSums(db: Transaction<Tables>, sums: readonly Sum[]): Promise<void> {
  const byKey = new Map<string, Sum>();
  for (const sum of sums) {
    const held = byKey.get(keyOf(sum)) ?? { ...sum, ...none };
    for (const name of [...amounts, ...counts]) held[name] += sum[name];
    byKey.set(keyOf(sum), held);
  }
  for (const [, sum] of [...byKey].sort(([a], [b]) => (a < b ? -1 : 1))) await addSum(db, sum);
}

async function addSum(db: Transaction<Tables>, sum: Sum): Promise<void> {
  const { accountId: account_id, day, chainId: chain_id, token } = sum;
  const zero = {
    ...{ requested: "0", paid: "0", executed: "0", returned: "0" },
    ...{ requested_count: 0, paid_count: 0, executed_count: 0, returned_count: 0 },
  };
  // If the row already exists, changes no value, but locks the row until the transaction ends.
  const held = await db
    .insertInto("money_days")
    .values({ account_id, day, chain_id, token, ...zero })
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "day", "chain_id", "token"])
        .doUpdateSet((eb) => ({ requested: eb.ref("money_days.requested") })),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
  const next: Partial<typeof zero> = {};
  for (const name of amounts) {
    next[name] = `${BigInt(held[name]) + sum[name]}`;
    next[`${name}_count`] = Number(BigInt(held[`${name}_count`]) + sum[`${name}Count`]);
  }
  await db
    .updateTable("money_days")
    .set(next)
    .where("account_id", "=", account_id)
    .where("day", "=", day)
    .where("chain_id", "=", chain_id)
    .where("token", "=", token)
    .execute();
}

/**
 * The maximum number of steps per call of {@link countRequested}. A step reads at most
 * `statementRows.short` addresses.
 */
const stepsMax = 80;

/**
 * Adds the requested amounts of addresses that are not in the sums yet, in at most {@link stepsMax}
 * steps. Skips addresses that are younger than `settleMs`.
 *
 * @returns true if there may be more addresses
 */
export async function countRequested(
  db: Kysely<Tables>,
  accountId: string,
  nowMs: number,
): Promise<boolean> {
  for (let step = 0; step < stepsMax; step++) {
    const counted = await db.transaction().execute(async (transaction) => {
      const cursor = await lockPlace(transaction, accountId);
      const order = "oldest";
      const query = { accountId, nowMs, order, cursor, limit: statementRows.short } as const;
      const { items } = await listAddresses(transaction, query);
      const last = items.at(-1);
      if (!last) return 0;
      const sums = items.map(({ createdAtMs, chainId, token, requestedAmount }): Sum => {
        const day = dayOf(createdAtMs / 1000);
        const requested = BigInt(requestedAmount);
        return { ...none, accountId, day, chainId, token, requestedCount: 1n, requested };
      });
      await addSums(transaction, sums);
      await transaction
        .updateTable("money_places")
        .set({ created_at: last.createdAtMs, address: last.address })
        .where("account_id", "=", accountId)
        .execute();
      return items.length;
    });
    if (counted < statementRows.short) return false;
  }
  return true;
}

/**
 * Returns the position of the newest address whose requested amount is part of the daily sums.
 * Locks the row that stores this position.
 */
async function lockPlace(db: Transaction<Tables>, accountId: string): Promise<Cursor> {
  const place = await db
    .insertInto("money_places")
    .values({ account_id: accountId, created_at: 0, address: Buffer.alloc(0) })
    .onConflict((conflict) =>
      conflict
        .column("account_id")
        .doUpdateSet((eb) => ({ created_at: eb.ref("money_places.created_at") })),
    )
    .returning(["created_at", "address"])
    .executeTakeFirstOrThrow();
  return { atMs: Number(place.created_at), address: Buffer.from(place.address) };
}

type MoneyDay = {
  /** The number of days since 1970-01-01, UTC. */
  day: number;
  chainId: number;
  /** 20 bytes. */
  token: Buffer;
} & Record<Count, number> &
  Record<Amount, string>;

/** Returns the stored sums of each day, starting with `fromDay`. */
export async function listMoney(
  db: Kysely<Tables>,
  accountId: string,
  fromDay: number,
): Promise<MoneyDay[]> {
  const found: MoneyDay[] = [];
  for (let rows: number = statementRows.short; rows === statementRows.short; ) {
    const last = found.at(-1) ?? { day: fromDay, chainId: -1, token: Buffer.alloc(0) };
    const step = await readDays(db, accountId, last);
    rows = step.length;
    found.push(...step);
  }
  return found;
}

type DayPlace = Pick<MoneyDay, "day" | "chainId" | "token">;

async function readDays(db: Kysely<Tables>, accountId: string, after: DayPlace) {
  const rows = await db
    .selectFrom("money_days")
    .selectAll()
    .where("account_id", "=", accountId)
    .where(sql`(day, chain_id, token)`, ">", sql`(${after.day}, ${after.chainId}, ${after.token})`)
    .orderBy("day")
    .orderBy("chain_id")
    .orderBy(sql`token`)
    .limit(statementRows.short)
    .execute();
  return rows.map(
    ({ day, chain_id, token, requested, paid, executed, returned, ...row }): MoneyDay => ({
      ...{ day: Number(day), chainId: Number(chain_id), token: Buffer.from(token) },
      ...{ requested, paid, executed, returned },
      requestedCount: Number(row.requested_count),
      paidCount: Number(row.paid_count),
      executedCount: Number(row.executed_count),
      returnedCount: Number(row.returned_count),
    }),
  );
}

/** The median times are computed from this number of newest events, of all types. */
const pacedEvents = 1_000;

/**
 * Returns the median times from creation to payment and from payment to execution, in milliseconds.
 * A median is null if the newest {@link pacedEvents} events contain no such payment or execution.
 */
export async function readPace(db: Kysely<Tables>, accountId: string) {
  // Limits the number of rows, instead of the range of positions. For a range, PostgreSQL would
  // expect many rows, and would choose a slow join.
  const page = db
    .selectFrom("events")
    .select(["account_id", "address", "type", "created_at as at", "position"])
    .where("account_id", "=", accountId)
    .orderBy("position", "desc")
    .limit(pacedEvents)
    .as("page");
  const rows = await db
    .selectFrom(page)
    .innerJoin("watches as w", (join) =>
      join.onRef("w.account_id", "=", "page.account_id").onRef("w.address", "=", "page.address"),
    )
    .select(["type", "page.address", "at", "position", "w.created_at as created"])
    .where("type", "in", ["address.funded", "address.executed"])
    .execute();
  rows.sort((a, b) => Number(a.position) - Number(b.position));
  const paidAtMs = new Map<string, number>();
  const waits = { paid: [] as number[], executed: [] as number[] };
  for (const row of rows) {
    const [address, at] = [Buffer.from(row.address).toString("hex"), Number(row.at)];
    const paid = paidAtMs.get(address);
    if (row.type === "address.funded" && paid === undefined) {
      paidAtMs.set(address, at);
      waits.paid.push(at - Number(row.created));
    }
    if (row.type === "address.executed" && paid !== undefined) waits.executed.push(at - paid);
  }
  return {
    toPaidMs: upperMedian(waits.paid) ?? null,
    toExecutedMs: upperMedian(waits.executed) ?? null,
  };
}
