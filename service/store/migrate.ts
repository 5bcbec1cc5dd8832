// Brings a database to the tables this version needs, whoever else starts at the same moment.

import { type Kysely, sql } from "kysely";
import * as records from "./migrations/001-records.ts";
import * as accounts from "./migrations/002-accounts.ts";
import * as executor from "./migrations/003-executor.ts";
import * as looks from "./migrations/004-looks.ts";
import * as bounds from "./migrations/005-bounds.ts";
import * as budgets from "./migrations/010-budgets.ts";
import * as jobCreators from "./migrations/011-job-creators.ts";
import * as accountSpending from "./migrations/012-account-spending.ts";
import * as references from "./migrations/020-references.ts";
import * as events from "./migrations/021-events.ts";
import * as webhooks from "./migrations/022-webhooks.ts";
import * as money from "./migrations/040-money.ts";
import * as accountNames from "./migrations/041-account-names.ts";
import * as eventTimes from "./migrations/050-event-times.ts";
import * as boundedReads from "./migrations/060-bounded-reads.ts";
import * as purposesByState from "./migrations/061-purposes-by-state.ts";
import * as watchesByBlock from "./migrations/062-watches-by-block.ts";
import type { Dialect, Tables } from "./tables.ts";

type Migration = {
  // biome-ignore lint/suspicious/noExplicitAny: each migration knows its own tables alone
  up(db: Kysely<any>, dialect: Dialect): Promise<void>;
};

/** In order. A file that has run anywhere never changes again: a new one mends it. */
const migrations: [name: string, migration: Migration][] = [
  ["001-records", records],
  ["002-accounts", accounts],
  ["003-executor", executor],
  ["004-looks", looks],
  ["005-bounds", bounds],
  ["010-budgets", budgets],
  ["011-job-creators", jobCreators],
  ["012-account-spending", accountSpending],
  ["020-references", references],
  ["021-events", events],
  ["022-webhooks", webhooks],
  ["040-money", money],
  ["041-account-names", accountNames],
  ["050-event-times", eventTimes],
  ["060-bounded-reads", boundedReads],
  ["061-purposes-by-state", purposesByState],
  ["062-watches-by-block", watchesByBlock],
];

/**
 * Runs each migration that has not run, each in a transaction of its own. Inserting its name is
 * the lock: a second server waits there until the first has committed, then finds it done.
 * @throws when a later version of the service has been here
 */
export async function migrate(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  await createMigrationsTable(db);
  for (const [name, migration] of migrations) {
    await db.transaction().execute(async (transaction) => {
      const inserted = await transaction
        .insertInto("migrations")
        .values({ name, applied_at: Date.now() })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (inserted.numInsertedOrUpdatedRows) await migration.up(transaction, dialect);
    });
  }
  const known = new Set(migrations.map(([name]) => name));
  const applied = await db.selectFrom("migrations").select("name").execute();
  const unknown = applied.find((row) => !known.has(row.name));
  if (unknown) throw new Error(`the database was migrated by a newer version: ${unknown.name}`);
}

async function createMigrationsTable(db: Kysely<Tables>): Promise<void> {
  const create = sql`create table if not exists migrations
    (name text primary key not null, applied_at bigint not null)`;
  // PostgreSQL may fail the slower of two that create at once; the second time it is there.
  await create.execute(db).catch(() => create.execute(db));
}
