// GET /address/{address}/simulation: spec/service.md, "Simulation". Public; what executing the
// address would do now, as this service's node computes it. News for people, never evidence.

import { openSimulations } from "../../chain/simulation/reader.ts";
import { budget } from "../load/budget.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { perChain, refuseUnread, type Statuses } from "../status/source.ts";

export function simulation(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics } = parts;
  const simulateOn = perChain(parts, openSimulations);
  return {
    before: [budget(limits.lookupsInFlightMax, () => metrics.shed.inc({ route: "simulation" }))],
    async handler(request, reply) {
      const subject = await statuses.findSubject(request);
      const { chainId } = subject.intent;
      const found = await simulateOn(chainId)(subject).catch((error) =>
        refuseUnread(chainId, error),
      );
      return reply.header("cache-control", "no-store").send(found);
    },
  };
}
