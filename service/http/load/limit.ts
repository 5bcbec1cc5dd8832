// Limits of single routes by account or client, beside those of credentials (authorize.ts).

import type { Limiter, Policy } from "../../accounts/limits.ts";
import { Refusal } from "../errors.ts";

/**
 * Counts one more request of `whose`.
 *
 * @param what there is too much of, for the message
 * @throws {Refusal} as {@link overLimit}
 */
export async function spend(
  limiter: Limiter,
  policy: Policy,
  whose: string,
  what: string,
): Promise<void> {
  const { admitted, retryMs } = await limiter.take(`${policy.name} ${whose}`, policy);
  if (admitted) return;
  const { name, burst, intervalMs } = policy;
  throw overLimit(what, retryMs, (seconds) => ({
    "ratelimit-policy": `"${name}";q=${burst};w=${(burst * intervalMs) / 1000}`,
    ratelimit: `"${name}";r=0;t=${seconds}`,
  }));
}

/**
 * 429 `rate_limited`, which says when the next one is admitted.
 *
 * @param more headers, in place of those about the credential, which may have much left
 */
export function overLimit(
  what: string,
  retryMs: number,
  more: (seconds: number) => Record<string, string> = () => ({}),
): Refusal {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000));
  return new Refusal("rate_limited", `${what}: try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds), ...more(seconds) },
  });
}
