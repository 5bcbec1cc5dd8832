// Follows an address for a page. To the statuses of the client's watch
// it adds since when nothing was heard, and the chain's clock.

import type { Hex } from "executable-address";
import {
  type Heard,
  hear,
  ServiceError,
  sleep,
  type Transport,
} from "executable-address/client/parts";
import type { ServiceStatus } from "executable-address/status";

/** The last status, and when it was heard. */
export type News = {
  /** Undefined while nothing is known. */
  readonly status: ServiceStatus | undefined;
  /** When the server last said what is so, by this device's clock in Unix milliseconds. */
  readonly heardAtMs: number | undefined;
  /** Nothing was heard for {@link silentAfterMs}, or the server cannot read its chain. */
  readonly isSilent: boolean;
  /** The server does not have this address: no status will come. */
  readonly isUnknown: boolean;
  /** How long nothing was heard; 0 where no status can come. */
  silentSeconds(): number;
  /** The time of the chain's newest known block and what passed since, in Unix seconds. */
  chainSeconds(): number | undefined;
};

/** The news before anything is known. */
export const noNews: News = {
  status: undefined,
  heardAtMs: undefined,
  isSilent: false,
  isUnknown: false,
  silentSeconds: () => 0,
  chainSeconds: () => undefined,
};

export type FollowOptions = {
  readonly address: Hex;
  /** It names the version: `https://pay.example/v1`, or `/v1` on the service's own pages. */
  readonly baseUrl: string;
  readonly tell: (news: News) => void;
};

/** The server sends a ping every 15 s. A person who looks learns of silence within 30. */
const silentAfterMs = 25_000;
const streamSilenceMs = 18_000;
const pollMs = 5_000;
const timeoutMs = 5_000;
const tickMs = 1_000;

/**
 * Follows an address until the answer is called. Never throws; `tell` is called at each news and
 * whenever silence begins or ends.
 */
export function followStatus({ address, baseUrl, tell }: FollowOptions): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  let news = noNews;
  let heardTick = performance.now();
  let block: { timestamp: number; tick: number } | undefined;

  const chainSeconds = () =>
    block && block.timestamp + Math.floor((performance.now() - block.tick) / 1000);
  const silentSeconds = () =>
    news.isUnknown ? 0 : Math.floor((performance.now() - heardTick) / 1000);
  const say = (change: Partial<News>) => {
    news = { ...news, ...change, chainSeconds, silentSeconds };
    tell(news);
  };
  const hush = () => {
    if (!news.isSilent) say({ isSilent: true });
  };
  const take = (heard: Heard) => {
    if (heard.kind === "unavailable") return hush();
    const timestamp = heard.kind === "status" ? heard.status.block.timestamp : heard.timestamp;
    // A server whose chain does not answer names no block, so nothing new is known.
    if (timestamp === undefined) return;
    heardTick = performance.now();
    if (timestamp >= (block?.timestamp ?? 0)) block = { timestamp, tick: heardTick };
    const status = heard.kind === "status" ? heard.status : news.status;
    say({ status, heardAtMs: Date.now(), isSilent: false });
  };

  const timer = setInterval(() => {
    if (performance.now() - heardTick > silentAfterMs) hush();
  }, tickMs);
  const stop = () => {
    stopping.abort();
    clearInterval(timer);
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
      try {
        const options = { signal, pollMs, silenceMs: streamSilenceMs };
        for await (const heard of hear(transport, address, options)) take(heard);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ServiceError && error.code === "not_found") {
          stop();
          return say({ isUnknown: true });
        }
      }
      await sleep(pollMs, signal).catch(() => {});
    }
  };
  void follow();
  return stop;
}
