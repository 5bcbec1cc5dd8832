// Measures the interval between the blocks of a chain, to predict when the next block can be
// requested and the lowest timestamp that it can have.

type Seen = { number: number; hash: string; timestamp: number; atMs: number };

export type BlockPace = {
  /** Records a head. Recording the same head again has no effect. */
  note(head: Omit<Seen, "atMs">, nowMs: number): void;
  /** Returns the time from which a new block can be expected. */
  expectedMs(): number;
  /**
   * Returns the earliest possible timestamp of the next block in seconds, or 0 if no block was
   * seen.
   */
  nextSeconds(): number;
};

/**
 * `spacingsMax`: the number of block intervals that are measured. `unevenMax`: the maximum ratio of
 * the longest interval to the shortest, above which blocks do not count as regular.
 */
const spacingsMax = 8;
const unevenMax = 3;
/**
 * If the interval between blocks is shorter than this number of polls, each poll requests the head.
 */
const pollsMin = 3;
/**
 * The fraction of a poll by which a request precedes the expected time, so that a new block is
 * found soon.
 */
const earlier = 0.1;

export function openBlockPace(pollMs: number): BlockPace {
  let last: Seen | undefined;
  let spacingsMs: number[] = [];
  return {
    note({ number, hash, timestamp }, nowMs) {
      if (last?.hash === hash) return;
      const blocks = number - (last?.number ?? number);
      if (last && blocks > 0) {
        // Measures the interval with the chain's clock and with this host's clock, and uses the
        // shorter.
        const chainMs = ((timestamp - last.timestamp) * 1000) / blocks;
        const spacingMs = Math.min(chainMs, (nowMs - last.atMs) / blocks + pollMs);
        spacingsMs = [...spacingsMs, spacingMs].slice(-spacingsMax);
      } else spacingsMs = [];
      last = { number, hash, timestamp, atMs: nowMs };
    },
    expectedMs() {
      const shortest = Math.min(...spacingsMs);
      const isEven = Math.max(...spacingsMs) <= shortest * unevenMax;
      const isKnown = spacingsMs.length === spacingsMax && isEven;
      if (!last || !isKnown || shortest < pollMs * pollsMin) return 0;
      return last.atMs + shortest - pollMs * earlier;
    },
    nextSeconds() {
      const spacing = spacingsMs.length === 0 ? 0 : Math.min(...spacingsMs);
      return last ? last.timestamp + Math.max(1, Math.floor(spacing / 1000)) : 0;
    },
  };
}
