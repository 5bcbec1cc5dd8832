// The secret that signs what browsers hold: drawn once, kept in the store, the same on all servers.

import { randomBytes } from "node:crypto";
import type { Kysely } from "kysely";
import type { Tables } from "../store/tables.ts";

const name = "session";

/** 64 hex digits. Whoever draws first wins; all read the winner's. */
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
