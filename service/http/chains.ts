// GET /chains: spec/service.md §4.3. The listed chains and their tokens.

import type { Chain } from "../chain/chains.ts";
import type { Parts } from "./parts.ts";
import type { Route } from "./routes.ts";

export function chains({ chains, factory }: Pick<Parts, "chains" | "factory">): Route {
  return {
    handler(_request, reply) {
      // The registry may list or unlist a chain at any minute.
      reply.header("cache-control", "public, max-age=60");
      return { factory, chains: chains.listed().map(showChain) };
    },
  };
}

/** Leaves out what the operator's file says for the executor. */
export function showChain({ chainId, name, tokens }: Chain) {
  const fields = tokens.map(({ symbol, address, decimals }) => ({ symbol, address, decimals }));
  return { chainId, name, tokens: fields };
}
