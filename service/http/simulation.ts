// GET /address/{address}/simulation: spec/service.md, "Simulation". Public; what executing the
// address would do now, as this service's node computes it. News for people, never evidence.

import { openSimulations, type Simulate } from "../chain/simulation-reader.ts";
import { budget } from "./budget.ts";
import type { Parts } from "./parts.ts";
import type { Route } from "./routes.ts";
import { refuseUnread, type Statuses, unconfigured } from "./status-source.ts";

export function simulation(parts: Parts, statuses: Statuses): Route {
  const { chains, factory, limits, metrics } = parts;
  const opened = new Map<number, Simulate>();
  const simulateOn = (chainId: number): Simulate => {
    const known = opened.get(chainId);
    if (known) return known;
    const chain = chains.find(chainId);
    if (!chain) throw unconfigured(chainId);
    const { tokens } = chain;
    const fresh = openSimulations({ chainId, factory, client: chains.clientOf(chainId), tokens });
    opened.set(chainId, fresh);
    return fresh;
  };

  return {
    before: [budget(limits.lookupsInFlightMax, () => metrics.shed.inc({ route: "simulation" }))],
    async handler(request, reply) {
      const subject = await statuses.findSubject(request);
      const { chainId } = subject.intent;
      const found = await simulateOn(chainId)(subject).catch((error) =>
        refuseUnread(chainId, error),
      );
      return reply.header("Cache-Control", "no-store").send(found);
    },
  };
}
