// What strangers may cost: indexes for searches that read whole tables, and sessions by digest.

import { type Kysely, sql } from "kysely";
import type { Dialect } from "../dialect.ts";

export async function up(db: Kysely<unknown>, _dialect: Dialect): Promise<void> {
  const statements = [
    // Until now they were kept by their tokens: everybody signs in once more.
    sql`delete from auth_sessions`,
    sql`create index auth_sessions_expiry on auth_sessions ("expiresAt")`,
    sql`create index auth_tokens_expiry on auth_tokens ("expiresAt")`,
  ];
  for (const statement of statements) await statement.execute(db);
}
