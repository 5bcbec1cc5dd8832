// GET /address/{address}/simulation: spec/service.md, "Simulation". Public. Simulates the execution
// of an address at the newest block, with the service's own nodes. The result is not a proof.

import type { Limiter } from "../../accounts/limits.ts";
import { perMinute, policies } from "../../accounts/policies.ts";
import { perChain } from "../../chain/registry.ts";
import type { ChainRpc } from "../../chain/rpc/chain-rpc.ts";
import { CallsSpent } from "../../chain/rpc/json-rpc.ts";
import { openSimulations } from "../../chain/simulation/simulation.ts";
import { networkOf } from "../../flow/networks.ts";
import { addressOf } from "../input.ts";
import type { Limits } from "../limits.ts";
import { limitPending } from "../load/admission.ts";
import { takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "../status/status.ts";

export function simulation(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics } = parts;
  const { limiter } = parts.accounts;
  const simulateOn = perChain(parts, (chain) =>
    openSimulations({ ...chain, rpc: metered(parts, chain, "simulation-calls") }),
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

type MeteredParts = {
  accounts: { limiter: Limiter };
  limits: Pick<Limits, "simulationCallsPerMinute">;
};

/**
 * Returns a chain's RPC client with a limit on calls per minute. All servers that share a
 * PostgreSQL database share the limit.
 *
 * @param name the purpose of the calls; each purpose has its own limit
 */
export function metered(
  { accounts: { limiter }, limits }: MeteredParts,
  { chainId, rpc }: { chainId: number; rpc: ChainRpc },
  name: "simulation-calls" | "check-calls" | "proof-calls",
): ChainRpc {
  const burst = limits.simulationCallsPerMinute;
  const policy = perMinute(name, burst);
  return {
    ...rpc,
    async request(method, params) {
      const isAdmitted = burst > 0 && (await limiter.take(`${name} ${chainId}`, policy)).admitted;
      if (!isAdmitted)
        throw new CallsSpent(`the ${name} of chain ${chainId} for this minute are used up`);
      return rpc.request(method, params);
    },
  };
}
