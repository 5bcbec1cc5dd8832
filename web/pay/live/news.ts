import type { Hex } from "executable-address";
import { followStatus, type News } from "executable-address/follow";
import { useEffect, useState } from "react";

const nothing: News = {
  status: undefined,
  heardAtMs: undefined,
  isSilent: false,
  isUnknown: false,
  chainSeconds: () => undefined,
};

/** What is known of `address`, followed while the page is open. */
export function useNews(address: Hex): News {
  const [news, setNews] = useState(nothing);
  useEffect(() => followStatus({ address, baseUrl: "/v1", tell: setNews }), [address]);
  return news;
}

/** Draws again every `milliseconds`, for what depends on the time. */
export function useTick(milliseconds: number): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setCount((count) => count + 1), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}
