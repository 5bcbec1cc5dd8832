// The secret that signs cookies: generated once and stored, so all servers share it.

import { randomBytes } from "node:crypto";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

const name = "session";

/**
 * 64 hex digits. If several servers generate one simultaneously, the first to insert wins, and all
 * read its value.
 */
export async function findOrDrawSecret(db: Kysely<Tables>): Promise<string> {
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
