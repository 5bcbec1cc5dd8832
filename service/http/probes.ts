// GET /livez and /readyz, for supervisors and load balancers.

import type { FastifyInstance } from "fastify";
import { Refusal } from "./errors.ts";
import type { Parts } from "./parts.ts";
import { mount } from "./routes.ts";

/** Alive: the event loop runs. Ready: not draining, and the store reads and has lost no commit. */
export function mountProbes(app: FastifyInstance, { store, draining, metrics }: Parts): void {
  mount(app, metrics, "/livez", {
    GET: { handler: async () => ({ status: "ok" }) },
  });
  mount(app, metrics, "/readyz", {
    GET: {
      async handler() {
        if (draining.aborted) throw new Refusal("service_unavailable", "draining");
        await store.check();
        return { status: "ok" };
      },
    },
  });
}
