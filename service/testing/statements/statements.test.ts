// Tests every SQL statement of the running service on a database with a very large account. Each
// statement must use an index, read few rows, and not delay other work. `npm test` fills the
// database with few rows. `npm run test:long` uses a million rows, and prints the duration of each
// operation.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { CompiledQuery } from "kysely";
import { isLong, onlyLong } from "../../../scripts/long.ts";
import { openStore } from "../../roles/open-store.ts";
import type { Store } from "../../store/store.ts";
import { startPostgres, type TestPostgres } from "../postgres.ts";
import { fill, findNumbers } from "./account.ts";
import { startCoverage } from "./coverage.ts";
import type { Turns } from "./measure-turns.ts";
import { longestSearch } from "./operations/lists.ts";
import type { Operations } from "./operations/world.ts";
import { openOperations } from "./operations.ts";
import { plansOf, rowsReadBy } from "./plans.ts";
import { turnMsMax, turnsOf } from "./turns.ts";
import { type Seen, watchStatements } from "./watch.ts";

/**
 * The number of rows. Only the long tests measure durations, because durations are unreliable on a
 * busy machine.
 */
const sizes = isLong
  ? { sqlite: 1_000_000, postgres: 1_000_000 }
  : { sqlite: 5_000, postgres: 5_000 };
/**
 * The number of rows in the small database. On SQLite, a statement must not take much longer in the
 * large database.
 */
const smallSize = 1_000;
/** The maximum number of rows that one statement reads. */
const rowsMax = 3_000;
/**
 * The clock for processor time advances in steps (on Linux, 4 ms). So the measured time of a turn
 * can be one step too long.
 */
const clockStepMs = 4;

const seen = watchStatements();

for (const dialect of ["sqlite", "postgres"] as const) {
  const size = sizes[dialect];
  describe(`SQL statements on ${dialect} for an account with ${size} rows`, () => {
    let directory: string;
    let postgres: TestPostgres | undefined;
    let store: Store;
    let operations: Operations;
    let statements: Seen[];

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "statements-"));
      postgres = dialect === "postgres" ? await startPostgres() : undefined;
      store = await openStore({ dataDirectory: directory, databaseUrl: postgres?.url });
      await fill(store, size);
      seen.clear();
      operations = await openOperations(store, size);
    });
    after(async () => {
      await store?.close();
      await postgres?.stop();
      rmSync(directory, { recursive: true });
    });

    test("are all covered by these tests", async () => {
      const coverage = await startCoverage();
      for (const run of Object.values(operations)) await run();
      statements = [...seen.values()].filter(({ text }) => isOfRows.test(text));
      assert.ok(statements.length > 120, `${statements.length} statements`);
      assert.deepEqual(await coverage.sqlNotRun(), []);
    });

    test("use an index", async () => {
      for (const { text, values } of statements) {
        const plan = await plansOf(store, text, values);
        assert.deepEqual(plan.readsAll, [], `${text}\n${plan.text}`);
      }
    });

    if (dialect === "sqlite")
      test("are not much slower than with 1,000 rows", onlyLong, async () => {
        const small = await openStore({ dataDirectory: join(directory, "small") });
        const compared = statements.filter(({ text }) => readsOnly.test(text));
        // The recorded statements contain addresses of the large database. So the small database
        // also gets the rows of these addresses.
        const also = new Set(compared.flatMap(({ values }) => findNumbers(values)));
        const further = [...also].filter((number) => number >= smallSize && number < size);
        await fill(small, smallSize, { span: size, also: further });
        const isLonger = async (text: string, values: unknown[]) => {
          // A search may read no rows in the small database, but a window of rows in the large one.
          // The time limit is therefore higher than the time in the small database.
          const enough = 4 * (await leastMs(small, text, values)) + 3;
          return (await leastMs(store, text, values, enough)) > enough;
        };
        for (const { text, values } of compared) {
          assert.equal(await isLonger(text, values), false, text);
        }
        const all = "select sum(length(terms)) from records where account_id = 'acc_many'";
        assert.ok(await isLonger(all, []), "the control");
        await small.close();
      });

    test(`read at most ${rowsMax} rows each`, { skip: dialect === "sqlite" }, async () => {
      const tooMany: string[] = [];
      for (const { text, values } of statements.filter(({ text }) => !putsIn.test(text))) {
        const rows = await rowsReadBy(store, text, values, isLong);
        if (rows > rowsMax) tooMany.push(`${rows} rows: ${text}`);
      }
      assert.deepEqual(tooMany, []);
    });

    test("control: a statement that reads all rows of an account is detected", async () => {
      const text = "select sum(created_at) from records where account_id = 'acc_many'";
      if (dialect === "postgres") assert.ok((await rowsReadBy(store, text, [])) >= size);
      else assert.notDeepEqual((await plansOf(store, text, [])).readsAll, []);
      const whole = "select count(*) from records where terms = address";
      assert.notDeepEqual((await plansOf(store, whole, [])).readsAll, []);
    });

    test(
      "the longest search uses less than 30 % of its time in one turn of the event loop",
      onlyLong,
      async () => {
        const parts: number[] = [];
        for (let round = 0; round < 5; round++) {
          const { longest, all } = await turnsOf(operations[longestSearch]!);
          parts.push(longest / all);
        }
        // Uses the shortest round, because other work on the machine can only make rounds longer.
        assert.ok(Math.min(...parts) < 0.3, `${parts} of the search's time`);
      },
    );

    test(`block the request thread for at most ${turnMsMax} ms at a time`, {
      ...onlyLong,
    }, async () => {
      const args = [String(size), directory].concat(postgres?.url ?? []);
      const child = fork(join(import.meta.dirname, "measure-turns.ts"), args);
      const turns = await new Promise<Turns>((resolve, reject) => {
        child.once("message", resolve as (message: unknown) => void);
        child.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
      });
      console.table(turns);
      // Uses the shortest round, because other work on the machine can only make rounds longer.
      const long = Object.entries(turns).filter(([, { least }]) => least > turnMsMax + clockStepMs);
      assert.deepEqual(long, []);
    });
  });
}

const readsOnly = /^\s*(select|with)\b/i;
/** Matches a statement that only inserts values, without reading rows. */
const putsIn = /^\s*insert into \S+ \([^)]*\) values/i;
const isOfRows = /^\s*(select|with|update|delete|insert)\b/i;

/** Returns the shortest duration of several runs, because other work can only make runs longer. */
async function leastMs({ db }: Store, text: string, values: unknown[], enough = 0) {
  let least = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 15 && least > enough; run++) {
    const began = performance.now();
    await db.executeQuery(CompiledQuery.raw(text, [...values]));
    least = Math.min(least, performance.now() - began);
  }
  return least;
}
