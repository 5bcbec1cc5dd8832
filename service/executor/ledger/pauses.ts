// Stores the chains on which an operator has paused signing.

import type { Kysely } from "kysely";
import type { Tables } from "../../store/tables.ts";

/** Returns whether an operator has paused signing on the chain. */
export async function isPaused(db: Kysely<Tables>, chainId: number): Promise<boolean> {
  const query = db.selectFrom("executor_pauses").select("chain_id").where("chain_id", "=", chainId);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Pauses or resumes signing on the chain. Idempotent. */
export async function setPaused(db: Kysely<Tables>, chainId: number, isOn: boolean): Promise<void> {
  const clear = db.deleteFrom("executor_pauses").where("chain_id", "=", chainId);
  const set = db.insertInto("executor_pauses").values({ chain_id: chainId });
  await (isOn ? set.onConflict((conflict) => conflict.doNothing()).execute() : clear.execute());
}
