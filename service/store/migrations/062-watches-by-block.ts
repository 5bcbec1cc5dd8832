// After a reorganisation what was observed above a block is due, some at a time: walked by the
// block and then by the watch itself.

import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index watches_block`.execute(db);
  await sql`create index watches_block
    on watches (chain_id, block_number, account_id, address)`.execute(db);
}
