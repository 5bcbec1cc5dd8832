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
  if (!admitted) throw overLimit(what, retryMs);
}

/** 429 `rate_limited`, which says when the next one is admitted. */
export function overLimit(what: string, retryMs: number): Refusal {
  const seconds = Math.max(1, Math.ceil(retryMs / 1000));
  return new Refusal("rate_limited", `${what}: try again in ${seconds} s`, {
    headers: { "retry-after": String(seconds) },
  });
}
