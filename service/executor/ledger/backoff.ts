// How long to hold an address back after a failure.

import { backoff } from "../../flow/wait.ts";

const firstSeconds = 15;
/** A job that fails for hours is tried a few times a day: each try costs an estimate of its gas. */
const longestSeconds = 21_600;

/** An obstacle that ends by itself, such as a spent budget, is checked at least so often. */
const patienceSeconds = 3600;

/**
 * Seconds until the next check of such an obstacle: as long as the money has waited, within
 * `leastSeconds` and an hour.
 */
export function patience(leastSeconds: number, waitedSeconds: number): number {
  return Math.min(Math.max(leastSeconds, waitedSeconds), patienceSeconds);
}

/**
 * When to try again after failure number `failures`: the backoff doubles each time, and a random
 * part of it is left out. No failed execution holds back the recovery that follows expiry.
 * @param expirationSeconds of the intent whose execution failed; undefined: a recovery failed
 */
export function retryAt(
  nowSeconds: number,
  failures: number,
  random: () => number,
  expirationSeconds = Number.POSITIVE_INFINITY,
): number {
  const full = backoff(failures, firstSeconds, longestSeconds);
  const retrySeconds = nowSeconds + Math.ceil(full * (0.75 + random() / 4));
  return Math.min(retrySeconds, Math.max(nowSeconds, expirationSeconds + 1));
}
