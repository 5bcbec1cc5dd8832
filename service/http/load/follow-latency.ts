// A limit of requests under way that follows their latency, adjusted every tenth of a second. While
// requests take little more than they do under low load, the limit grows whenever it is reached.
// When they take more than four times that, it shrinks in proportion.
//
// It never shrinks below the best throughput seen times the latency allowed (Little's law): if
// something else is the cause of the latency, such as refusing thousands, fewer would not be
// faster.

const windowMs = 100;
/** A window with fewer answers is too small to measure by. */
const answersMin = 5;
/** The limit is never lower: so few share one commit and hardly wait for each other. */
const least = 16;
const atFirst = 256;
/** Latency may be so many times that of low load. */
const tolerance = 4;
/** A lower latency is never too much. */
const targetMsMin = 10;
/** At low load the base latency may rise by this factor a window: it doubles in two minutes. */
const forgetting = 1.0006;
/** At high load the best throughput decays by this factor: by half in half a minute. */
const slackening = 0.998;

/** @param most never above it */
export function followLatency(most: number) {
  let limit = Math.min(atFirst, most);
  /** A moving mean over windows, so that one unusual window decides nothing. */
  let smoothMs: number | undefined;
  let baseMs = Number.POSITIVE_INFINITY;
  let bestPerMs = 0;
  let busiest = 0;
  let count = 0;
  let sumMs = 0;
  let startedAtMs = 0;

  const adjust = (windowMs: number) => {
    const meanMs = sumMs / count;
    smoothMs = smoothMs === undefined ? meanMs : smoothMs + (meanMs - smoothMs) / 5;
    // With few requests under way, latency is the machine's own and not caused by their number.
    const isRelevant = busiest > limit / 2;
    baseMs = Math.min(smoothMs, isRelevant ? baseMs : baseMs * forgetting);
    bestPerMs = Math.max(count / windowMs, isRelevant ? bestPerMs * slackening : bestPerMs);
    if (!isRelevant) return;
    const targetMs = Math.max(targetMsMin, tolerance * baseMs);
    const factor = targetMs / meanMs;
    if (factor < 1) limit = Math.max(least, bestPerMs * targetMs, limit * Math.max(0.7, factor));
    else if (busiest >= limit) limit += Math.max(1, limit / 20);
    limit = Math.min(most, limit);
  };

  return {
    current: () => limit,
    /** One was let in or refused, with so many under way. */
    met(underWay: number) {
      if (underWay > busiest) busiest = underWay;
    },
    /** One was answered. */
    took(ms: number, nowMs: number) {
      count++;
      sumMs += ms;
      if (nowMs - startedAtMs < windowMs || count < answersMin) return;
      adjust(nowMs - startedAtMs);
      busiest = 0;
      count = 0;
      sumMs = 0;
      startedAtMs = nowMs;
    },
  };
}
