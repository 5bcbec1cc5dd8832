// The live status of an address, and the page's clock.

import type { Hex } from "executable-address";
import { followStatus, type News, noNews } from "executable-address-element/page";
import { useEffect, useState } from "react";

/** Follows the status of `address` while the page is open. */
export function useNews(address: Hex): News {
  const [news, setNews] = useState(noNews);
  useEffect(() => followStatus({ address, baseUrl: "/v1", report: setNews }), [address]);
  return news;
}

/** Renders again every `ms` milliseconds, for content that depends on the time. */
export function useTick(ms: number): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setCount((count) => count + 1), ms);
    return () => clearInterval(timer);
  }, [ms]);
}

/** Returns the current Unix time, by the chain's clock if a status has arrived. */
export const nowSeconds = ({ chainSeconds }: Pick<News, "chainSeconds">): number =>
  Math.floor(chainSeconds() ?? Date.now() / 1000);
