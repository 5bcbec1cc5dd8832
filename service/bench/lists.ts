// node bench/lists.ts measures how long it takes to read a page of addresses or events. Three
// accounts have 10⁴, 10⁵, and 10⁶ rows in one database, on SQLite and on PostgreSQL. Prints medians
// in milliseconds. Each query reads a limited number of rows, so the account's size should have no
// effect. With ANALYZE=1, collects table statistics on SQLite. If SQLite has these statistics, it
// reads all rows for two of the lists. The service never collects statistics on SQLite.

import { type Kysely, sql } from "kysely";
import { listEvents } from "../events/list.ts";
import { type AddressQuery, type Cursor, listAddresses } from "../events/list-addresses.ts";
import type { Dialect, Tables } from "../store/tables.ts";
import { openEmptyStore } from "../testing/empty-store.ts";
import { median } from "../testing/median.ts";

const sizes = (process.env.SIZES ?? "10000,100000,1000000").split(",").map(Number);
const rounds = Number(process.env.ROUNDS ?? 31);
const began = 1_790_000_000_000;
/** Without the cast, PostgreSQL would infer a 32-bit integer for the parameter. */
const start = sql`cast(${began} as bigint)`;

/**
 * Adds an account with `size` addresses, each with a reference and an event. The creation times of
 * the addresses are one millisecond apart.
 */
async function fill(db: Kysely<Tables>, dialect: Dialect, account: string, size: number) {
  // Statements are canceled after some seconds, so rows are inserted in batches.
  for (let from = 1; from <= size; from += 20_000) {
    await add(db, dialect, account, { from, until: Math.min(size, from + 19_999) });
  }
}

type Rows = { from: number; until: number };

async function add(db: Kysely<Tables>, dialect: Dialect, account: string, { from, until }: Rows) {
  const mine = sql`account_id = ${account} and created_at >= ${start} + ${from}
    and created_at <= ${start} + ${until}`;
  const isPostgres = dialect === "postgres";
  const numbers = isPostgres
    ? sql`generate_series(${from}::int, ${until}::int) as n(i)`
    : sql`(with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${until})
        select i from n) n`;
  const [address, terms] = isPostgres
    ? [
        sql`substr(sha256(convert_to(${account}::text || i, 'utf8')), 1, 20)`,
        sql`decode(repeat('07', 600), 'hex')`,
      ]
    : [sql`randomblob(20)`, sql`randomblob(600)`];
  const token = isPostgres ? sql`decode(repeat('07', 20), 'hex')` : sql`zeroblob(20)`;
  const text = isPostgres ? sql`repeat('x', 600)` : sql`hex(zeroblob(300))`;
  for (const statement of [
    sql`insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
        created_at)
      select ${address}, ${terms}, 1, ${token}, '1', 1, ${account}, ${start} + i from ${numbers}`,
    sql`insert into address_references (account_id, address, reference, folded, created_at,
        by_client_id, is_again)
      select account_id, address, 'order-' || created_at, 'order-' || created_at, created_at, 0, 0
      from records where ${mine}`,
    sql`insert into watches (account_id, address, chain_id, token, created_at, marked_block,
        readings, version, sequence, state, settled_at)
      select account_id, address, 1, ${token}, created_at, 1, 0, 1, 1,
        case when created_at % 2 = 0 then 'executed' else 'funded' end,
        case when created_at % 2 = 0 then created_at + 60000 end
      from records where ${mine}`,
    sql`insert into events (account_id, position, id, type, address, sequence, created_at, body)
      select account_id, created_at - ${start}, 'evt_' || account_id || created_at,
        'address.funded', address, 1, created_at, ${text}
      from records where ${mine}`,
  ]) {
    await statement.execute(db);
  }
}

type Question = (db: Kysely<Tables>, accountId: string, size: number) => Promise<unknown>;

const page = (more: Partial<AddressQuery>): AddressQuery => ({
  ...{ accountId: "", order: "newest", limit: 20, nowMs: began + 10 ** 9, ...more },
});
const middle = (size: number): Cursor => ({
  atMs: began + size / 2,
  address: Buffer.alloc(20, 0x80),
});
const addresses =
  (of: (size: number) => Partial<AddressQuery>): Question =>
  (db, accountId, size) =>
    listAddresses(db, { ...page(of(size)), accountId });

const questions: Record<string, Question> = {
  "newest addresses": addresses(() => ({})),
  "… from the middle": addresses((size) => ({ cursor: middle(size) })),
  "… oldest first": addresses((size) => ({ order: "oldest", cursor: middle(size) })),
  "… executed ones": addresses((size) => ({ state: "executed", cursor: middle(size) })),
  "… by reference": addresses((size) => ({ reference: `order-${began + size / 2}` })),
  "… by settled time": addresses((size) => ({ settledFromMs: began + size / 2 })),
  "… of a token none has": addresses(() => ({ token: Buffer.alloc(20, 0x11) })),
  "… by a part that none has": addresses(() => ({ referenceContains: "none" })),
  "… by a part of one": addresses((size) => ({ referenceContains: `r-${began + size / 2}` })),
  "events from the middle": (db, accountId, size) =>
    listEvents(db, { accountId, after: size / 2, limit: 50 }),
};

async function measure(db: Kysely<Tables>, dialect: Dialect): Promise<void> {
  for (const size of sizes) await fill(db, dialect, `acc_${size}`, size);
  // In production, PostgreSQL collects statistics automatically, but SQLite does not.
  if (dialect === "postgres" || process.env.ANALYZE) await sql`analyze`.execute(db);
  for (const [name, ask] of Object.entries(questions)) {
    const times = sizes.map((): number[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [index, size] of sizes.entries()) {
        const before = performance.now();
        await ask(db, `acc_${size}`, size);
        times[index]!.push(performance.now() - before);
      }
    }
    const cells = times.map((each) => median(each).toFixed(2).padStart(8)).join("");
    process.stdout.write(`${dialect.padEnd(9)} ${name.padEnd(24)} ${cells}\n`);
  }
}

const wanted = (process.env.DIALECTS ?? "sqlite,postgres").split(",");
process.stdout.write(
  `rows of the account${" ".repeat(15)} ${sizes.map((s) => String(s).padStart(8)).join("")}\n`,
);
for (const dialect of ["sqlite", "postgres"] as const) {
  if (!wanted.includes(dialect)) continue;
  const { store, stop } = await openEmptyStore(dialect);
  await measure(store.db, dialect);
  await stop();
}
