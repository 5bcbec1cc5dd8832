// Fills a database in which one account has very many rows of every kind. SQL statements generate
// the rows. Rows with consecutive times are far apart in their tables, as in a database with many
// accounts. A query that is sorted by time therefore reads a different page for each row.

import { type RawBuilder, sql } from "kysely";
import { groupsOf } from "../../flow/groups.ts";
import type { Store } from "../../store/store.ts";

/**
 * The accounts of the test. The account `many` has `size` rows in each table. The account `later`
 * created the same addresses as `many`, but later. The rows of the account `large` have large
 * values.
 */
export const accounts = { many: "acc_many", later: "acc_later", large: "acc_large" } as const;
export const chains = { many: 1, large: 2 } as const;
export const endpointId = "whe_many";
export const sender = `0x${"e0".repeat(20)}` as const;
/** The earliest time of a row, in Unix milliseconds. The rows are one second apart. */
export const began = 1_700_000_000_000;
const othersCount = 500;
/** The number of accounts with usage in each hour of 92 days. */
const usersCount = 10;
const hours = 24 * 92;
/** The number of rows that `large` has in each table. */
export const largeCount = 200;
/**
 * The number of rows that one statement inserts. A statement with more rows could exceed its time
 * limit.
 */
const stepRows = 20_000;

/** Returns the 20-byte address in row `number`. Row numbers start at 0. */
export function addressOf(number: number, account: keyof typeof accounts = "many"): Buffer {
  const scattered = Number((BigInt(number) * 2654435761n) & 0xffffffffn);
  const bytes = Buffer.alloc(20, account === "large" ? 1 : 0);
  bytes.writeUInt32BE(scattered);
  bytes.writeUIntBE(number, 14, 6);
  return bytes;
}

type Sql = RawBuilder<unknown>;
/**
 * The rows that a statement inserts. `numbers` is SQL for a table whose column `i` contains the
 * numbers of the rows.
 */
type Rows = { numbers: Sql; span: number; isPostgres: boolean };

/**
 * Returns an SQL expression for the time of row `i`. All rows have different times. The times of
 * successive rows are far apart.
 */
const atOf = ({ span }: Rows) => sql`(${int(began)} + (i * 514229 % ${int(span)}) * 1000)`;
const int = (value: number) => sql.raw(String(value));

function bytesOf({ isPostgres }: Rows, hex: Sql): Sql {
  return isPostgres ? sql`decode(${hex}, 'hex')` : sql`unhex(${hex})`;
}

function addressSql(rows: Rows, fill: "00" | "01" = "00"): Sql {
  const scattered = sql`((i * 2654435761) & 4294967295)`;
  const middle = sql.raw(`'${fill.repeat(10)}'`);
  return bytesOf(
    rows,
    rows.isPostgres
      ? sql`lpad(to_hex(${scattered}), 8, '0') || ${middle} || lpad(to_hex(i), 12, '0')`
      : sql`printf('%08x', ${scattered}) || ${middle} || printf('%012x', i)`,
  );
}

/** Returns SQL for terms of `bytes` bytes. All bytes are zero, except the chain ID. */
function termsSql(rows: Rows, chain: number, bytes: number): Sql {
  const word = chain.toString(16).padStart(16, "0");
  const rest = sql.raw(String(bytes - 256));
  return rows.isPostgres
    ? sql`decode(repeat('00', 248) || ${sql.raw(`'${word}'`)} || repeat('00', ${rest}), 'hex')`
    : sql`unhex(${sql.raw(`'${"00".repeat(248)}${word}'`)} || hex(zeroblob(${rest})))`;
}

const text = ({ isPostgres }: Rows, length: number): Sql =>
  isPostgres ? sql`repeat('x', ${int(length)})` : sql`hex(zeroblob(${int(length / 2)}))`;

/** Returns the statements that fill the tables that grow with an account's number of addresses. */
function statements(rows: Rows, name: "many" | "large"): Sql[] {
  const { numbers } = rows;
  const at = atOf(rows);
  const [account, chain] = [sql.raw(`'${accounts[name]}'`), int(chains[name])];
  const address = addressSql(rows, name === "large" ? "01" : "00");
  const [termsBytes, bodyLength] = name === "large" ? [24_544, 20_000] : [704, 600];
  const token = bytesOf(rows, sql.raw(`'${"00".repeat(20)}'`));
  const idOf = (prefix: string) => sql`${sql.raw(`'${prefix}_${name}'`)} || i`;
  const reference = sql`case when i % 2 = 0 then 'same' else ${idOf("order")} end`;
  const endpoint = sql.raw(`'${name === "many" ? endpointId : "whe_large"}'`);
  return [
    sql`insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
        created_at)
      select ${address}, ${termsSql(rows, chains[name], termsBytes)}, ${chain}, ${token}, '0', 0,
        ${account}, ${at}
      from ${numbers}`,
    sql`insert into address_references (account_id, address, reference, folded, created_at,
        by_client_id, is_again)
      select ${account}, ${address}, ${reference}, ${reference}, ${at}, 0, 1 - i % 2
      from ${numbers}`,
    sql`insert into watches (account_id, address, chain_id, token, created_at, marked_block,
        readings, version, sequence, state, settled_at, due_block, due_at, block_number, block_hash)
      select ${account}, ${address}, ${chain}, ${token}, ${at}, 1, 0, 1, 1,
        case when i % 2 = 0 then 'executed' else 'funded' end,
        case when i % 2 = 0 then ${at} + 60000 end, case when i % 2 = 0 then 1 end,
        case when i % 2 = 1 then i end, 10 + i % 256, '0x'
      from ${numbers}`,
    sql`insert into events (account_id, position, id, type, address, sequence, created_at, body)
      select ${account}, i + 1, ${idOf("evt")}, 'address.funded', ${address}, 1,
        ${int(began)} + i * 1000, ${text(rows, bodyLength)} from ${numbers}`,
    sql`insert into webhook_deliveries (id, endpoint_id, event_id, type, address, sequence, state,
        due_at, attempts, created_at)
      select ${idOf("whd")}, ${endpoint}, ${idOf("evt")}, 'address.funded', ${address}, 1,
        case i % 4 when 0 then 'delivered' when 1 then 'held' else 'waiting' end,
        case when i % 4 > 1 then ${at} end, 1, ${at} from ${numbers}`,
    sql`insert into webhook_attempts (delivery_id, number, at, status, latency_ms, answer)
      select ${idOf("whd")}, 1, ${at}, 500, 9, 'no' from ${numbers} where i % 4 <> 1`,
    sql`insert into executor_jobs (chain_id, address, account_id, due_at, not_before, failures,
        paid_failures, recovery_failures, state, detected_at, detected_block)
      select ${chain}, ${address}, ${account}, i, 0, 0, 0, 0, 'waiting', 1, 1 from ${numbers}`,
  ];
}

/**
 * Returns the statements for the remaining rows of `many`: the executor's history, the audit log,
 * and shared addresses. The account `later` also created the shared addresses.
 */
function lasting(rows: Rows): Sql[] {
  const { numbers } = rows;
  const address = addressSql(rows);
  const id = sql`'1:e0:' || i`;
  const data = bytesOf(rows, sql`'00'`);
  return [
    sql`insert into later_owners (account_id, address, created_at, by_client_id)
      select ${accounts.later}, ${address}, ${atOf(rows)}, 0 from ${numbers}`,
    sql`insert into executor_purposes (id, chain_id, sender, nonce, kind, data, gas, state,
        created_at, block_number)
      select ${id}, 1, ${sender}, i, 'execute', ${data}, 1, 'settled', 1, i from ${numbers}`,
    sql`insert into executor_purpose_addresses (purpose_id, address, gas, account_id,
        by_client_id, by_tip)
      select ${id}, ${address}, 1, ${accounts.many}, 0, 0 from ${numbers}`,
    sql`insert into executor_transactions (hash, purpose_id, raw, max_fee, priority_fee, signed_at,
        signed_block)
      select ${id}, ${id}, ${data}, '1', '1', 1, 1 from ${numbers}`,
    sql`insert into executor_outcomes (purpose_id, address, kind, token, amount, "left",
        transaction_hash, block_number)
      select ${id}, ${address}, 'executed', '', '1', '0', '0x', i from ${numbers}`,
    sql`insert into audit (id, account_id, at, event)
      select 'a' || i, ${accounts.many}, i, 'signed_in' from ${numbers}`,
  ];
}

/**
 * Returns the statements that fill the tables whose row count does not depend on `size`. Some
 * tables have few rows. The other tables have rows for each day, hour, token, or other account.
 */
function fixed(): [rows: number, of: (rows: Rows) => Sql][] {
  const many = sql.raw(`'${accounts.many}'`);
  const user = (rows: Rows) => (rows.isPostgres ? sql`false` : sql`0`);
  const time = sql.raw("'2026-01-01T00:00:00.000Z'");
  return [
    [
      othersCount,
      ({ numbers }) => sql`insert into accounts (id, email, created_at)
        select 'acc_' || i, 'e' || i, 1 from ${numbers}`,
    ],
    [
      othersCount,
      (rows) => sql`insert into records (address, terms, chain_id, token, amount, expires_at,
          account_id, created_at)
        select ${addressSql(rows)}, ${termsSql(rows, 1, 704)}, 1,
          ${bytesOf(rows, sql.raw(`'${"00".repeat(20)}'`))}, '0', 0, 'acc_' || i, ${int(began)}
        from (select i + 100000000 as i from ${rows.numbers}) others`,
    ],
    [
      1,
      () => sql`insert into accounts (id, email, created_at) values (${accounts.many}, 'many', 1),
        (${accounts.later}, 'later', 1), (${accounts.large}, 'large', 1)`,
    ],
    [
      1,
      () => sql`insert into webhook_endpoints (id, account_id, url, types, secret, state, lane,
          streak, barred_until, next_due, version, created_at)
        values (${endpointId}, ${many}, 'https://example.com', '', '', 'active', 0, 0, 0, 1, 0, 1),
          ('whe_large', ${accounts.large}, 'https://example.com', '', '', 'active', 0, 0, 0, 1, 0, 1)`,
    ],
    [
      hours * usersCount,
      ({ numbers }) => sql`insert into usage (account_id, hour, kind, created, refused)
        select case when i < ${int(hours)} then ${many} else 'acc_' || (i / ${int(hours)}) end,
          ${int(began)} + i % ${int(hours)} * 3600000, 'apiKey', 1, 1 from ${numbers}`,
    ],
    [
      92 * 30,
      (rows) => sql`insert into money_days (account_id, day, chain_id, token, requested_count,
          paid_count, executed_count, returned_count, requested, paid, executed, returned)
        select ${many}, i / 30, i % 10, ${addressSql(rows)}, 1, 1, 1, 1, '1', '1', '1', '1'
        from ${rows.numbers}`,
    ],
    [
      256,
      ({ numbers }) => sql`insert into anchors (chain_id, number, hash)
        select 1, 10 + i, '0x' || i from ${numbers}`,
    ],
    [
      othersCount,
      ({ numbers }) => sql`insert into executor_account_spending (chain_id, day, account_id, wei,
          client_wei, tip_loss_wei, gas_wei, tips_wei)
        select 1, 1, 'acc_' || i, '1', '1', '1', '1', '0' from ${numbers}`,
    ],
    [
      1,
      (rows) => sql`insert into auth_users ("id", "name", "email", "emailVerified", "createdAt",
          "updatedAt") values (${many}, 'm', 'many', ${user(rows)}, ${time}, ${time})`,
    ],
    [
      1_000,
      ({ numbers }) => sql`insert into auth_sessions ("id", "expiresAt", "token", "createdAt",
          "updatedAt", "userId")
        select 's' || i, '2099-01-01T00:00:00.000Z', 't' || i, ${time}, ${time}, ${many}
        from ${numbers}`,
    ],
  ];
}

/**
 * Finds the addresses of the account `many` in the parameters of a statement. Returns the row
 * number of each address.
 */
export function findNumbers(values: readonly unknown[]): number[] {
  const addresses = values.flatMap((value) => {
    if (value instanceof Uint8Array) return [Buffer.from(value)];
    const digits = typeof value === "string" ? value.match(/\b[0-9a-f]{40}\b/g) : null;
    return (digits ?? []).map((each) => Buffer.from(each, "hex"));
  });
  return addresses
    .filter((bytes) => bytes.length === 20 && addressOf(bytes.readUIntBE(14, 6)).equals(bytes))
    .map((bytes) => bytes.readUIntBE(14, 6));
}

type FillOptions = {
  /** The number of seconds over which the rows' times are distributed. */
  span?: number;
  /** The account `many` gets rows with these numbers in addition to its first `size` rows. */
  also?: readonly number[];
};

/**
 * Fills a database with the rows of all accounts.
 *
 * @param size the number of rows of the account `many` in each table
 */
export async function fill(
  { db, dialect }: Pick<Store, "db" | "dialect">,
  size: number,
  { span = size, also = [] }: FillOptions = {},
): Promise<void> {
  const isPostgres = dialect === "postgres";
  const put = async (count: number, of: (rows: Rows) => Sql[]) => {
    for (let from = 0; from < count; from += stepRows) {
      const last = Math.min(count, from + stepRows) - 1;
      const numbers = numbersFrom(from, last, isPostgres);
      for (const each of of({ numbers, span, isPostgres })) await each.execute(db);
    }
  };
  for (const [count, of] of fixed()) await put(count, (rows) => [of(rows)]);
  const ofMany = (rows: Rows) => [...statements(rows, "many"), ...lasting(rows)];
  await put(size, ofMany);
  for (const some of groupsOf(also, 500)) {
    const values = sql.join(some.map((number) => sql`(${int(number)})`));
    const numbers = sql`(select column1 as i from (values ${values}) as given) n`;
    for (const each of ofMany({ numbers, span, isPostgres })) await each.execute(db);
  }
  await put(largeCount, (rows) => statements(rows, "large"));
  for (const account_id of Object.values(accounts)) {
    await db.insertInto("event_positions").values({ account_id, position: size }).execute();
  }
  // PostgreSQL needs table statistics. The service runs SQLite without statistics.
  if (!isPostgres) return;
  // Analyzes each table separately, because a statement for all tables could exceed its time limit.
  for (const { name } of await db.introspection.getTables()) {
    await sql`analyze ${sql.table(name)}`.execute(db);
  }
}

const numbersFrom = (from: number, last: number, isPostgres: boolean): Sql =>
  isPostgres
    ? sql`generate_series(${int(from)}::bigint, ${int(last)}::bigint) as n(i)`
    : sql`(with recursive n(i) as (select ${int(from)} union all
        select i + 1 from n where i < ${int(last)}) select i from n) n`;
