// Finds the newest block of a chain, and predicts when the next one arrives. `openHeads` shares the
// newest block among all readers in the process. The executor reports each block that it reads. If
// a reader needs a newer block, one request serves all readers. If blocks are regular, the request
// is made when a block is expected (`openBlockPace`). Otherwise, it is made at each poll.

import type { Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import { blockCall, blockOf, CallsSpent, ChainUnavailable } from "./json-rpc.ts";

type Request = (method: string, params: unknown[]) => Promise<unknown>;

export type Heads = {
  /**
   * Returns the newest block, or a block that was the newest at most `ageMsMax` ago.
   *
   * @throws {ChainUnavailable}
   */
  read(ageMsMax?: number): Promise<BlockReference>;
  /**
   * Returns the newest block, for a loop that calls this function every `pollMs`. Returns the last
   * known block if no new block is expected yet. Readers in this process share requests.
   *
   * @throws {ChainUnavailable}
   */
  readNext(pollMs: number): Promise<BlockReference>;
  /** Calls `onOther` whenever the newest block changes. Returns a function that unsubscribes. */
  subscribe(onOther: () => void): () => void;
  /** Returns the result of {@link readAtNewest} for this chain. */
  at<Found>(readAt: (block: BlockReference) => Promise<Found>): Promise<Found>;
  /** Records the newest block after the executor has read it. */
  note(block: BlockReference): void;
};

/**
 * The time for which the cached newest block is used. So a process requests the newest block at
 * most ten times per second. But if a call at the newest block fails, the block is requested again
 * immediately.
 */
export const headMsMax = 100;

/**
 * @param now milliseconds of a monotonic clock
 * @param source the text for the chain and its endpoints in errors
 */
export function openHeads(request: Request, now: () => number, source = "the chain"): Heads {
  const pace = openBlockPace();
  let newest: Promise<BlockReference> | undefined;
  let failed: { pending: Promise<BlockReference>; atMs: number } | undefined;
  let seen: { hash?: Hex; atMs: number; isReported: boolean } = { atMs: 0, isReported: false };
  const listeners = new Set<() => void>();
  const keep = ({ number, hash, timestamp }: BlockReference, isReported: boolean) => {
    const block = { number, hash, timestamp };
    const isOther = hash !== seen.hash;
    newest = Promise.resolve(block);
    seen = { hash, atMs: now(), isReported };
    pace.note(block, seen.atMs);
    if (isOther) for (const onOther of listeners) onOther();
  };
  const read = (ageMsMax = headMsMax) => {
    if (newest && now() - seen.atMs < ageMsMax) return newest;
    // Failures are cached too, so a failing node receives no additional requests.
    if (failed && now() - failed.atMs < Math.min(ageMsMax, headMsMax)) return failed.pending;
    seen.atMs = Number.POSITIVE_INFINITY;
    const pending = readHead(request, source);
    newest = pending;
    pending.then(
      (block) => newest === pending && keep(block, false),
      () => {
        if (newest !== pending) return;
        newest = undefined;
        failed = { pending, atMs: now() };
      },
    );
    return pending;
  };
  return {
    read,
    async readNext(pollMs) {
      // The executor polls at other times than this loop, so its reports can be two polls late. If
      // the executor reported the last block, the loop waits for two more polls.
      const patienceMs = seen.isReported ? 2 * pollMs : 0;
      const isExpected = now() >= pace.expectedMs(pollMs) + patienceMs;
      return read(isExpected ? pollMs + patienceMs : Number.POSITIVE_INFINITY);
    },
    subscribe(onOther) {
      listeners.add(onOther);
      return () => listeners.delete(onOther);
    },
    at: (readAt) =>
      readAtNewest(
        (isAgain) => read(isAgain ? 0 : headMsMax),
        ({ hash }) => hash,
        readAt,
      ),
    note: (block) => keep(block, true),
  };
}

const attemptsMax = 3;

/**
 * Returns the result of `read` at the newest block. A reorganization during `read` can cause any
 * error. If `read` throws and the newest block has changed, calls `read` again. Makes at most
 * {@link attemptsMax} attempts.
 *
 * @param newest returns the newest block
 */
export async function readAtNewest<Newest, Found>(
  newest: (isAgain: boolean) => Promise<Newest>,
  hashOf: (newest: Newest) => Hex,
  read: (newest: Newest) => Promise<Found>,
): Promise<Found> {
  let at = await newest(false);
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(at);
    } catch (error) {
      if (error instanceof CallsSpent) throw error;
      const newer = await newest(true);
      if (attempt === attemptsMax || hashOf(newer) === hashOf(at)) throw error;
      at = newer;
    }
  }
}

/** @throws {ChainUnavailable} if the newest block cannot be read */
async function readHead(request: Request, source: string): Promise<BlockReference> {
  const head = await findBlockAt({ request }, "latest");
  if (!head) throw new ChainUnavailable(`expected the newest block of ${source}, found null`);
  return head;
}

/** Returns the block that now has this number, or undefined if there is none. */
export async function findBlockAt(
  { request }: { request: Request },
  number: number | "latest",
): Promise<BlockReference | undefined> {
  const { method, params } = blockCall(number);
  const answer = await request(method, params);
  if (answer === null) return undefined;
  const block = blockOf(answer);
  return { number: block.number, hash: block.hash, timestamp: block.timestamp };
}

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
