// Creates the tables that this version needs. Several servers can create the tables simultaneously.
//
// Each folder declares its tables in its tables.ts. Do not edit the statements in a tables.ts,
// because existing databases were created with them. To change a table, add a migration. The
// service refuses to start on a database that was created with different statements.

import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { saveFunctions } from "./save-functions.ts";
import { type Dialect, statements, type TableStatement, type Tables } from "./tables.ts";

/** The statements that create the tables of each folder, in order. */
export type Rooms = Record<string, { statements(dialect: Dialect): TableStatement[] }>;

/**
 * Runs each migration that has not run yet, in its own transaction. Creates the store's own tables
 * before the tables of `rooms`. Each transaction first inserts the migration's name. If two servers
 * start simultaneously, the second server's insert waits for the first server's commit. The second
 * server then skips the migration.
 *
 * @throws if the database has a migration that this version does not know, or stays locked
 */
export async function migrate(
  db: Kysely<Tables>,
  dialect: Dialect,
  rooms: Rooms,
  triesMax = lockTriesMax,
): Promise<void> {
  await createMigrationsTable(db);
  const all = { records: { statements }, ...rooms, "save-records": { statements: saveFunctions } };
  const migrations = Object.entries(all).map(([room, made]) => ({
    name: `${room}-${digestStatements(db, made.statements)}`,
    statements: made.statements(dialect),
  }));
  const known = new Set(migrations.map(({ name }) => name));
  const applied = await db.selectFrom("migrations").select("name").execute();
  const unknown = applied.map(({ name }) => name).filter((name) => !known.has(name));
  if (unknown.length > 0) {
    throw new Error(
      `the database has migrations that this version does not know (${unknown.join(", ")}): ` +
        "run the version that added them, or restore the backup from before the upgrade",
    );
  }
  for (const migration of migrations) {
    for (let tries = 1; !(await apply(db, dialect, migration)); tries++) {
      if (tries === triesMax) {
        throw new Error(
          `the migration ${migration.name} found its tables locked ${tries} times: ` +
            "end the long transactions that use these tables, and start again",
        );
      }
      await sleep(pauseMs);
    }
  }
}

/**
 * How long a migration waits for a table's lock before it pauses and tries again. All later
 * statements on this table wait for the migration. This time must be shorter than the `lockMsMax`
 * of postgres.ts. Otherwise, the statements of a running service would fail.
 */
const migrationLockMsMax = 1_000;
const pauseMs = 2_000;
const lockTriesMax = 100;

type Migration = { name: string; statements: TableStatement[] };

/**
 * Runs a migration if it has not run yet.
 *
 * @returns false if the migration waited too long for a lock
 */
async function apply(db: Kysely<Tables>, dialect: Dialect, { name, statements }: Migration) {
  const limitLockWait = (db: Kysely<Tables>, ms: number) =>
    dialect === "postgres" ? sql`set local lock_timeout = ${sql.lit(ms)}`.execute(db) : undefined;
  try {
    await db.transaction().execute(async (transaction) => {
      // The insert into `migrations` waits without a limit, because another server may run this
      // migration for an hour.
      await limitLockWait(transaction, 0);
      const inserted = await transaction
        .insertInto("migrations")
        .values({ name, applied_at: Date.now() })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      if (!inserted.numInsertedOrUpdatedRows) return;
      await limitLockWait(transaction, migrationLockMsMax);
      for (const statement of statements) await statement.execute(transaction);
    });
    return true;
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    if (cause?.code === lockNotAvailable) return false;
    throw error;
  }
}

/** PostgreSQL's error code (SQLSTATE) for a statement that waited too long for a lock. */
export const lockNotAvailable = "55P03";

/**
 * Returns a digest of a migration's statements in both dialects. The digest is part of the
 * migration's name, so edited statements change the name.
 */
function digestStatements(
  db: Kysely<Tables>,
  statements: (dialect: Dialect) => TableStatement[],
): string {
  const all = [...statements("sqlite"), ...statements("postgres")];
  const text = all.map((statement) => statement.compile(db).sql).join("\n");
  return hash("sha256", text.replace(/\s+/g, " ")).slice(0, 8);
}

async function createMigrationsTable(db: Kysely<Tables>): Promise<void> {
  const create = sql`create table if not exists migrations
    (name text primary key not null, applied_at bigint not null)`;
  // If two servers create the table `migrations` simultaneously, PostgreSQL can reject one of the
  // two statements. A second attempt then succeeds.
  await create.execute(db).catch(() => create.execute(db));
}
