// What was spent for one account is read by its owner, so it is found by account.

import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index executor_account_spending_account
    on executor_account_spending (account_id, day)`.execute(db);
}
