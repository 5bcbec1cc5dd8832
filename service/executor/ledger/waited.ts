// Measures how long the oldest payment has waited.

import { type Kysely, sql } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { obstacleWaitSecondsMax } from "./postpone.ts";
import { reasonsWith } from "./reasons.ts";

export type WaitedMemory = {
  /** How long the oldest payment has waited, and when this value was read. */
  waited: { seconds: number; atMs: number };
};

export const openWaitedMemory = (): WaitedMemory => ({
  waited: { seconds: 0, atMs: Number.NEGATIVE_INFINITY },
});

/** The parts of a pass that {@link recallWaitedSeconds} uses. */
type WaitedPass = {
  parts: {
    ledger: { readWaitedSeconds(chainId: number, nowSeconds: number): Promise<number> };
    chain: { chainId: number };
    clock(): number;
  };
  memory: WaitedMemory;
  nowSeconds: number;
};

const readEveryMs = 60_000;

/** Does the same as {@link readWaitedSeconds}, but reads the database every `readEveryMs`. */
export async function recallWaitedSeconds(pass: WaitedPass): Promise<number> {
  const { parts, memory, nowSeconds } = pass;
  const nowMs = parts.clock();
  if (nowMs - memory.waited.atMs >= readEveryMs) {
    const seconds = await parts.ledger.readWaitedSeconds(parts.chain.chainId, nowSeconds);
    memory.waited = { seconds, atMs: nowMs };
  }
  return memory.waited.seconds;
}

/**
 * Returns how many seconds the oldest payment has waited; 0 if no payment waits. Usually, the wait
 * begins when the payment's job becomes due. If the executor itself caused the delay (`isOwn` in
 * reasons.ts), the wait begins at detection. Jobs that were postponed for another reason, such as a
 * used-up budget, count only when due.
 */
export async function readWaitedSeconds(
  db: Kysely<Tables>,
  chainId: number,
  nowSeconds: number,
): Promise<number> {
  const untilSeconds = nowSeconds + obstacleWaitSecondsMax;
  const isWanting = sql`coalesce(reason, '') in (${sql.join(reasonsWith("isOwn"))})`;
  const { rows } = await sql<{ since: number | string | null }>`
    select min(nullif(case when due_at = 0 or ${isWanting} then detected_at else due_at end, 0))
      as since
    from executor_jobs
    where chain_id = ${chainId} and purpose_id is null and due_at <= ${untilSeconds}
      and (due_at <= ${nowSeconds} or ${isWanting})`.execute(db);
  const since = rows[0]?.since;
  return since == null ? 0 : Math.max(0, nowSeconds - Number(since));
}
