// Defines the maximum number of attempts per delivery and the delays between them. Also makes an
// endpoint's waiting deliveries due when its outage ends.

import type { Transaction } from "kysely";
import { dayMs } from "../../flow/days.ts";
import { statementRows } from "../../store/statement-rows.ts";
import type { Tables } from "../../store/tables.ts";
import type { Sent } from "../send.ts";

/**
 * The delays between attempts. The second attempt follows 5 s after the first. The tenth and last
 * attempt follows about 75 hours after the first.
 */
const waitsMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000);
export const attemptsMax = waitsMs.length + 1;
const retryAfterMsMax = dayMs;

/**
 * Returns the delay before the next attempt. A random part (jitter) prevents deliveries that failed
 * together from being retried together. The delay is at least the response's `Retry-After`, which
 * is limited to a day.
 *
 * @param number the number of the failed attempt, starting at 1
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
 * Sets waiting deliveries to be due now, because the endpoint's outage has ended. Changes up to
 * `statementRows.short` deliveries, and starts with the delivery that is due next. Skips deliveries
 * that are being sent. Also skips deliveries with only one attempt left, so that repeated outages
 * do not exhaust the attempts.
 *
 * @returns true if more such deliveries may remain
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
