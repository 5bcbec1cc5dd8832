// GET /address/{address}/status: spec/service.md, "Status". Public. Returns the status of an
// address.
//
// GET /address/{address}/returns: spec/service.md, "Returns". Lists the cases in which misdirected
// money can be returned. Does not read the chain.

import type { Intent } from "executable-address";
import { deriveReturns, isSame, type ReturnPolicy } from "executable-address/status";
import { addressOf } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "./read.ts";

export function status({ limits, metrics }: Parts, statuses: Statuses): Route {
  return {
    before: [limitPending(metrics, "status", limits.lookupsInFlightMax)],
    handler: async (request) => statuses.read(await statuses.readSubject(addressOf(request))),
  };
}

/**
 * Handles GET .../returns. The response contains the executor's policy, so the response can change
 * at any time.
 */
export function returns(
  { chains, executorClient, limits, metrics }: Parts,
  statuses: Statuses,
): Route {
  const policyOf = async ({ chainId, token }: Intent): Promise<ReturnPolicy | null> => {
    const chain = chains.find(chainId);
    if (!chain || !(await executorClient.isActive(chainId))) return null;
    const { confirmations, paymentConfirmations, tokens } = chain;
    const listed = tokens.find(({ address }) => isSame(address, token));
    return { confirmations, paymentConfirmations, amountMin: listed?.recoverMin ?? "1" };
  };
  return {
    before: [limitPending(metrics, "returns", limits.lookupsInFlightMax)],
    async handler(request) {
      const subject = await statuses.readSubject(addressOf(request));
      return deriveReturns(subject, await policyOf(subject.intent));
    },
  };
}
