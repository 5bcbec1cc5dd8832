// Postpones jobs: decides how long a job waits, and returns the update for it. The functions do not
// write to the database.

import type { Hex } from "executable-address";
import { hourSeconds, midnightAfter } from "../../flow/days.ts";
import { backoff } from "../../flow/wait.ts";
import type { Job, JobUpdate } from "./jobs.ts";
import type { JobReason, Reason } from "./reasons.ts";

/**
 * Postpones a job to a time. The job's failures and its backoff do not change.
 *
 * @param dueAtSeconds null if the job waits until more money is detected
 */
export function waitUntil(
  address: Hex,
  dueAtSeconds: number | null,
  reason: JobReason | null,
): JobUpdate {
  return { address, state: "waiting", dueAtSeconds, reason };
}

/**
 * The first backoff, before {@link waitForBackoff} shortens it. Also the minimum delay before a
 * retry if:
 * - the fee is too high
 * - no node returned an estimate
 * - the endpoints disagree on the nonce
 */
export const retrySecondsMin = 15;
/**
 * The longest backoff. A failing job is tried only a few times a day, because each attempt needs an
 * estimate.
 */
const longestSeconds = 21_600;

type Failed = Pick<Job, "address" | "failures">;

/**
 * Counts a failure of a job, and postpones the job until its backoff ends. The backoff doubles with
 * each failure, and is then shortened at random by up to a quarter. After a failed execution, the
 * backoff ends one second after expiration at the latest. The money can then be recovered.
 *
 * @param expirationSeconds the intent's expiration time; undefined if a recovery failed
 */
export function waitForBackoff(
  { address, failures: before }: Failed,
  { nowSeconds, random }: { nowSeconds: number; random: () => number },
  reason: JobReason,
  expirationSeconds = Number.POSITIVE_INFINITY,
): JobUpdate {
  const failures = before + 1;
  const full = backoff(failures, retrySecondsMin, longestSeconds);
  const retrySeconds = nowSeconds + Math.ceil(full * (0.75 + random() / 4));
  const latestSeconds = Math.max(nowSeconds, expirationSeconds + 1);
  const notBeforeSeconds = Math.min(retrySeconds, latestSeconds);
  return { ...waitUntil(address, notBeforeSeconds, reason), notBeforeSeconds, failures };
}

type Waiting = Pick<Job, "address" | "detectedAtSeconds">;

/** Postpones a job because the endpoints could not answer a request for it. */
export function waitForEndpoints(job: Waiting, nowSeconds: number, reason: Reason): JobUpdate {
  const waitSeconds = computeWaitSeconds(job, nowSeconds, retrySecondsMin);
  return waitUntil(job.address, nowSeconds + waitSeconds, reason);
}

/**
 * The minimum retry delay if a budget is used up, or if a zero-value transfer replaced the
 * transaction. Part of a budget may become free before midnight, because transactions can cost less
 * than reserved.
 */
const budgetSeconds = 60;

/**
 * Postpones a job because nobody pays for its transaction now. The job is retried at midnight at
 * the latest, because each day has a new budget.
 */
export function waitForBudget(job: Waiting, nowSeconds: number, reason: Reason): JobUpdate {
  const waitSeconds = computeWaitSeconds(job, nowSeconds, budgetSeconds);
  const dueAtSeconds = Math.min(nowSeconds + waitSeconds, midnightAfter(nowSeconds));
  return waitUntil(job.address, dueAtSeconds, reason);
}

/** The maximum retry delay after a problem that the job did not cause. */
export const obstacleWaitSecondsMax = hourSeconds;

/**
 * Returns the retry delay in seconds after a problem that the job did not cause. The delay equals
 * the time that the money has waited, but is at least `secondsMin` and at most an hour.
 */
function computeWaitSeconds(
  { detectedAtSeconds }: Waiting,
  nowSeconds: number,
  secondsMin: number,
): number {
  const waitedSeconds = nowSeconds - detectedAtSeconds;
  return Math.min(Math.max(secondsMin, waitedSeconds), obstacleWaitSecondsMax);
}

/** Abandons a job. The job becomes due again if more money is detected. */
export function giveUp(address: Hex, reason: Reason): JobUpdate {
  return { address, state: "given_up", dueAtSeconds: null, reason };
}
