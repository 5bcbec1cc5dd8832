// The rate limits of credentials, accounts, and client networks (spec §8). limits.ts counts the
// requests.

import { dayMs } from "../flow/days.ts";

/** Allows one request per `intervalMs` on average, and up to `burst` requests after idle time. */
export type Policy = { name: string; intervalMs: number; burst: number };

/**
 * The rate limits of the routes below /v1. Each limit applies to one API key, client ID, account,
 * or client network. The OpenAPI document describes these limits.
 */
export const policies = {
  apiKey: { name: "api-key", intervalMs: 20, burst: 100 },
  clientId: { name: "client-id", intervalMs: 100, burst: 20 },
  /**
   * The limit of requests that read or check addresses. Create requests have a separate limit,
   * which reads and checks cannot use up.
   */
  reads: { name: "api-key-read", intervalMs: 20, burst: 100 },
  /**
   * The limit of requests for webhook endpoints. The limit is low, because each change adds a row
   * to the audit log. This log is never pruned.
   */
  webhooks: { name: "api-key-webhooks", intervalMs: 1_000, burst: 60 },
  /** Per account. */
  webhookTests: { name: "webhook-test", intervalMs: 5_000, burst: 1 },
  checks: { name: "check", intervalMs: 2_000, burst: 30 },
  longSearches: { name: "search", intervalMs: 2_000, burst: 30 },
  /** Per client network. */
  proofs: { name: "proof", intervalMs: 2_000, burst: 30 },
  simulations: { name: "simulation", intervalMs: 2_000, burst: 30 },
  reports: { name: "sent", intervalMs: 6_000, burst: 10 },
} as const satisfies Record<string, Policy>;

/**
 * The rate limits that the OpenAPI document does not describe. Sign-ins and sign-ups have other
 * limits (attempts.ts).
 */
export const internalPolicies = {
  /** Per account. */
  dashboard: { name: "dashboard", intervalMs: 100, burst: 200 },
  /** Limits the reports of misdirected payments. All clients share one limit for each chain. */
  reportsOnChain: { name: "sent-chain", intervalMs: 500, burst: 120 },
} as const satisfies Record<string, Policy>;

/**
 * The name of the limit on an account's create requests per day. The operator can set this limit.
 */
export const dailyCreates = "addresses-day";

/**
 * Describes a limit in words.
 * @param what the plural noun for the counted requests, such as "checks"
 */
export function describePolicy({ burst, intervalMs }: Policy, what = "requests"): string {
  const then =
    intervalMs <= 1_000 ? `${1_000 / intervalMs} per second` : `one every ${intervalMs / 1_000} s`;
  return `${burst} ${what} in a burst, and then ${then}`;
}

/**
 * Returns a policy that allows `count` requests per day on average. After a day without requests,
 * the policy admits `count` requests in one burst. In any 24 hours, the policy admits at most `2 *
 * count` requests.
 */
export const perDay = (name: string, count: number): Policy => ({
  name,
  intervalMs: Math.ceil(dayMs / count),
  burst: count,
});

/** Returns a policy that allows `count` requests per minute, which can all come in one burst. */
export const perMinute = (name: string, count: number): Policy => ({
  name,
  intervalMs: Math.max(1, Math.floor(60_000 / count)),
  burst: count,
});
