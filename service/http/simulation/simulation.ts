// GET /address/{address}/simulation: spec/service.md, "Simulation". Public. Simulates the execution
// of an address at the newest block, with the service's own nodes. The result is not a proof.

import { policies } from "../../accounts/policies.ts";
import { perChain } from "../../chain/registry.ts";
import { openSimulations } from "../../chain/simulation/simulation.ts";
import { networkOf } from "../../flow/networks.ts";
import { addressOf } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import { metered, takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "../status/status.ts";

export function simulation(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics } = parts;
  const { limiter } = parts.accounts;
  const simulateOn = perChain(parts, (chain) =>
    openSimulations({ ...chain, rpc: metered(parts, chain, "simulation") }),
  );
  return {
    before: [limitPending(metrics, "simulation", limits.lookupsInFlightMax)],
    async handler(request) {
      const subject = await statuses.readSubject(addressOf(request));
      await takeOrRefuse(
        limiter,
        policies.simulations,
        networkOf(request.ip),
        "too many simulations",
      );
      return simulateOn(subject.intent.chainId)(subject);
    },
  };
}
