// Word to the executor that a vault may hold money it was not told of: coins that leave no log, or
// what was paid before the record was here. Rooms that may not import each other share it.

import { fromHex, type Hex } from "executable-address";
import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/** Money was seen at `address` in the state after `block`, `timestamp` in Unix seconds. */
export type JobHint = { address: Hex; block: { number: number; timestamp: number } };

/**
 * The one reason for which the executor gave up that may pass by itself: more may have come, or gas
 * may have become cheaper.
 */
export const notWorthItsGas = "not_worth_its_gas";

/**
 * Makes a job of each vault that has none, and makes due what rests or was not worth its gas. What
 * the executor has in hand stays as it is, so repeating it changes nothing. A hint is believed for
 * as much as a look: the executor reads the balances itself.
 *
 * @returns those that changed anything
 */
export async function hintJobs(
  db: Kysely<Tables>,
  chainId: number,
  hints: readonly JobHint[],
): Promise<JobHint[]> {
  const woken: JobHint[] = [];
  for (const hint of hints) {
    const { address, block } = hint;
    // Due since ever: the block's time is the word of whoever showed it, and must put off nothing.
    const due = {
      due_at: 0,
      state: "waiting" as const,
      reason: null,
      detected_at: block.timestamp,
      detected_block: block.number,
    };
    const counts = { not_before: 0, failures: 0, paid_failures: 0, recovery_failures: 0 };
    const { numInsertedOrUpdatedRows } = await db
      .insertInto("executor_jobs")
      .values({ chain_id: chainId, address: fromHex(address), purpose_id: null, ...counts, ...due })
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
