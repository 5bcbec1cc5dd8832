// Hints: a vault may hold money that no log told the executor of, native coin or a payment made
// before its address was created here. A hint makes or wakes a job; the executor then reads the
// balances itself.

import { fromHex, type Hex } from "executable-address";
import type { Kysely } from "kysely";
import { findCreators } from "../../store/held.ts";
import type { Tables } from "../../store/tables.ts";

/** Money was seen at `address` in the state after `block`, `timestamp` in Unix seconds. */
export type JobHint = { address: Hex; block: { number: number; timestamp: number } };

/** The one reason for giving up that may end by itself: more money may come, or gas get cheaper. */
export const notWorthItsGas = "not_worth_its_gas";

/**
 * Makes a job of each vault that has none, and makes due what rests or was not worth its gas. A job
 * that waits or was sent stays as it is, so repeating a hint changes nothing.
 *
 * @returns those that changed anything
 */
export async function hintJobs(
  db: Kysely<Tables>,
  chainId: number,
  hints: readonly JobHint[],
): Promise<JobHint[]> {
  const woken: JobHint[] = [];
  const addresses = hints.map(({ address }) => address.toLowerCase() as Hex);
  const creators = await findCreators(db, addresses);
  for (const hint of hints) {
    const { address, block } = hint;
    // dueAtSeconds 0: a block's timestamp comes from one endpoint and must not delay the job.
    const due = {
      due_at: 0,
      state: "waiting" as const,
      reason: null,
      detected_at: block.timestamp,
      detected_block: block.number,
    };
    const counts = {
      not_before: 0,
      failures: 0,
      paid_failures: 0,
      recovery_failures: 0,
    };
    const { numInsertedOrUpdatedRows } = await db
      .insertInto("executor_jobs")
      .values({
        chain_id: chainId,
        address: fromHex(address),
        account_id: creators.get(address.toLowerCase() as Hex)?.accountId ?? "",
        purpose_id: null,
        ...counts,
        ...due,
      })
      .onConflict((conflict) =>
        conflict
          .columns(["chain_id", "address"])
          .doUpdateSet(due)
          .where((row) =>
            row.or([
              row("executor_jobs.state", "=", "idle"),
              row.and([
                row("executor_jobs.state", "=", "given_up"),
                row("executor_jobs.reason", "=", notWorthItsGas),
              ]),
            ]),
          ),
      )
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows) woken.push(hint);
  }
  return woken;
}
