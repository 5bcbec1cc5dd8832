// How fast a credential may be used (spec §8), by the generic cell rate algorithm: one number per
// key, the time at which its burst would be whole again. Every limiter passes limits.test.ts.

import { dayMs } from "../flow/days.ts";
import type { CredentialKind } from "./credentials.ts";

/** One request each `intervalMs` for ever, and `burst` at once after a rest. */
export type Policy = { name: string; intervalMs: number; burst: number };

/** Reads and checks by an API key are counted apart, so that reading stops no create. */
export const readPolicy: Policy = { name: "api-key-read", intervalMs: 20, burst: 100 };

/** Keeping endpoints is seldom: each change is a row of the audit log, which is never shortened. */
export const webhookPolicy: Policy = { name: "api-key-webhooks", intervalMs: 1_000, burst: 60 };

/** spec §8: 50 requests a second and bursts of 100; 10 a second and bursts of 20. */
export const policies: Record<CredentialKind, Policy> = {
  apiKey: { name: "api-key", intervalMs: 20, burst: 100 },
  clientId: { name: "client-id", intervalMs: 100, burst: 20 },
};

/**
 * `remaining` requests would be admitted now; the burst is whole again in `resetMs`; after a
 * refusal the next request is admitted in `retryMs`, which is 0 when this one was admitted.
 */
export type LimitVerdict = {
  admitted: boolean;
  remaining: number;
  resetMs: number;
  retryMs: number;
};

export type Limiter = {
  /**
   * Admits or refuses one request of `key` now, by the limiter's own clock.
   * In any window of t ms at most burst + t / intervalMs + 1 are admitted; requests that come no
   * faster than one each intervalMs are always admitted; a refused one spends nothing.
   */
  take(key: string, policy: Policy): Promise<LimitVerdict>;
};

/** @param dueInMs from now until the burst is whole, this request included if it was admitted */
export function toVerdict(admitted: boolean, dueInMs: number, policy: Policy): LimitVerdict {
  const spareMs = policy.burst * policy.intervalMs - dueInMs;
  return {
    admitted,
    remaining: Math.max(0, Math.floor(spareMs / policy.intervalMs)),
    resetMs: Math.max(0, dueInMs),
    retryMs: admitted ? 0 : policy.intervalMs - spareMs,
  };
}

/**
 * So many a day, all at once after a day of rest and then evenly: in no 24 hours more than twice as
 * many.
 */
export const perDay = (name: string, count: number): Policy => ({
  name,
  intervalMs: Math.ceil(dayMs / count),
  burst: count,
});

const keysBeforeSweep = 10_000;

/**
 * A limiter for one process.
 * @param clock milliseconds; never goes back
 */
export function memoryLimiter(clock: () => number = () => performance.now()): Limiter {
  const wholeAtMs = new Map<string, number>();
  let sweepAbove = keysBeforeSweep;

  const sweep = (nowMs: number) => {
    for (const [key, timeMs] of wholeAtMs) if (timeMs <= nowMs) wholeAtMs.delete(key);
    sweepAbove = Math.max(keysBeforeSweep, wholeAtMs.size * 2);
  };

  return {
    async take(key, policy) {
      const nowMs = clock();
      const dueInMs = Math.max(0, (wholeAtMs.get(key) ?? nowMs) - nowMs);
      const admitted = dueInMs + policy.intervalMs <= policy.burst * policy.intervalMs;
      if (!admitted) return toVerdict(false, dueInMs, policy);
      wholeAtMs.set(key, nowMs + dueInMs + policy.intervalMs);
      if (wholeAtMs.size > sweepAbove) sweep(nowMs);
      return toVerdict(true, dueInMs + policy.intervalMs, policy);
    },
  };
}

/**
 * `shared` while it answers, otherwise a limiter of this process alone: a fault of the limiter
 * loosens the limit to once per server, and never refuses a request.
 * @param onFault told of every request that was judged locally
 */
export function withLocalFallback(
  shared: Limiter,
  onFault: (error: unknown) => void,
  local = memoryLimiter(),
): Limiter {
  return {
    async take(key, policy) {
      try {
        return await shared.take(key, policy);
      } catch (error) {
        onFault(error);
        return local.take(key, policy);
      }
    },
  };
}
