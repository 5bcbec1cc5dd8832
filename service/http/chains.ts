// GET /chains: spec/service.md §4.3. The listed chains and their tokens.

import type { Parts } from "./parts.ts";
import type { Route } from "./routes.ts";

export function chains({ chains, factory }: Pick<Parts, "chains" | "factory">): Route {
  return {
    handler(_request, reply) {
      // The registry may list or unlist a chain at any minute.
      reply.header("cache-control", "public, max-age=60");
      const listed = chains
        .listed()
        .map(({ chainId, name, tokens }) => ({ chainId, name, tokens }));
      return reply.send({ factory, chains: listed });
    },
  };
}
