// Limits the number of pending create requests. The limit adapts to the latency of the requests.

const windowMs = 100;
/**
 * The limit until the first overload. It bounds the latency at the beginning of an overload, before
 * the limit adapts.
 */
const limitAtStart = 256;
/** The highest acceptable latency, as a multiple of the latency at low load. */
const latencyFactorMax = 4;
/** The weight of a new window in the moving average of the latency. */
const windowWeight = 1 / 5;
/** The factor by which one window can increase the limit. */
const stepMax = 1.05;
/**
 * The factor by which the base latency can rise in each window at low load. At this rate, the base
 * latency doubles in about two minutes.
 */
const baseGrowth = 1.0006;
/**
 * The factor by which the best throughput decays in each window at high load. At this rate, the
 * best throughput halves in about half a minute.
 */
const bestDecay = 0.998;

/**
 * Opens a limit on pending requests that adapts to their latency. If the latency is too high, the
 * limit becomes the number of requests that a service with the best measured throughput completes
 * within the acceptable latency (Little's law).
 *
 * With these constants, the simulated services in latency-limit.test.ts keep at least 90 % of their
 * throughput at three times the load that they can serve. The 99th percentile of the latency is
 * then at most five times as high as at low load. A higher `latencyFactorMax` or `stepMax` would
 * increase this latency.
 *
 * @param most the upper bound of the limit
 */
export function openLatencyLimit(most: number) {
  let limit = Math.min(limitAtStart, most);
  /** The moving average of the latency, which one unusual window hardly changes. */
  let smoothMs: number | undefined;
  /** The latency at low load. */
  let baseMs = Number.POSITIVE_INFINITY;
  /** The best throughput, which falls only slowly during windows in which the service stalls. */
  let bestPerMs = 0;
  let pendingMax = 0;
  let count = 0;
  let sumMs = 0;
  let startedAtMs = 0;

  const adjust = (ms: number) => {
    const meanMs = sumMs / count;
    smoothMs = smoothMs === undefined ? meanMs : smoothMs + (meanMs - smoothMs) * windowWeight;
    // At low load, the latency depends only on the machine, and not on the number of pending
    // requests.
    const isHighLoad = pendingMax > limit / 2;
    baseMs = Math.min(smoothMs, isHighLoad ? baseMs : baseMs * baseGrowth);
    bestPerMs = Math.max(count / ms, isHighLoad ? bestPerMs * bestDecay : bestPerMs);
    if (!isHighLoad) return;
    const targetMs = latencyFactorMax * baseMs;
    if (meanMs > targetMs) limit = bestPerMs * targetMs;
    else if (pendingMax >= limit) limit *= stepMax;
    limit = Math.min(most, limit);
  };

  return {
    /** Returns the maximum number of pending requests. */
    current: () => Math.ceil(limit),
    /**
     * Records the number of pending requests at the arrival of a request, including this request.
     */
    recordPending(pending: number) {
      if (pending > pendingMax) pendingMax = pending;
    },
    /** Records the latency of a request. */
    recordLatency(ms: number, nowMs: number) {
      count++;
      sumMs += ms;
      if (nowMs - startedAtMs < windowMs) return;
      adjust(nowMs - startedAtMs);
      pendingMax = 0;
      count = 0;
      sumMs = 0;
      startedAtMs = nowMs;
    },
  };
}
