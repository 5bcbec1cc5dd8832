// Indexes for what is read in part, where one account or many years have left very many rows: what
// is due, account by account; purposes by block; the newest sessions.

import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  const statements = [
    sql`drop index watches_due`,
    sql`create index watches_due on watches (chain_id, due_block, account_id, address)`,
    sql`drop index watches_look`,
    sql`create index watches_look on watches (chain_id, look_at, account_id, address)`,
    sql`drop index executor_jobs_due`,
    sql`create index executor_jobs_due on executor_jobs (chain_id, due_at, address)
        where purpose_id is null`,
    sql`create index executor_jobs_turn on executor_jobs (chain_id, account_id,
          (case when failures > 0 then 1 else 0 end), due_at, address)
        where purpose_id is null and due_at is not null`,
    sql`drop index executor_purposes_state`,
    sql`create index executor_purposes_state on executor_purposes (chain_id, state, block_number)`,
    sql`drop index auth_sessions_user`,
    sql`create index auth_sessions_user on auth_sessions ("userId", "createdAt")`,
  ];
  for (const statement of statements) await statement.execute(db);
}
