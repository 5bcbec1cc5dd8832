// How a chain is asked: each of its RPC URLs in turn until one answers.

import { createPublicClient, fallback, http, type PublicClient } from "viem";
import type { Chain } from "./chains.ts";

const requestMsMax = 10_000;

export function createClient({ chainId, name, rpcUrls }: Chain): PublicClient {
  return createPublicClient({
    chain: {
      id: chainId,
      name,
      nativeCurrency: { name: "native coin", symbol: "native", decimals: 18 },
      rpcUrls: { default: { http: rpcUrls } },
    },
    transport: fallback(rpcUrls.map((url) => http(url, { timeout: requestMsMax, retryCount: 1 }))),
  });
}
