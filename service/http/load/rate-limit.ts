// Counts requests against the rate limits of API keys, client IDs, accounts, and client networks.
// Refuses requests above a limit with 429. accounts/policies.ts defines the limits. For each chain,
// all clients also share limits on RPC calls and on reports. Above these limits, the status is 503.

import type { Limiter, LimitVerdict } from "../../accounts/limits.ts";
import { describePolicy, type Policy, perMinute } from "../../accounts/policies.ts";
import type { ChainRpc } from "../../chain/rpc/chain-rpc.ts";
import { CallsSpent } from "../../chain/rpc/json-rpc.ts";
import { Refusal, retrySeconds } from "../errors.ts";
import type { Limits } from "../limits.ts";
import type { Metrics } from "../metrics.ts";

/**
 * Counts a request against the limit `policy`.
 *
 * @param limitKey identifies the account, API key, or client network
 * @param what the beginning of the message, such as "too many checks"
 * @returns the rate limit headers for the response
 * @throws {Refusal} 429 `rate_limited` if the limit is exceeded
 */
export async function takeOrRefuse(
  limiter: Limiter,
  policy: Policy,
  limitKey: string,
  what: string,
): Promise<Record<string, string>> {
  const verdict = await limiter.take(`${policy.name} ${limitKey}`, policy);
  const headers = limitHeaders(verdict, policy);
  if (!verdict.admitted) {
    const message = `${what}: expected at most ${describePolicy(policy)}`;
    throw overLimit(message, verdict.retryMs, headers);
  }
  return headers;
}

/**
 * Returns the rate limit headers of draft-ietf-httpapi-ratelimit-headers. `q` is the size of the
 * full burst, which is available after `w` seconds without requests. `r` is the number of requests
 * that are left now. `t` is the number of seconds until the full burst is available again. For a
 * refused request, `t` is the time until the next request is admitted, like `Retry-After`.
 */
function limitHeaders(
  { admitted, remaining, resetMs, retryMs }: LimitVerdict,
  { name, burst, intervalMs }: Policy,
): Record<string, string> {
  const seconds = admitted ? Math.ceil(resetMs / 1000) : retrySeconds(retryMs);
  return {
    "ratelimit-policy": `"${name}";q=${burst};w=${(burst * intervalMs) / 1000}`,
    ratelimit: `"${name}";r=${remaining};t=${seconds}`,
  };
}

/**
 * Returns the refusal (429 `rate_limited`) with the time until the next request is admitted.
 *
 * @param headers the rate limit headers of the exceeded limit. They replace the headers that
 *   describe the credential's limit.
 */
export function overLimit(
  what: string,
  retryMs: number,
  headers: Record<string, string> = {},
): Refusal {
  const seconds = retrySeconds(retryMs);
  return new Refusal("rate_limited", `${what}; try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds), ...headers },
  });
}

/**
 * Counts a request against a limit that all clients share for each chain.
 *
 * @param limit describes the limit, such as "120 reports for chain 1"
 * @throws {CallsSpent} if the limit is exceeded
 */
export async function takeShared(
  { accounts, metrics }: SharedParts,
  policy: Policy,
  chainId: number,
  limit: string,
): Promise<void> {
  const { name } = policy;
  const { admitted, retryMs } = await accounts.limiter.take(`${name} ${chainId}`, policy);
  if (admitted) return;
  metrics.sharedLimits.inc({ limit: name, chain: String(chainId) });
  throw new CallsSpent(`expected at most ${limit}`, retryMs);
}

type SharedParts = {
  accounts: { limiter: Limiter };
  metrics: Pick<Metrics, "sharedLimits">;
};
type MeteredParts = SharedParts & { limits: Pick<Limits, "simulationCallsPerMinute"> };

/**
 * Returns a chain's RPC client with a limit on calls per minute. All servers that share a
 * PostgreSQL database share the limit. Above the limit, the client throws {@link CallsSpent}.
 *
 * @param purpose the purpose of the calls; each purpose has its own limit
 */
export function metered(
  parts: MeteredParts,
  { chainId, rpc }: { chainId: number; rpc: ChainRpc },
  purpose: "simulation" | "check" | "proof",
): ChainRpc {
  const calls = parts.limits.simulationCallsPerMinute;
  const policy = perMinute(`${purpose}-calls`, calls);
  const limit = `${calls} RPC calls per minute for "${purpose}" on chain ${chainId}`;
  return {
    ...rpc,
    async request(method, params) {
      if (calls === 0) throw new CallsSpent(`expected at most ${limit}`, 60_000);
      await takeShared(parts, policy, chainId, limit);
      return rpc.request(method, params);
    },
  };
}
