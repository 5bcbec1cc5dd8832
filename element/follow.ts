// Follows the status of an address for a page. Reads the same messages as the client's `watch`.
// Also reports the chain's time and the time since the last update.

import type { Hex } from "executable-address";
import {
  pingMs,
  readMessages,
  ServiceError,
  type StreamMessage,
  sleep,
  type Transport,
} from "executable-address/client/internal";
import { type News, noNews, silentAfterMs } from "./news.ts";

export type FollowOptions = {
  readonly address: Hex;
  /**
   * The base URL with its version, such as `https://pay.example/v1`, or `/v1` on the service's own
   * pages.
   */
  readonly baseUrl: string;
  readonly report: (news: News) => void;
};

const streamSilenceMs = pingMs + 3_000;
const pollMs = 5_000;
const timeoutMs = 5_000;
const tickMs = 1_000;
/**
 * On many systems, the page's clock stops while the device sleeps, but the device's clock
 * continues. If the two clocks drift apart by more than `sleptMs` between two ticks, the device has
 * probably slept.
 */
const sleptMs = 5_000;

/**
 * `runMs` is the page's clock, which may stop while the device sleeps. `wallMs` is the device's
 * clock, which the user can change.
 */
type Clocks = { wallMs: number; runMs: number };
const clocks = (): Clocks => ({ wallMs: Date.now(), runMs: performance.now() });
/**
 * Returns the milliseconds since `at`. If the two clocks disagree, uses the longer time. An
 * overestimate only makes the page too cautious until the next update. An underestimate could make
 * the page show an expired address as open.
 */
const msSince = (at: Clocks) => Math.max(Date.now() - at.wallMs, performance.now() - at.runMs);

/**
 * Follows the status of an address until the returned function is called. Never throws. Calls
 * `report` after each update, and in these cases:
 * - the server stops responding
 * - the device wakes up
 * - the server does not know the address
 */
export function followStatus({ address, baseUrl, report }: FollowOptions): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let news = noNews;
  let updatedAt = clocks();
  let block: { timestamp: number; at: Clocks } | undefined;

  const chainSeconds = () => block && block.timestamp + Math.floor(msSince(block.at) / 1000);
  const silentSeconds = () => (news.isUnknown ? 0 : Math.floor(msSince(updatedAt) / 1000));
  const say = (change: Partial<News>) => {
    news = { ...news, ...change, chainSeconds, silentSeconds };
    report(news);
  };
  const hush = () => {
    if (!news.isSilent) say({ isSilent: true });
  };
  const take = (update: StreamMessage) => {
    if (update.kind === "unavailable") return hush();
    const timestamp = update.kind === "status" ? update.status.block.timestamp : update.timestamp;
    // If the server cannot read the chain, its pings have no time. The page ignores these pings.
    if (timestamp === undefined) return;
    updatedAt = clocks();
    if (timestamp >= (block?.timestamp ?? 0)) block = { timestamp, at: updatedAt };
    const status = update.kind === "status" ? update.status : news.status;
    const isStale = news.isStale && update.kind !== "status";
    say({ status, updatedAtMs: Date.now(), isSilent: false, isStale });
  };

  let stream = new AbortController();
  /** Reconnects if the device has slept or if the last update is older than `streamSilenceMs`. */
  const wake = (hasSlept: boolean) => {
    if (news.isUnknown || (!hasSlept && msSince(updatedAt) < streamSilenceMs)) return;
    if (news.status && !news.isStale) say({ isStale: true });
    stream.abort();
  };
  const unwatch = watchDevice(wake, () => {
    if (msSince(updatedAt) > silentAfterMs) hush();
  });
  const stop = () => {
    stopping.abort();
    stream.abort();
    unwatch();
  };

  const transport: Transport = {
    baseUrl,
    fetch: (input, init) => fetch(input, init),
    retriesMax: 0,
    waitSecondsMax: 0,
    timeoutMs,
  };
  const follow = async () => {
    while (!signal.aborted) {
      stream = new AbortController();
      try {
        const options = { signal: stream.signal, pollMs, silenceMs: streamSilenceMs };
        for await (const update of readMessages(transport, address, options)) take(update);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ServiceError && error.code === "not_found") {
          stop();
          return say({ isUnknown: true });
        }
      }
      if (!stream.signal.aborted) await sleep(pollMs, stream.signal).catch(() => {});
    }
  };
  void follow();
  return stop;
}

/**
 * Detects events after which the page may lack messages:
 * - The device slept or was offline.
 * - The page was hidden or frozen.
 *
 * @param wake called with true after the device slept or was offline: messages are probably lost.
 *   Called with false after the page was hidden or frozen: messages may be late, but are not
 *   necessarily lost
 * @param onTick called every second while the page runs
 * @returns a function that stops watching
 */
function watchDevice(wake: (hasSlept: boolean) => void, onTick: () => void): () => void {
  let ticked = clocks();
  const timer = setInterval(() => {
    const now = clocks();
    const hasSlept = Math.abs(now.wallMs - ticked.wallMs - (now.runMs - ticked.runMs)) > sleptMs;
    ticked = now;
    if (hasSlept) wake(true);
    onTick();
  }, tickMs);
  const onWake = () => {
    if (document.visibilityState === "visible") wake(false);
  };
  const onOnline = () => wake(true);
  document.addEventListener("visibilitychange", onWake);
  document.addEventListener("resume", onWake);
  window.addEventListener("online", onOnline);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", onWake);
    document.removeEventListener("resume", onWake);
    window.removeEventListener("online", onOnline);
  };
}
