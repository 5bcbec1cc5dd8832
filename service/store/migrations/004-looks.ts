// How far the executor has looked at new records. Unix milliseconds by the database's clock.

import { type Kysely, sql } from "kysely";

export type LookTables = {
  /** Of each chain: every record created before `since` was looked at when it was new. */
  executor_looks: { chain_id: number; since: number };
};

export async function up(db: Kysely<LookTables>): Promise<void> {
  await sql`create table executor_looks (chain_id bigint primary key not null,
      since bigint not null)`.execute(db);
}
