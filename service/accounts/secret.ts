// The secret that signs cookies. It is generated once and stored in the database, and all servers
// share it.

import { randomBytes } from "node:crypto";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

const name = "session";

/**
 * Returns the secret, which has 64 hex digits. Generates the secret if there is none. If several
 * servers generate a secret simultaneously, all servers use the secret that is stored first.
 */
export async function ensureSecret(db: Kysely<Tables>): Promise<string> {
  await db
    .insertInto("secrets")
    .values({ name, value: randomBytes(32).toString("hex") })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { value } = await db
    .selectFrom("secrets")
    .select("value")
    .where("name", "=", name)
    .executeTakeFirstOrThrow();
  return value;
}
