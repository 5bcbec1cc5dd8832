// Copies a server's SQLite file to an empty PostgreSQL database, which several servers can share.
// Before and after the copy, verifies that each record's address is the one derived from its terms.
// All tables are copied in one transaction.

import type Database from "better-sqlite3";
import { type Kysely, sql } from "kysely";
import { connect } from "./sqlite/connect.ts";
import { type Store, termsByAddress } from "./store.ts";

/** PostgreSQL accepts up to 65,535 parameters per statement. */
const parametersMax = 30_000;

const batchSize = 1000;

/**
 * `rows` contains the number of copied rows for each table. `recordsProved` is the number of
 * records that were verified after the copy.
 */
export type Copied = { rows: Record<string, number>; recordsProved: number };

/**
 * @param file the path of a SQLite database that no server uses
 * @param target an empty PostgreSQL database
 * @param prove throws an error if `address` (20 bytes) is not the one derived from `terms`
 * @throws if the databases are from different versions of the service, `target` has data, or a
 *   record does not match its address
 */
export async function copyToPostgres(
  file: string,
  target: Store,
  prove: (address: Buffer, terms: Uint8Array) => void,
): Promise<Copied> {
  if (target.dialect !== "postgres")
    throw new Error(
      `DATABASE_URL is not set to the PostgreSQL database, found the dialect ${target.dialect}`,
    );
  const source = connect(file);
  source.defaultSafeIntegers();
  try {
    await requireSameVersion(source, target);
    const terms = source.prepare<[Uint8Array], Buffer>(termsByAddress.sqlite).pluck();
    await eachAddress(source, async (address) => prove(address, terms.get(address)!));
    const rows: Record<string, number> = {};
    // biome-ignore lint/suspicious/noExplicitAny: the tables are known only at run time
    const db = target.db as unknown as Kysely<any>;
    await db.transaction().execute(async (transaction) => {
      for (const table of tablesOf(source)) {
        rows[table] = await copyTable(source, transaction, table);
      }
    });
    const recordsProved = await eachAddress(source, async (address) =>
      prove(address, (await target.findTerms(address)) ?? Buffer.alloc(0)),
    );
    return { rows, recordsProved };
  } finally {
    source.close();
  }
}

async function requireSameVersion(source: Database.Database, { db }: Store): Promise<void> {
  const names = (rows: { name: string }[]) => rows.map(({ name }) => name).join(", ");
  const old = source.prepare<[], { name: string }>("select name from migrations order by name");
  const own = await db.selectFrom("migrations").select("name").orderBy("name").execute();
  const [found, wanted] = [names(old.all()), names(own)];
  if (found === wanted) return;
  throw new Error(
    "the SQLite file was written by a different version: start this version once with that file, " +
      "and stop it; " +
      `expected ${wanted}, found ${found || "no tables"}`,
  );
}

/**
 * Returns the tables to copy. A table comes after the tables to which its foreign keys refer. The
 * table `migrations` is omitted, because the target has already recorded its own migrations.
 */
function tablesOf(source: Database.Database): string[] {
  const left = source
    .prepare<[], string>(
      `select name from sqlite_master where type = 'table' and name not like 'sqlite_%'
         and name <> 'migrations' order by name`,
    )
    .pluck()
    .all();
  const parents = source
    .prepare<[string], string>(`select "table" from pragma_foreign_key_list(?)`)
    .pluck();
  const ordered: string[] = [];
  const visit = (table: string) => {
    if (ordered.includes(table)) return;
    for (const parent of parents.all(table)) if (parent !== table) visit(parent);
    ordered.push(table);
  };
  for (const table of left) visit(table);
  return ordered;
}

type CopiedRow = Record<string, unknown>;

// biome-ignore lint/suspicious/noExplicitAny: the tables are known only at run time
async function copyTable(source: Database.Database, db: Kysely<any>, table: string) {
  const { rows: columns } = await sql<{ name: string; type: string; counted: string | null }>`
    select column_name as name, data_type as type,
      pg_get_serial_sequence(quote_ident(table_name), column_name) as counted
    from information_schema.columns
    where table_schema = current_schema() and table_name = ${table}`.execute(db);
  const isTrue = columns.filter(({ type }) => type === "boolean").map(({ name }) => name);
  const existing = await db.selectFrom(table).select(sql`1`.as("one")).limit(1).execute();
  if (existing.length > 0)
    throw new Error(`the PostgreSQL database is not empty: ${table} contains rows`);

  let count = 0;
  let rows: CopiedRow[] = [];
  const insert = async () => {
    if (rows.length > 0) await db.insertInto(table).values(rows).execute();
    count += rows.length;
    rows = [];
  };
  const size = Math.min(batchSize, Math.floor(parametersMax / Math.max(columns.length, 1)));
  for (const row of source.prepare<[], CopiedRow>(`select * from "${table}"`).iterate()) {
    for (const name of isTrue) if (row[name] !== null) row[name] = Boolean(Number(row[name]));
    rows.push(row);
    if (rows.length === size) await insert();
  }
  await insert();
  for (const { name, counted } of columns) {
    if (counted === null) continue;
    await sql`select setval(${counted}, coalesce((select max(${sql.ref(name)}) from
      ${sql.table(table)}), 0) + 1, false)`.execute(db);
  }
  return count;
}

/**
 * Calls `act` for the address of each record.
 * @returns the number of records
 */
async function eachAddress(
  source: Database.Database,
  act: (address: Buffer) => Promise<void>,
): Promise<number> {
  const page = source
    .prepare<[Uint8Array, number], Buffer>(
      "select address from records where address > ? order by address limit ?",
    )
    .pluck();
  let count = 0;
  for (let last: Uint8Array = Buffer.alloc(0); ; ) {
    const addresses = page.all(last, batchSize);
    await Promise.all(addresses.map(act));
    count += addresses.length;
    if (addresses.length < batchSize) return count;
    last = addresses.at(-1)!;
  }
}
