// Follows new blocks by WebSocket (eth_subscribe newHeads). A message only ends a wait early, and
// while messages come, waits may be longer; its content is never used. Without a live socket, waits
// have their ordinary length.

import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../flow/wait.ts";

type Heads = {
  /**
   * Waits `ms`. If a subscription lives and told of no block since the last wait began, it waits on
   * until one does, or for `quietMs` in all. Resolves at once when stopped.
   */
  wait(ms: number): Promise<void>;
};

export type HeadsOptions = {
  stopping: AbortSignal;
  quietMs: number;
  /** A subscription that is silent for so long is made anew. */
  silentMs?: number;
  /** Before a dropped socket is opened again: doubled each time up to a minute. */
  retryMs?: number;
};

const retryMsMax = 60_000;

/** @param urls `wss://` or `ws://`; none: waits are plain */
export function followHeads(urls: readonly string[], options: HeadsOptions): Heads {
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

/** Keeps one subscription. Alive: it told of a block, and not long ago. */
function follow(url: string, onHead: () => void, options: HeadsOptions) {
  const { stopping, silentMs = 60_000, retryMs = 1000 } = options;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let failures = 0;
  const isAlive = () => performance.now() - toldAtMs < silentMs;

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
      toldAtMs = performance.now();
      failures = 0;
      silence.refresh();
      onHead();
    };
    socket.onerror = () => {};
    socket.onclose = () => {
      clearTimeout(silence);
      stopping.removeEventListener("abort", stop);
      toldAtMs = Number.NEGATIVE_INFINITY;
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
