// Extends the executor's wait between two polls while an endpoint reports new blocks by WebSocket.
// A reported block ends the wait. The executor therefore requests the newest block less often while
// no block is mined.

import { setTimeout as sleep } from "node:timers/promises";
import { backoff } from "../../flow/wait.ts";

export type HeadWaits = {
  /**
   * Waits for `ms`. If a working subscription has reported no block since the last call, waits for
   * its next block. This wait takes at most `quietMs` in total. Resolves immediately if `stopping`
   * is aborted.
   */
  wait(ms: number): Promise<void>;
};

export type HeadWaitOptions = {
  stopping: AbortSignal;
  quietMs: number;
  /** A subscription is restarted if it reports no block for this time. */
  silentMs?: number;
  /**
   * The delay before a closed socket is reopened. The delay doubles with each failure, up to a
   * minute.
   */
  retryMs?: number;
};

const retryMsMax = 60_000;

/**
 * Subscribes to new blocks by WebSocket (eth_subscribe newHeads). While a subscription works,
 * {@link HeadWaits.wait} waits until the next block is reported. Otherwise, it waits only for the
 * given time. The content of the reported blocks is not used.
 *
 * @param urls the `wss://` or `ws://` URLs; may be empty
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
 * Keeps one subscription open, which counts as alive if it has reported a block within `silentMs`.
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
