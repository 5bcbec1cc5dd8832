// Predicts when the next block of a chain arrives, from the intervals between earlier blocks.

type Seen = { number: number; hash: string; timestamp: number; atMs: number };

export type BlockPace = {
  /** Records a new block. The call is idempotent. */
  note(head: Omit<Seen, "atMs">, nowMs: number): void;
  /**
   * Returns when to request the next block, or 0 if this cannot be predicted. The result is a time
   * on the same clock as `nowMs`.
   */
  expectedMs(): number;
  /**
   * Returns the lowest possible timestamp of the next block, in Unix seconds. Returns 0 if no block
   * was recorded.
   */
  nextSeconds(): number;
};

/**
 * The prediction uses the last `spacingsMax` block intervals. No block is predicted if the longest
 * interval is more than `unevenMax` times the shortest.
 */
const spacingsMax = 8;
const unevenMax = 3;
/** The shortest predicted block interval, in poll intervals. */
const pollsMin = 3;
/** The next block is requested earlier than predicted, by this fraction of the poll interval. */
const earlier = 0.1;

export function openBlockPace(pollMs: number): BlockPace {
  let last: Seen | undefined;
  let spacingsMs: number[] = [];
  return {
    note({ number, hash, timestamp }, nowMs) {
      if (last?.hash === hash) return;
      const blocks = number - (last?.number ?? number);
      if (last && blocks > 0) {
        // The interval is measured by the chain's clock and by this host's clock. The shorter
        // result is used.
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
