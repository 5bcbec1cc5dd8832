// GET /address/{address}/status: spec/service.md, "Status". Public, and true of one block only.

import { addressOf } from "../input/address.ts";
import { budget } from "../load/budget.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "./source.ts";

export function status({ limits, metrics }: Parts, statuses: Statuses): Route {
  return {
    before: [budget(limits.lookupsInFlightMax, () => metrics.shed.inc({ route: "status" }))],
    async handler(request, reply) {
      const subject = await statuses.readSubject(addressOf(request));
      const found = await statuses.read(subject);
      reply.header("cache-control", "no-store");
      return found;
    },
  };
}
