// Hints: a vault may hold money that no log told the executor of, native coin or a payment made
// before its address was created here. A hint makes or wakes a job; the executor then reads the
// balances itself.

import { fromHex, type Hex } from "executable-address";
import type { Kysely } from "kysely";
import { findCreators } from "../../store/held.ts";
import type { Tables } from "../../store/tables.ts";

/**
 * Money was seen at `address` in the state after `block`, `timestamp` in Unix seconds; `isEnough`:
 * as much as its intent asks for.
 */
export type JobHint = {
  address: Hex;
  block: { number: number; timestamp: number };
  isEnough: boolean;
};

/** The one reason for giving up that may end by itself: more money may come, or gas get cheaper. */
export const notWorthItsGas = "not_worth_its_gas";
/** It waits for more money, until its expiry. */
export const underfunded = "underfunded";

/**
 * Makes a job of each vault that has none, and makes due what rests, was not worth its gas, or
 * waits for money that is there. Another job that waits, or was sent, stays as it is, so repeating
 * a hint changes nothing.
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
    const { address, block, isEnough } = hint;
    // `due_at` 0: a block's timestamp comes from one endpoint and must not delay the job.
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
          .where((row) => {
            const isWaitingFor = (state: "given_up" | "waiting", reason: string) =>
              row.and([
                row("executor_jobs.state", "=", state),
                row("executor_jobs.reason", "=", reason),
              ]);
            return row.or([
              row("executor_jobs.state", "=", "idle"),
              isWaitingFor("given_up", notWorthItsGas),
              ...(isEnough ? [isWaitingFor("waiting", underfunded)] : []),
            ]);
          }),
      )
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows) woken.push(hint);
  }
  return woken;
}
