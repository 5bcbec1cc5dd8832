// A replay asks for the events that an account was told of in a span of time.

import { type Kysely, sql } from "kysely";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index events_told on events (account_id, created_at, position)`.execute(db);
}
