// Predicts when the next block of a chain arrives, from the intervals between earlier blocks.

type Seen = { number: number; hash: string; timestamp: number; atMs: number };

export type BlockPace = {
  /** Records a new block. The call is idempotent. */
  note(head: Omit<Seen, "atMs">, nowMs: number): void;
  /**
   * Returns when to request the next block, or 0 if this cannot be predicted. The result is a time
   * on the same clock as `nowMs`.
   *
   * @param pollMs the interval at which the caller requests blocks
   */
  expectedMs(pollMs: number): number;
  /**
   * Returns the lowest possible timestamp of the next block, in Unix seconds. Returns 0 if no block
   * was recorded.
   *
   * @param pollMs as in {@link BlockPace.expectedMs}
   */
  nextSeconds(pollMs: number): number;
};

/**
 * The prediction uses the last `spacingsMax` block intervals. No block is predicted if the longest
 * interval is more than `unevenMax` times the shortest.
 */
const spacingsMax = 8;
const unevenMax = 3;
/** The shortest predicted block interval, in poll intervals. */
const pollsMin = 3;
/** The next block is requested this fraction of the poll interval before its predicted time. */
const earlier = 0.1;

/**
 * The time between two blocks, measured with the chain's clock and with this host's clock. `hostMs`
 * can be too short by one poll interval, so one poll interval is added. The shorter of the two
 * times is then used.
 */
type Spacing = { chainMs: number; hostMs: number };

export function openBlockPace(): BlockPace {
  let last: Seen | undefined;
  let spacings: Spacing[] = [];
  const spacingsMs = (pollMs: number) =>
    spacings.map(({ chainMs, hostMs }) => Math.min(chainMs, hostMs + pollMs));
  return {
    note({ number, hash, timestamp }, nowMs) {
      if (last?.hash === hash) return;
      const blocks = number - (last?.number ?? number);
      if (last && blocks > 0) {
        const chainMs = ((timestamp - last.timestamp) * 1000) / blocks;
        const hostMs = (nowMs - last.atMs) / blocks;
        spacings = [...spacings, { chainMs, hostMs }].slice(-spacingsMax);
      } else spacings = [];
      last = { number, hash, timestamp, atMs: nowMs };
    },
    expectedMs(pollMs) {
      const knownMs = spacingsMs(pollMs);
      const shortest = Math.min(...knownMs);
      const isEven = Math.max(...knownMs) <= shortest * unevenMax;
      const isKnown = knownMs.length === spacingsMax && isEven;
      if (!last || !isKnown || shortest < pollMs * pollsMin) return 0;
      return last.atMs + shortest - pollMs * earlier;
    },
    nextSeconds(pollMs) {
      const spacing = spacings.length === 0 ? 0 : Math.min(...spacingsMs(pollMs));
      return last ? last.timestamp + Math.max(1, Math.floor(spacing / 1000)) : 0;
    },
  };
}
