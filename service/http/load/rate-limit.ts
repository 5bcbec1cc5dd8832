// Counts requests against the rate limits of API keys, client IDs, accounts, and client networks.
// Refuses requests above a limit with 429. accounts/policies.ts defines the limits. The limits that
// all clients share (reports and calls per chain) are counted elsewhere. Above these limits, the
// status is 503 `chain_unavailable`.

import type { Limiter, LimitVerdict } from "../../accounts/limits.ts";
import { describePolicy, type Policy } from "../../accounts/policies.ts";
import { Refusal } from "../errors.ts";

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
  const seconds = admitted ? Math.ceil(resetMs / 1000) : secondsOf(retryMs);
  return {
    "ratelimit-policy": `"${name}";q=${burst};w=${(burst * intervalMs) / 1000}`,
    ratelimit: `"${name}";r=${remaining};t=${seconds}`,
  };
}

const secondsOf = (retryMs: number) => Math.max(1, Math.ceil(retryMs / 1000));

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
  const seconds = secondsOf(retryMs);
  return new Refusal("rate_limited", `${what}; try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds), ...headers },
  });
}
