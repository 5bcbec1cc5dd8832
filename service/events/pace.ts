// How soon an account's addresses are paid, and how soon after that executed.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

/** So many of the newest events are looked through, whatever their types. */
const pacedEvents = 1_000;

/**
 * Medians, in milliseconds: from creation to payment, and from there to execution;
 * null where none of the newest 1,000 events tells.
 */
export async function readPace(db: Kysely<Tables>, accountId: string) {
  // A limit tells PostgreSQL's planner how few rows are joined; a bound of positions does not.
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
  const paidAt = new Map<string, number>();
  const waits = { paid: [] as number[], executed: [] as number[] };
  for (const row of rows) {
    const [address, at] = [Buffer.from(row.address).toString("hex"), Number(row.at)];
    const paid = paidAt.get(address);
    if (row.type === "address.funded" && paid === undefined) {
      paidAt.set(address, at);
      waits.paid.push(at - Number(row.created));
    }
    if (row.type === "address.executed" && paid !== undefined) waits.executed.push(at - paid);
  }
  return { toPaidMs: median(waits.paid), toExecutedMs: median(waits.executed) };
}

const median = (all: readonly number[]) => all.toSorted((a, b) => a - b)[all.length >> 1] ?? null;
