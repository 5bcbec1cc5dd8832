// What each account asked for, was paid, executed and returned, by day and token, and how far what
// was asked for is counted.

import { type Kysely, sql } from "kysely";
import type { Bytes, Dialect } from "../dialect.ts";

export type MoneyTables = {
  /**
   * `day` counts from 1970-01-01, UTC. Amounts are decimal, in base units, of any length: no
   * database here adds 256 bits. A reorganisation may make a day's negative.
   */
  money_days: {
    account_id: string;
    day: number;
    chain_id: number;
    token: Bytes;
    asked_count: number;
    asked: string;
    paid: string;
    executed: string;
    returned: string;
  };
  /** The last of an account's addresses that is counted as asked for. */
  money_places: { account_id: string; created_at: number; address: Bytes };
};

export async function up(db: Kysely<MoneyTables>, dialect: Dialect): Promise<void> {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  const statements = [
    sql`create table money_days (account_id text not null, day bigint not null,
        chain_id bigint not null, token ${bytes} not null, asked_count bigint not null,
        asked text not null, paid text not null, executed text not null, returned text not null,
        primary key (account_id, day, chain_id, token))`,
    sql`create table money_places (account_id text primary key not null,
        created_at bigint not null, address ${bytes} not null)`,
  ];
  for (const statement of statements) await statement.execute(db);
}
