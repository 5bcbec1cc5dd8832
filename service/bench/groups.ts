// node bench/groups.ts measures the duration of statements that handle many rows
// (store/statement-rows.ts). While such a statement runs on SQLite, all other statements wait.
// Measures SQLite and PostgreSQL, with an account that has 200,000 rows of every kind. Prints the
// median time in milliseconds, and the time per row. A statement with few rows takes longer per
// row, because each statement has a fixed cost.

import { type Kysely, sql } from "kysely";
import type { Tables } from "../store/tables.ts";
import { openEmptyStore } from "../testing/empty-store.ts";
import { median } from "../testing/median.ts";
import { accounts, addressOf, fill } from "../testing/statements/account.ts";

const size = Number(process.env.SIZE ?? 200_000);
const rounds = Number(process.env.ROUNDS ?? 31);
const sizes = [10, 25, 50, 100, 250, 1_000];

/**
 * Runs one statement on `numbers.length` rows. Most statements read or write the rows that
 * `numbers` identifies. The search reads consecutive rows instead, starting after row `numbers[0]`.
 */
type Statement = (db: Kysely<Tables>, numbers: readonly number[]) => Promise<unknown>;

const statements: Readonly<Record<string, Statement>> = {
  "short: deletes events by ID": (db, numbers) =>
    db
      .deleteFrom("events")
      .where(
        "id",
        "in",
        numbers.map((number) => `evt_many${number}`),
      )
      .execute(),
  "costly: inserts deliveries": (db, numbers) =>
    db
      .insertInto("webhook_deliveries")
      .values(
        numbers.map((number) => ({
          ...{ id: `whd_new${number}`, endpoint_id: "whe_new", event_id: `evt_new${number}` },
          ...{ type: "address.funded", address: addressOf(number), sequence: 1, attempts: 0 },
          ...{ state: "waiting" as const, due_at: 1, created_at: 1 },
        })),
      )
      .execute(),
  "walked: searches records by number": (db, [first = 0, ...others]) =>
    sql`select seq from records where seq > ${first} and seq <= ${first + others.length + 1}
      and expires_at > 9000000000`.execute(db),
  "withTerms: reads terms by address": (db, numbers) =>
    db
      .selectFrom("records")
      .select(["address", "terms"])
      .where(
        "address",
        "in",
        numbers.map((number) => addressOf(number)),
      )
      .execute(),
};

for (const dialect of ["sqlite", "postgres"] as const) {
  const { store, stop } = await openEmptyStore(dialect, { fsync: "on" });
  try {
    await fill(store, size);
    console.log(`${dialect}, ${size} rows of ${accounts.many}`);
    for (const [name, run] of Object.entries(statements)) {
      // Each round uses new rows, because a row can be inserted or deleted only once.
      let next = 0;
      const tookMs = new Map(sizes.map((count): [number, number[]] => [count, []]));
      for (let round = 0; round <= rounds; round++) {
        for (const count of sizes) {
          const numbers = Array.from({ length: count }, (_, at) => ((next + at) * 97) % size);
          next += count;
          const startedAtMs = performance.now();
          await run(store.db, numbers);
          if (round > 0) tookMs.get(count)!.push(performance.now() - startedAtMs);
        }
      }
      const shown = [...tookMs].map(([count, all]) => {
        const ms = median(all);
        return `${count}: ${ms.toFixed(2)} ms (${((ms * 1_000) / count).toFixed(1)} µs each)`;
      });
      console.log(`  ${name.padEnd(36)} ${shown.join("  ")}`);
    }
  } finally {
    await stop();
  }
}
