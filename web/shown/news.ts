import type { Hex } from "executable-address";
import { followStatus, type News, noNews } from "executable-address-element/page";
import { useEffect, useState } from "react";

/** Follows what is known of `address` while the page is open. */
export function useNews(address: Hex): News {
  const [news, setNews] = useState(noNews);
  useEffect(() => followStatus({ address, baseUrl: "/v1", tell: setNews }), [address]);
  return news;
}

/** Draws again every `ms`, for what depends on the time. */
export function useTick(ms: number): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setCount((count) => count + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** Unix, by the chain's clock where it is known. */
export const nowSeconds = ({ chainSeconds }: Pick<News, "chainSeconds">): number =>
  Math.floor(chainSeconds() ?? Date.now() / 1000);

/** The server may look at a block a little older than the one that brought the news. */
const behindMs = 500;
const triesMax = 4;

/** Asks again while what is found is older than the news that it was asked for. */
export async function askUntilCaughtUp<T>(
  ask: () => Promise<T>,
  isBehind: (found: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    const found = await ask();
    if (signal.aborted || tries === triesMax || !isBehind(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, behindMs));
  }
}
