// Limits the number of pending create requests. The limit adapts to the latency of the requests.

/** The length of a window. The limit is adjusted after each window. */
const windowMs = 100;
/** The initial limit, which bounds the latency at the beginning of the first overload. */
const limitAtStart = 256;
/** The highest acceptable latency, as a multiple of the latency at low load. */
const latencyFactorMax = 4;
/** The weight of a new window in the moving average of the latency. */
const windowWeight = 1 / 5;
/** The maximum factor by which the limit increases after a window. */
const stepMax = 1.05;
/**
 * `baseMs` is an estimate of the latency at low load. In each window with low load, the estimate
 * can rise by this factor. At this rate, the estimate doubles in about two minutes.
 */
const baseGrowth = 1.0006;
/**
 * `bestPerMs` is the best measured throughput. After each window with high load, `bestPerMs` is
 * multiplied by this factor. Therefore, `bestPerMs` halves in about half a minute, unless a window
 * has a higher throughput.
 */
const bestDecay = 0.998;

/**
 * Returns a limit on the number of pending requests. The limit adapts to the latency of the
 * requests. If the latency is too high, sets the limit by Little's law. The limit is then the best
 * throughput times the highest acceptable latency.
 *
 * The tests in latency-limit.test.ts send three times the load that a service can serve. With the
 * constants above, the service keeps at least 90 % of its throughput. The 99th percentile of the
 * latency is at most five times the value at low load. A higher `latencyFactorMax` or `stepMax`
 * would increase this latency.
 *
 * @param most the highest number of pending requests that the limit may allow
 */
export function openLatencyLimit(most: number) {
  let limit = Math.min(limitAtStart, most);
  /** The moving average of the latency. One unusual window hardly changes this average. */
  let smoothMs: number | undefined;
  /** The latency at low load. */
  let baseMs = Number.POSITIVE_INFINITY;
  /** The best measured throughput. A short stall of the service lowers this value only a little. */
  let bestPerMs = 0;
  let pendingMax = 0;
  let count = 0;
  let sumMs = 0;
  let startedAtMs = 0;

  const adjust = (ms: number) => {
    const meanMs = sumMs / count;
    smoothMs = smoothMs === undefined ? meanMs : smoothMs + (meanMs - smoothMs) * windowWeight;
    // At low load, the latency does not depend on the number of pending requests.
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
