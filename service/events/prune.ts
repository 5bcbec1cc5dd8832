// Deletes old rows, such as events, in small steps, so that no other statement waits long.

import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

/** Rows that one statement deletes, since other statements wait for it. */
const stepRows = 100;
/** Rows that one call deletes. */
const rowsMax = 10_000;

/**
 * Deletes rows that were created before `beforeMs`, the oldest first, at most 10,000.
 *
 * @param removeWith deletes what goes with the rows of these ids, before them
 * @returns how many rows are gone
 */
export async function prune(
  db: Kysely<Tables>,
  table: "events" | "webhook_deliveries",
  beforeMs: number,
  removeWith: (ids: string[]) => Promise<unknown> = async () => {},
): Promise<number> {
  for (let gone = 0; ; ) {
    const old = await db
      .selectFrom(table)
      .select("id")
      .where("created_at", "<", beforeMs)
      .orderBy("created_at")
      .limit(stepRows)
      .execute();
    const ids = old.map(({ id }) => id);
    if (ids.length > 0) {
      await removeWith(ids);
      await db.deleteFrom(table).where("id", "in", ids).execute();
    }
    gone += ids.length;
    if (ids.length < stepRows || gone >= rowsMax) return gone;
  }
}
