// When to look at a chain again. A chain whose blocks come evenly is looked at when the next one is
// expected, and from then on at each poll until it shows. Any other is looked at each poll.

type Seen = { number: number; hash: string; timestamp: number; atMs: number };

export type BlockPace = {
  /** A head as it was seen; the same one again changes nothing. */
  note(head: Omit<Seen, "atMs">, nowMs: number): void;
  /** From when on a new block may be there. */
  expectedMs(): number;
  /** The least timestamp that the next block may have, in seconds; 0 where no block was seen. */
  nextSeconds(): number;
};

/** Spacings by which a chain is judged, and how much the longest may exceed the shortest. */
const spacingsMax = 8;
const unevenMax = 3;
/** Blocks that come more often than in so many polls are looked for at each poll. */
const pollsMin = 3;
/** It looks so much of a poll earlier each time, so that a block is seen soon after it came. */
const earlier = 0.1;

export function openBlockPace(pollMs: number): BlockPace {
  let last: Seen | undefined;
  let spacingsMs: number[] = [];
  return {
    note({ number, hash, timestamp }, nowMs) {
      if (last?.hash === hash) return;
      const blocks = number - (last?.number ?? number);
      if (last && blocks > 0) {
        // By the chain's clock and by this host's: whichever is shorter.
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
