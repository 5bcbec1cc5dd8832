// Limits by account or client: of credentials, and of single routes.

import type { Limiter, LimitVerdict, Policy } from "../../accounts/limits.ts";
import { Refusal } from "../errors.ts";

/**
 * Counts one more request of `whose`.
 *
 * @param what there is too much of, for the message
 * @returns headers that tell what is left
 * @throws {Refusal} as {@link overLimit}
 */
export async function spend(
  limiter: Limiter,
  policy: Policy,
  whose: string,
  what: string,
): Promise<Record<string, string>> {
  const verdict = await limiter.take(`${policy.name} ${whose}`, policy);
  const headers = limitHeaders(verdict, policy);
  if (!verdict.admitted) throw overLimit(what, verdict.retryMs, headers);
  return headers;
}

/**
 * The fields of draft-ietf-httpapi-ratelimit-headers: the burst `q` is whole again after `w`
 * seconds of rest; `r` requests are left now, and in `t` seconds all of them. After a refusal `t`
 * names the moment that `Retry-After` names: the next request is admitted then.
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
 * 429 `rate_limited`, which says when the next one is admitted.
 *
 * @param more headers, in place of those about the credential, which may have much left
 */
export function overLimit(
  what: string,
  retryMs: number,
  more: Record<string, string> = {},
): Refusal {
  const seconds = secondsOf(retryMs);
  return new Refusal("rate_limited", `${what}: try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds), ...more },
  });
}
