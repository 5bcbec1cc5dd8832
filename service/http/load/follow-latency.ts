// A number of requests under way that follows how long they take: while they take little more than
// when there is little to do it grows where it is reached, and where they wait for each other it
// shrinks in proportion. By windows of a tenth of a second.
//
// It shrinks to what answers at the best pace seen would need to take as long as they may, and no
// further: where something else holds them up, refusing thousands say, fewer would not be faster.

const windowMs = 100;
/** Windows of fewer answers tell nothing. */
const answersMin = 5;
/** So few share a commit and hardly wait for each other, on any machine. */
const least = 16;
const atFirst = 256;
/** Answers may take so many times what they take when there is little to do. */
const tolerance = 4;
/** Below this nobody waits, whatever it was before. */
const targetMsMin = 10;
/** While there is little to do the base is forgotten at this pace: by half in two minutes. */
const forgetting = 1.0006;
/** And so the best pace, while there is much to do: by half in half a minute. */
const slackening = 0.998;

/** @param most never above it */
export function followLatency(most: number) {
  let limit = Math.min(atFirst, most);
  /** Of a window, the last ones counted in: one lucky or unlucky window decides nothing. */
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
    // Where few of the places were taken, latency tells of the machine and not of their number.
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
