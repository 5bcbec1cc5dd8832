// How often a delivery is attempted, and the waits between attempts.

import { dayMs } from "../../flow/days.ts";
import type { Sent } from "../send.ts";

/** The second attempt is after a fraction of a minute, the tenth about 75 hours after the first. */
const waitsMs = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000);
export const attemptsMax = waitsMs.length + 1;
const retryAfterMsMax = dayMs;

/** Jitter, so that deliveries that fail together are not retried together. */
export function drawWaitMs(
  number: number,
  { retryAfterSeconds }: Sent,
  random: () => number,
): number {
  const waitMs = waitsMs[number - 1]! * (0.9 + random() / 5);
  const askedMs = Math.min(retryAfterMsMax, (retryAfterSeconds ?? 0) * 1000);
  return Math.round(Math.max(waitMs, askedMs));
}
