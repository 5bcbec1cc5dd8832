// Shares the newest block of a chain (the head) among all readers in the process. The executor's
// passes report each block that they see. If a reader needs a newer block, it requests the head,
// and other readers use the same response. If blocks arrive at regular intervals, the head is
// requested when the next block is expected. Otherwise, it is requested at each poll.

import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import { backoff } from "../../flow/wait.ts";
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
   * Returns the newest block to a loop that calls this function every `pollMs`. The head is
   * requested only if the next block is expected, and neither an executor's pass nor another reader
   * has seen that block.
   *
   * @throws {ChainUnavailable}
   */
  readNext(pollMs: number): Promise<BlockReference>;
  /**
   * Calls `onOther` whenever the newest block changes. Returns a function that ends the
   * subscription.
   */
  subscribe(onOther: () => void): () => void;
  /** Calls {@link readAtNewest} with this chain's newest block. */
  at<Found>(readAt: (block: BlockReference) => Promise<Found>): Promise<Found>;
  /** Records the newest block that a loop has just read. */
  note(block: BlockReference): void;
};

/**
 * The lifetime of a cached head. It limits reads to ten per second, regardless of the number of
 * readers.
 */
export const headMsMax = 100;
/** The poll interval for which the expected time of the next block is computed. */
const paceMs = 1_000;

/** @param now milliseconds of a monotonic clock */
export function openHeads(request: Request, now: () => number): Heads {
  const pace = openBlockPace(paceMs);
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
    // The failure is cached, so a failing node receives no more requests than a working node.
    if (failed && now() - failed.atMs < Math.min(ageMsMax, headMsMax)) return failed.pending;
    seen.atMs = Number.POSITIVE_INFINITY;
    const pending = readHead(request);
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
      // Passes run on their own schedule, so a pass may report a block up to two polls late.
      const patienceMs = seen.isReported ? 2 * pollMs : 0;
      const isExpected = now() >= pace.expectedMs() + patienceMs;
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
 * Returns the result of `read` at the newest block. A reorganization can cause any error. So if
 * `read` throws and the newest block has changed, calls `read` again at the new block.
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

/** @throws {ChainUnavailable} if the head is unknown */
async function readHead(request: Request): Promise<BlockReference> {
  const head = await findBlockAt({ request }, "latest");
  if (!head) throw new ChainUnavailable("the node has no block");
  return head;
}

/** Returns the block with this number in the current chain, or undefined if there is none. */
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

export type HeadWaits = {
  /**
   * Waits `ms`. If a subscription is alive but has reported no block since the last wait began,
   * waits longer: until the subscription reports a block, or for `quietMs` in total. Resolves
   * immediately after {@link HeadWaits.stop}.
   */
  wait(ms: number): Promise<void>;
};

export type HeadWaitOptions = {
  stopping: AbortSignal;
  quietMs: number;
  /** A subscription that is silent for this time is opened again. */
  silentMs?: number;
  /** The delay before a closed socket is opened again. It doubles up to a minute. */
  retryMs?: number;
};

const retryMsMax = 60_000;

/**
 * Follows new blocks by WebSocket (eth_subscribe newHeads). While messages arrive, waits can be
 * longer, and a message ends a wait early. The content of a message is never used. Without an open
 * socket, waits have their ordinary length.
 *
 * @param urls `wss://` or `ws://`, or none
 */
export function followHeads(urls: readonly string[], options: HeadWaitOptions): HeadWaits {
  const { stopping, quietMs } = options;
  let isNews = false;
  let wake = () => {};
  const onHead = () => {
    isNews = true;
    wake();
  };
  const followed = urls.map((url) => follow(url, onHead, options));
  const rest = async (ms: number) => {
    const waking = new AbortController();
    wake = () => waking.abort();
    await sleep(ms, undefined, { signal: AbortSignal.any([stopping, waking.signal]) }).catch(
      () => {},
    );
    wake = () => {};
  };
  return {
    async wait(ms) {
      await sleep(ms, undefined, { signal: stopping }).catch(() => {});
      const isQuiet = !isNews && followed.some((each) => each.isAlive());
      if (isQuiet && quietMs > ms && !stopping.aborted) await rest(quietMs - ms);
      isNews = false;
    },
  };
}

/**
 * Keeps one subscription open. A subscription is alive if it has reported a block within
 * `silentMs`.
 */
function follow(url: string, onHead: () => void, options: HeadWaitOptions) {
  const { stopping, silentMs = 60_000, retryMs = 1000 } = options;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let failures = 0;
  const isAlive = () => performance.now() - reportedAtMs < silentMs;

  const open = () => {
    if (stopping.aborted) return;
    const socket = new WebSocket(url);
    const silence = setTimeout(() => socket.close(), silentMs).unref();
    const stop = () => socket.close();
    stopping.addEventListener("abort", stop, { once: true });
    socket.onopen = () => {
      const params = ["newHeads"];
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params }));
    };
    socket.onmessage = ({ data }) => {
      if (!isHead(data)) return;
      reportedAtMs = performance.now();
      failures = 0;
      silence.refresh();
      onHead();
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      clearTimeout(silence);
      stopping.removeEventListener("abort", stop);
      reportedAtMs = Number.NEGATIVE_INFINITY;
      setTimeout(open, backoff(++failures, retryMs, retryMsMax)).unref();
    };
  };
  open();
  return { isAlive };
}

function isHead(data: unknown): boolean {
  try {
    return (JSON.parse(String(data)) as { method?: unknown }).method === "eth_subscription";
  } catch {
    return false;
  }
}
