// What an account calls its addresses: its own order numbers and the like. Not part of the terms.

import { type Kysely, sql } from "kysely";
import type { Bytes, Dialect } from "../dialect.ts";

export type ReferenceTables = {
  /** One for each address of an account that has one. `created_at` is the owner's, as in owners. */
  address_references: {
    account_id: string;
    address: Bytes;
    reference: string;
    created_at: number;
  };
};

export async function up(db: Kysely<ReferenceTables>, dialect: Dialect): Promise<void> {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  const statements = [
    sql`create table address_references (account_id text not null, address ${bytes} not null,
        reference text not null, created_at bigint not null, primary key (account_id, address))`,
    sql`create index address_references_reference
        on address_references (account_id, reference, created_at, address)`,
  ];
  for (const statement of statements) await statement.execute(db);
}
