// POST /address/check: spec/service.md, "Check". Returns a simulation, findings, and the record
// that a create request would return. Saves nothing. A check calls the chain's endpoints several
// times. Therefore, each account also has a rate limit for checks.

import { formatAddress, type Intent, requirementOf } from "executable-address";
import type { Finding } from "executable-address/client";
import { policies } from "../../accounts/policies.ts";
import { openChecks } from "../../chain/findings/checks.ts";
import type { OtherChain } from "../../chain/findings/recovery.ts";
import { perChain } from "../../chain/registry.ts";
import { decodeRecord, recordJson } from "../../store/record.ts";
import { authorize } from "../authorize/authorize.ts";
import { jsonType, missingBody } from "../errors.ts";
import { limitPending } from "../load/admission.ts";
import { metered, takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { parseNewIntent } from "./new-intent.ts";

/**
 * @param body any JSON value
 * @returns JSON: record, simulation, findings, and notes
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 * @throws {Refusal} `rate_limited`
 * @throws {ChainUnavailable}
 */
export type CheckIntent = (accountId: string, body: unknown) => Promise<string>;

/**
 * Returns a function that checks intents. The API and the dashboard share this function, so they
 * also share each account's limit.
 */
export function openCheck(parts: Parts): CheckIntent {
  const { accounts, chains, keccak } = parts;
  const checkOn = perChain(parts, (chain) => {
    const { confirmations, paymentConfirmations } = chains.find(chain.chainId)!;
    const rpc = metered(parts, chain, "check");
    const depths = { confirmations, paymentConfirmations };
    const others = () => othersOf(parts, chain.chainId);
    return openChecks({ ...chain, rpc, ...depths, others });
  });
  return async (accountId, body) => {
    const { address, intent, terms } = parseNewIntent(body, parts);
    await takeOrRefuse(accounts.limiter, policies.checks, accountId, "too many checks");
    const subject = { address: formatAddress(address, keccak), intent };
    const [checked, conditions] = await Promise.all([
      checkOn(intent.chainId)(subject),
      findConditions(intent, parts),
    ]);
    const findings = [...conditions, ...checked.findings];
    const record = recordJson(address, terms, intent, parts);
    return `{"record":${record},${JSON.stringify({ ...checked, findings }).slice(1)}`;
  };
}

/**
 * If the chain is a test network, returns the other listed test networks. Otherwise, returns the
 * other listed production networks.
 */
function othersOf(parts: Parts, chainId: number): OtherChain[] {
  const { chains } = parts;
  const { isTestnet } = chains.find(chainId)!;
  return chains
    .listed()
    .filter((each) => each.chainId !== chainId && each.isTestnet === isTestnet)
    .map((each) => {
      const chain = { chainId: each.chainId, rpc: chains.rpcOf(each.chainId) };
      return { name: each.name, rpc: metered(parts, chain, "check") };
    });
}

export function check(parts: Parts, checkIntent: CheckIntent): Route {
  const { limits, metrics } = parts;
  return {
    before: [
      async (request, reply) => {
        request.caller = await authorize(request, reply, parts, "check");
      },
    ],
    whenRead: [limitPending(metrics, "check", limits.createsInFlightMax)],
    async handler(request, reply) {
      if (request.body === undefined) throw missingBody();
      reply.header("content-type", jsonType);
      return checkIntent(request.caller!.accountId, request.body);
    },
  };
}

/**
 * Finds conditions in the intent (`requireExecuted` and `requireClosed`) that refer to an address
 * of another chain. Such a condition is a mistake:
 *
 * - `requireExecuted` can never be true, because the address can be executed only on its own chain.
 *   Therefore, the intent's calls never run.
 * - `requireClosed` does not protect anything, because anyone can make the condition true. Anyone
 *   can close the address on the intent's chain, because the address belongs to another chain.
 */
async function findConditions(
  { calls, chainId }: Intent,
  parts: Pick<Parts, "store" | "factory" | "keccak">,
): Promise<Finding[]> {
  const findings = calls.map(async (call, index): Promise<Finding[]> => {
    const required = requirementOf(call);
    if (!required || !("vault" in required)) return [];
    const address = Buffer.from(required.vault.slice(2), "hex");
    const terms = await parts.store.findTerms(address);
    if (!terms) return [];
    const other = decodeRecord(address, terms, parts).chainId;
    if (other === chainId) return [];
    const effect =
      required.of === "executed"
        ? "this condition is never true"
        : "anyone can make this condition true";
    const message = `the address belongs to chain ${other}: on chain ${chainId} ${effect}`;
    const cure = `use an address of chain ${chainId}`;
    return [{ path: ["calls", index, "args", 0], code: "condition_of_other_chain", message, cure }];
  });
  return (await Promise.all(findings)).flat();
}
