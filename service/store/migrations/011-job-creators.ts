// Jobs name the account that created their address, so that due jobs are taken from each account in
// turn by a query on the executor's own table.

import { type Generated, type Kysely, sql } from "kysely";

export type JobCreatorTables = {
  /** Empty where no record was held when the job was made. */
  executor_jobs: { account_id: Generated<string> };
};

export async function up(db: Kysely<JobCreatorTables>): Promise<void> {
  await sql`alter table executor_jobs add column account_id text not null default ''`.execute(db);
  await sql`update executor_jobs set account_id = coalesce((select records.account_id from records
    where records.address = executor_jobs.address), '')`.execute(db);
}
