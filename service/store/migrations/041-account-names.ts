// The name under which payers read of an account, once the operator has confirmed it.

import { type Kysely, sql } from "kysely";

export type AccountNameTables = { account_names: { account_id: string; name: string } };

export async function up(db: Kysely<AccountNameTables>): Promise<void> {
  await sql`create table account_names (account_id text primary key not null
    references accounts (id), name text not null)`.execute(db);
}
