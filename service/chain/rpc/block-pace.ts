// Measures the interval between the blocks of a chain, to predict when to request the next block,
// and the lowest timestamp that this block can have.

type Seen = { number: number; hash: string; timestamp: number; atMs: number };

export type BlockPace = {
  /** Records a head. Recording the same head again has no effect. */
  note(head: Omit<Seen, "atMs">, nowMs: number): void;
  /** Returns the time at which to request the next block, or 0 if that time cannot be predicted. */
  expectedMs(): number;
  /**
   * Returns the lowest timestamp that the next block can have, in Unix seconds, or 0 if no block
   * was seen.
   */
  nextSeconds(): number;
};

/**
 * `spacingsMax`: the number of block intervals that are measured. `unevenMax`: blocks are regular
 * if the longest interval is at most this multiple of the shortest.
 */
const spacingsMax = 8;
const unevenMax = 3;
/** If blocks are less than this number of poll intervals apart, every poll requests the head. */
const pollsMin = 3;
/**
 * The next block is requested this fraction of a poll interval before it is expected, so that it is
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
        // Measures the interval by the chain's clock and by this host's clock, and uses the shorter
        // interval.
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
