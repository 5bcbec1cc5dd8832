// GET /chains: spec/service.md §4.3. What can be paid, and where.

import type { Parts } from "./parts.ts";
import type { Route } from "./routes.ts";

export function chains({ chains, factory }: Pick<Parts, "chains" | "factory">): Route {
  return {
    handler(_request, reply) {
      // A chain may be listed or leave the list at any minute.
      reply.header("cache-control", "public, max-age=60");
      const listed = chains
        .listed()
        .map(({ chainId, name, tokens }) => ({ chainId, name, tokens }));
      return reply.send({ factory, chains: listed });
    },
  };
}
