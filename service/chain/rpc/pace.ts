// Learns a provider's limits from its refusals: calls and bytes per request, and calls per second.
// A rate limit applies to all methods or to a single method. Limits can change, for example with
// the operator's plan. Each successful answer therefore raises the learned rate. Learned size
// limits and limits of single methods are forgotten after ten minutes.

import type { Call } from "./json-rpc.ts";

/** The current limits of a provider. `callsPerSecond` is undefined if no limit is known. */
export type Allowance = {
  pausedMs: number;
  callsPerSecond: number | undefined;
  /** The number of times that the provider refused calls because of its rate limit. */
  refusals: number;
};

export type Pace = {
  /**
   * Returns how long to wait until the first calls of `open` can be sent. Learned limits that have
   * expired do not count.
   */
  pauseMs(open: readonly { call: Call }[]): number;
  /**
   * Returns whether the provider currently rate-limits any call in `open`. The rate limit lasts
   * from a refusal until the provider again answers a call to which the limit applies. A limit that
   * the operator has configured does not count as a rate limit.
   */
  isThrottled(open: readonly { call: Call }[]): boolean;
  /** Takes the first calls of `open`, at least one, for the next request. Counts them as sent. */
  take<Each extends { call: Call }>(open: readonly Each[]): { taken: Each[]; rest: Each[] };
  /**
   * Records that the provider refused calls because of its rate limit.
   * @param method the only method to which the limit applies; all methods by default
   */
  limited(method?: string, retryAfterMs?: number): void;
  /** Records that a request with this number of calls was too large for the provider. */
  tooMuch(calls: number): void;
  succeeded(methods: ReadonlySet<string>): void;
  callsMax(): number;
  /** Returns the strictest current limits. */
  read(): Allowance;
};

/** The initial maximum number of calls per request. Public endpoints accept this number. */
const callsMaxFirst = 100;
const bytesMaxFirst = 500_000;
/**
 * A refusal never reduces the rate below this number of calls per second. Some providers refuse
 * calls regardless of the call rate. Without this minimum, the service could fall behind a busy
 * chain. The operator can set a lower rate.
 */
const perSecondMin = 25;
/** A refusal reduces the rate to this share of the average rate before the refusal. */
const share = 0.7;
const windowMs = 10_000;
/** Each answered request increases the rate by this number of calls per second. */
const growth = 1;
const refusedPauseMs = { default: 1000, max: 60_000 };
const forgottenAfterMs = 600_000;

/** `method` is undefined if the limit applies to all methods together. */
type Limit = {
  method: string | undefined;
  perSecond: number;
  pausedUntilMs: number;
  isProbing: boolean;
};

/**
 * @param now milliseconds of a monotonic clock
 * @param perSecondMax the operator's own limit of calls per second
 */
export function openPace(now: () => number, perSecondMax = Number.POSITIVE_INFINITY): Pace {
  const unlimited = (method?: string): Limit => ({
    ...{ method, perSecond: perSecondMax, pausedUntilMs: 0, isProbing: false },
  });
  const all = unlimited();
  const byMethod = new Map<string, Limit>();
  let sizes = { callsMax: callsMaxFirst, bytesMax: bytesMaxFirst, sinceMs: now() };
  const sent = openWindow(now);
  let refusals = 0;
  /**
   * Returns the number of calls that the limit allows now. After a refusal, one call per second is
   * allowed until the provider answers again.
   */
  const roomOf = ({ method, perSecond, isProbing }: Limit) => {
    const allowed = isProbing ? 1 : perSecond;
    return Number.isFinite(allowed) ? Math.floor(allowed - sent.count(1000, method)) : allowed;
  };
  const limitsOf = (open: readonly { call: Call }[]): Limit[] => {
    if (byMethod.size === 0) return [all];
    const methods = new Set(open.map(({ call }) => call.method));
    return [all, ...[...byMethod.values()].filter(({ method }) => methods.has(method!))];
  };
  const pauseOf = (limit: Limit) => {
    const pausedMs = Math.ceil(limit.pausedUntilMs - now());
    if (pausedMs > 0) return pausedMs;
    if (roomOf(limit) >= 1) return 0;
    return Math.max(1, Math.ceil(1000 - sent.oldestMs(1000, limit.method)));
  };

  return {
    callsMax: () => sizes.callsMax,
    pauseMs(open) {
      if (now() - sizes.sinceMs > forgottenAfterMs) {
        sizes = { callsMax: callsMaxFirst, bytesMax: bytesMaxFirst, sinceMs: now() };
        byMethod.clear();
      }
      return Math.max(...limitsOf(open).map(pauseOf));
    },
    isThrottled: (open) => limitsOf(open).some(({ isProbing }) => isProbing),
    take(open) {
      const rooms = limitsOf(open).map(roomOf);
      const callsMax = Math.max(1, Math.min(sizes.callsMax, ...rooms));
      const count = countFitting(open, { ...sizes, callsMax });
      sent.add(open.slice(0, count));
      return { taken: open.slice(0, count), rest: open.slice(count) };
    },
    limited(method, retryAfterMs = refusedPauseMs.default) {
      refusals++;
      const limit = method === undefined ? all : (byMethod.get(method) ?? unlimited(method));
      if (method !== undefined) byMethod.set(method, limit);
      const average = sent.count(windowMs, method) / (windowMs / 1000);
      limit.perSecond = Math.min(limit.perSecond, Math.max(perSecondMin, average * share));
      const untilMs = now() + Math.min(retryAfterMs, refusedPauseMs.max);
      limit.pausedUntilMs = Math.max(limit.pausedUntilMs, untilMs);
      limit.isProbing = true;
    },
    tooMuch(calls) {
      sizes.callsMax = Math.max(1, Math.min(sizes.callsMax, Math.floor(calls / 2)));
      sizes.bytesMax = Math.max(10_000, sizes.bytesMax / 2);
    },
    succeeded(methods) {
      for (const limit of [all, ...byMethod.values()]) {
        if (limit.method !== undefined && !methods.has(limit.method)) continue;
        limit.isProbing = false;
        limit.perSecond = Math.min(perSecondMax, limit.perSecond + growth);
      }
    },
    read: () => ({ ...findStrictest([all, ...byMethod.values()], now()), refusals }),
  };
}

/** Returns how many calls, from the start of `open`, fit into one request. Returns at least 1. */
function countFitting(
  open: readonly { call: Call }[],
  { callsMax, bytesMax }: { callsMax: number; bytesMax: number },
): number {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(open.length, callsMax)) {
    bytes += JSON.stringify(open[count]!.call).length + 40;
    if (count > 0 && bytes > bytesMax) break;
    count++;
  }
  return count;
}

function findStrictest(limits: readonly Limit[], nowMs: number) {
  const least = Math.min(...limits.map(({ perSecond }) => perSecond));
  const untilMs = Math.max(...limits.map(({ pausedUntilMs }) => pausedUntilMs));
  return {
    pausedMs: Math.max(0, Math.ceil(untilMs - nowMs)),
    callsPerSecond: Number.isFinite(least) ? least : undefined,
  };
}

/** Counts the calls of the last ten seconds. */
function openWindow(now: () => number) {
  const sent: { atMs: number; method: string; calls: number }[] = [];
  const recentCalls = (ms: number, method: string | undefined) => {
    const first = sent.findIndex(({ atMs }) => now() - atMs < ms);
    const recent = first === -1 ? [] : sent.slice(first);
    return method === undefined ? recent : recent.filter((each) => each.method === method);
  };
  return {
    add(taken: readonly { call: Call }[]) {
      const counts = new Map<string, number>();
      for (const { call } of taken) counts.set(call.method, (counts.get(call.method) ?? 0) + 1);
      for (const [method, calls] of counts) sent.push({ atMs: now(), method, calls });
      while (sent.length > 0 && now() - sent[0]!.atMs >= windowMs) sent.shift();
    },
    /** The number of calls in the last `ms`, for one method or for all. */
    count: (ms: number, method: string | undefined): number =>
      recentCalls(ms, method).reduce((sum, { calls }) => sum + calls, 0),
    /** The age of the oldest call in the last `ms`, or 0 if there was none. */
    oldestMs(ms: number, method: string | undefined): number {
      const [oldest] = recentCalls(ms, method);
      return oldest ? now() - oldest.atMs : 0;
    },
  };
}
