// Records, who owns them, accounts and their credentials. Times are Unix milliseconds.

import { type Kysely, sql } from "kysely";
import type { Bytes, Dialect } from "../dialect.ts";

export type RecordTables = {
  /**
   * `address` 20 bytes; everything else of a record is derived from `terms`. With it stands who
   * created it first, and when.
   */
  records: { address: Bytes; terms: Bytes; account_id: string; created_at: number };
  /** Accounts that created what another had created before. */
  later_owners: Owner;
  /** A view of both: every account that created an address, since its own first create. */
  owners: Owner;
  /** `id` is `acc_` and 24 hex digits, `email` lower case. */
  accounts: { id: string; email: string; created_at: number };
  /** `digest` SHA-256 of the key's text; `prefix` its first characters, for display. */
  api_keys: {
    account_id: string;
    digest: Bytes;
    prefix: string;
    created_at: number;
    rotated_at: number | null;
    last_used_at: number | null;
    seen_in_browser_at: number | null;
  };
  /** Publishable, so `client_id` is kept in full. */
  client_ids: {
    account_id: string;
    digest: Bytes;
    client_id: string;
    created_at: number;
    rotated_at: number | null;
    last_used_at: number | null;
  };
  /** `origin` in canonical form. */
  origins: { account_id: string; origin: string; created_at: number };
};

type Owner = { account_id: string; address: Bytes; created_at: number };

export async function up(db: Kysely<RecordTables>, dialect: Dialect): Promise<void> {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  const statements = [
    // Terms stay out of the index's pages: rows are appended, only keys land at random. Each index
    // writes a page of its own for nearly every row, so the first owner has no table and no index
    // of its own: a row commits in two thirds of the time it took with them.
    // No foreign key: it would cost every create a look-up, and nothing deletes an account.
    sql`create table records (address ${bytes} primary key not null, terms ${bytes} not null,
        account_id text not null, created_at bigint not null)`,
    sql`create index records_newest on records (account_id, created_at, address)`,
    sql`create table later_owners (account_id text not null, address ${bytes} not null,
        created_at bigint not null, primary key (account_id, address))`,
    sql`create index later_owners_newest on later_owners (account_id, created_at, address)`,
    sql`create view owners as select account_id, address, created_at from records
        union all select account_id, address, created_at from later_owners`,
    sql`create table accounts (id text primary key not null, email text not null unique,
        created_at bigint not null)`,
    sql`create table api_keys (account_id text primary key not null references accounts (id),
        digest ${bytes} not null unique, prefix text not null, created_at bigint not null,
        rotated_at bigint, last_used_at bigint, seen_in_browser_at bigint)`,
    sql`create table client_ids (account_id text primary key not null references accounts (id),
        digest ${bytes} not null unique, client_id text not null, created_at bigint not null,
        rotated_at bigint, last_used_at bigint)`,
    sql`create table origins (account_id text not null references accounts (id),
        origin text not null, created_at bigint not null, primary key (account_id, origin))`,
  ];
  for (const statement of statements) await statement.execute(db);
}
