// `executable-address/follow`: the status of an address as a page follows it. Server-sent events,
// and polling behind them: a stream that breaks or goes quiet is noticed, and so is a server that
// is gone.

import { proveStatus } from "../client/answers.ts";
import type { Hex } from "../intent/intent.ts";
import type { ServiceStatus } from "../status/shape.ts";

/** What is known, and since when. */
export type News = {
  /** Undefined while nothing is known. */
  readonly status: ServiceStatus | undefined;
  /** When the server last said what is so, by this device's clock in Unix milliseconds. */
  readonly heardAtMs: number | undefined;
  /** Nothing was heard for {@link silentAfterMs}, or the server cannot read its chain. */
  readonly isSilent: boolean;
  /** The server does not hold this address: no status will come. */
  readonly isUnknown: boolean;
  /** The time of the chain's newest known block and what passed since, in Unix seconds. */
  chainSeconds(): number | undefined;
};

export type FollowOptions = {
  readonly address: Hex;
  /** With the version, as in `https://pay.example/v1`; `/v1` on a page of the service itself. */
  readonly baseUrl: string;
  readonly tell: (news: News) => void;
};

/** The server sends a ping every 15 s. Whoever looks learns of silence within 30. */
const silentAfterMs = 25_000;
const pollAfterMs = 18_000;
const pollEveryMs = 5_000;
const pollTimeoutMs = 5_000;
const tickMs = 1_000;

/**
 * Follows an address until the answer is called. Never throws; `tell` is called at each news and
 * whenever silence begins or ends.
 */
export function followStatus({ address, baseUrl, tell }: FollowOptions): () => void {
  const path = `${baseUrl}/address/${address}`;
  const stopping = new AbortController();
  let status: ServiceStatus | undefined;
  let heard: { atMs: number; tick: number } | undefined;
  let block: { timestamp: number; tick: number } | undefined;
  let isSilent = false;
  let isUnknown = false;
  let isPolling = false;
  let polledTick = -pollEveryMs;
  const startedTick = performance.now();
  let events: EventSource | undefined;

  const chainSeconds = () =>
    block && block.timestamp + Math.floor((performance.now() - block.tick) / 1000);
  const say = () => tell({ status, heardAtMs: heard?.atMs, isSilent, isUnknown, chainSeconds });
  const hear = (next: ServiceStatus | undefined, timestamp: number | undefined) => {
    const tick = performance.now();
    status = next ?? status;
    heard = { atMs: Date.now(), tick };
    if (timestamp !== undefined && timestamp >= (block?.timestamp ?? 0))
      block = { timestamp, tick };
    isSilent = false;
    say();
  };
  const hush = () => {
    if (isSilent) return;
    isSilent = true;
    say();
  };

  const poll = async () => {
    isPolling = true;
    polledTick = performance.now();
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(pollTimeoutMs)]);
    const answer = await fetch(`${path}/status`, { signal }).catch(() => undefined);
    const found = answer?.ok ? readStatus(await answer.text().catch(() => ""), address) : undefined;
    isPolling = false;
    if (stopping.signal.aborted) return;
    if (found) hear(found, found.block.timestamp);
    if (answer?.status !== 404) return;
    isUnknown = true;
    stop();
    say();
  };

  const tick = () => {
    const now = performance.now();
    const quietMs = now - (heard?.tick ?? startedTick);
    const isBroken = !events || events.readyState === EventSource.CLOSED;
    const isDue = isBroken || quietMs > pollAfterMs;
    if (isDue && !isPolling && now - polledTick > pollEveryMs) void poll();
    if (quietMs > silentAfterMs) hush();
  };

  const open = () => {
    events = new EventSource(`${path}/events`);
    events.addEventListener("status", (event) => {
      const found = readStatus(dataOf(event), address);
      if (found) hear(found, found.block.timestamp);
    });
    events.addEventListener("ping", (event) => {
      // Of a server whose chain does not answer there is no block, and nothing is known to be so.
      const timestamp = readPing(dataOf(event));
      if (timestamp !== undefined) hear(undefined, timestamp);
    });
    events.addEventListener("unavailable", hush);
    // A browser comes back by itself after a lost connection, but not after a refusal.
    events.addEventListener("error", tick);
  };

  const timer = setInterval(tick, tickMs);
  const stop = () => {
    stopping.abort();
    clearInterval(timer);
    events?.close();
  };
  open();
  return stop;
}

const dataOf = (event: Event): string => String((event as MessageEvent).data);

/** `{"block": {"number": 7, "timestamp": 1795255786}}`; the timestamp of it. */
function readPing(text: string): number | undefined {
  try {
    const timestamp = JSON.parse(text)?.block?.timestamp;
    return Number.isSafeInteger(timestamp) && timestamp > 0 ? timestamp : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined for another address's status, and for anything that is none. */
function readStatus(text: string, address: Hex): ServiceStatus | undefined {
  try {
    return proveStatus(JSON.parse(text), address);
  } catch {
    return undefined;
  }
}
