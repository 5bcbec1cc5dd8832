// Defines the number of a delivery's attempts and the delays between them, and sends waiting
// deliveries early after an outage.

import type { Transaction } from "kysely";
import { dayMs } from "../../flow/days.ts";
import { statementRows } from "../../flow/groups.ts";
import type { Tables } from "../../store/tables.ts";
import type { Sent } from "../send.ts";

/**
 * The delays between attempts. The second attempt follows after 5 s, and the tenth attempt about 75
 * hours after the first.
 */
const waitsMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000);
export const attemptsMax = waitsMs.length + 1;
const retryAfterMsMax = dayMs;

/**
 * Returns the delay before the next attempt. The delay has jitter, so that deliveries that fail
 * together are not retried together.
 */
export function drawWaitMs(
  number: number,
  { retryAfterSeconds }: Sent,
  random: () => number,
): number {
  const waitMs = waitsMs[number - 1]! * (0.9 + random() / 5);
  const requestedMs = Math.min(retryAfterMsMax, (retryAfterSeconds ?? 0) * 1000);
  return Math.round(Math.max(waitMs, requestedMs));
}

/** The number of consecutive failures that counts as an outage. */
export const outageFailures = 2;

/**
 * After an outage, makes waiting deliveries due now, oldest first. Ignores deliveries whose request
 * is pending. Also ignores deliveries with only one attempt left, so that an endpoint that fails
 * repeatedly does not use up all attempts immediately. Each success releases up to
 * `statementRows.short` deliveries.
 *
 * @returns whether there may be more deliveries to release
 */
export async function releaseBacklog(
  transaction: Transaction<Tables>,
  endpointId: string,
  nowMs: number,
): Promise<boolean> {
  const rows = await transaction
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("endpoint_id", "=", endpointId)
    .where("state", "=", "waiting")
    .where("due_at", ">", nowMs)
    .where("is_claimed", "=", 0)
    .where("attempts", "<", attemptsMax - 1)
    .orderBy("due_at")
    .limit(statementRows.short)
    .execute();
  if (rows.length === 0) return false;
  const ids = rows.map(({ id }) => id);
  await transaction
    .updateTable("webhook_deliveries")
    .set({ due_at: nowMs })
    .where("id", "in", ids)
    .execute();
  return rows.length === statementRows.short;
}
