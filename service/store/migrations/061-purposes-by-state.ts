// Purposes that are pending are looked for with each pass: not among all that a key ever sent.

import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index executor_purposes_state`.execute(db);
  await sql`create index executor_purposes_state
    on executor_purposes (chain_id, sender, state, block_number)`.execute(db);
}
