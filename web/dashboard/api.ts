// The account's own part of the dashboard's API. Every type here is what service/http/dashboard
// answers.

import type { Hex } from "executable-address";
import type { Chain as ListedChain } from "executable-address/page";
import { request } from "./request.ts";

/** Times are ISO 8601, or null for "never". */
type When = string | null;
export type Account = {
  accountId: string;
  email: string;
  createdAt: string;
};
/** Wei, decimal: of a day of a chain's clock, such as `2026-11-22`. */
export type GasDay = {
  chainId: number;
  day: string;
  gasWei: string;
  tipsWei: string;
  wei: string;
  clientIdWei: string;
  failedTipsWei: string;
};
export const scopes = ["create", "read", "webhooks"] as const;
export type Scope = (typeof scopes)[number];
/** Left out: the service's own name for it, every scope, and no expiry. */
export type NewApiKey = { name?: string; scopes?: Scope[]; expiresAt?: When };
export type ApiKey = {
  prefix: string;
  name: string;
  scopes: Scope[];
  expiresAt: When;
  createdAt: string;
  rotatedAt: When;
  lastUsedAt: When;
  seenInBrowserAt: When;
};
export type ClientId = {
  clientId: string;
  /** It creates what the account's server signed, and nothing else. */
  bound: boolean;
  createdAt: string;
  rotatedAt: When;
  lastUsedAt: When;
};
export type Credentials = {
  apiKeys: ApiKey[];
  apiKeysMax: number;
  clientId: ClientId | null;
  referenceKey: { number: number; createdAt: string } | null;
};
export type Origins = { origins: { origin: string; createdAt: string }[]; max: number };
export type EntryVerdict = {
  ok: boolean;
  canonical: string | null;
  matches: string[];
  matchesNot: string[];
  message: string;
};
export type OriginVerdict = { ok: boolean; allowedBy: string | null; message: string };
type Counts = { created: number; refused: number };

/** The account asked for and moved so much of a token on a day of UTC: base units. */
export type MoneyDay = { day: string; chainId: number; token: Hex } & Record<MoneyName, string> &
  Record<`${MoneyName}Count`, number>;
export type MoneyName = "asked" | "paid" | "executed" | "returned";

/** Medians of the newest events. */
export type Pace = { toPaidMs: number | null; toExecutedMs: number | null };

export type UsageHour = { hour: string; apiKey: Counts; clientId: Counts };
export type Activity = { at: string; event: string; ip: string | null; detail: string | null };
export type Page<Item> = { items: Item[]; next: string | null };
/** `localNode`: the node of a chain on this machine, which pays by a press. */
export type Chain = ListedChain & { explorer?: string; localNode?: string };
export type Config = {
  signup: "open" | "closed";
  publicUrl: string;
  apiBase: string;
  /** The operator keeps the documentation there. */
  docsUrl: string | null;
  chains: Chain[];
};

const dashboard = "/dashboard/api";

/** Paths of `service/http/dashboard`: its API, and the sign-in under /auth. */
export const api = {
  config: () => request<Config>("GET", `${dashboard}/config`),
  session: () => request<{ account: Account | null }>("GET", `${dashboard}/session`),
  /** `gasSpent`: the newest day first. */
  account: () => request<Account & { gasSpent: GasDay[] }>("GET", `${dashboard}/account`),
  credentials: () => request<Credentials>("GET", `${dashboard}/credentials`),
  /** `prefix`: the key the page shows, so that two rotations at once cannot both win. */
  rotateApiKey: (prefix: string) =>
    request<{ apiKey: string }>("POST", `${dashboard}/credentials/api-key/rotate`, { prefix }),
  addApiKey: (key: NewApiKey) =>
    request<{ apiKey: string }>("POST", `${dashboard}/credentials/api-key`, key),
  revokeApiKey: (prefix: string) =>
    request<object>("DELETE", `${dashboard}/credentials/api-key`, { prefix }),
  rotateClientId: (clientId: string | null) =>
    request<{ clientId: string }>("POST", `${dashboard}/credentials/client-id/rotate`, {
      clientId,
    }),
  bindClientId: (bound: boolean) =>
    request<object>("POST", `${dashboard}/credentials/client-id/bound`, { bound }),
  rotateReferenceKey: () =>
    request<{ referenceKey: string }>("POST", `${dashboard}/credentials/reference-key/rotate`, {}),
  origins: () => request<Origins>("GET", `${dashboard}/origins`),
  addOrigin: (origin: string) => request<Origins>("POST", `${dashboard}/origins`, { origin }),
  removeOrigin: (origin: string) => request<Origins>("DELETE", `${dashboard}/origins`, { origin }),
  judgeEntry: (entry: string, signal: AbortSignal) =>
    request<{ entry: EntryVerdict }>("POST", `${dashboard}/origins/verdict`, { entry }, signal),
  judgeOrigin: (origin: string, signal: AbortSignal) =>
    request<{ origin: OriginVerdict }>("POST", `${dashboard}/origins/verdict`, { origin }, signal),
  usage: (hours: number) =>
    request<{ hours: UsageHour[] }>("GET", `${dashboard}/usage?hours=${hours}`),
  money: (days: number) =>
    request<{ items: MoneyDay[]; pace: Pace; isMore: boolean }>(
      "GET",
      `${dashboard}/money?days=${days}`,
    ),
  activity: (cursor: string | null) =>
    request<Page<Activity>>("GET", `${dashboard}/activity?${search({ cursor })}`),

  signUp: (email: string, password: string) =>
    request<unknown>("POST", "/auth/sign-up/email", { email, password }),
  signIn: (email: string, password: string) =>
    request<unknown>("POST", "/auth/sign-in/email", { email, password }),
  signOut: () => request<unknown>("POST", "/auth/sign-out", {}),
  changePassword: (currentPassword: string, newPassword: string) =>
    request<unknown>("POST", "/auth/change-password", {
      currentPassword,
      newPassword,
    }),
  resetPassword: (token: string, newPassword: string) =>
    request<unknown>("POST", "/auth/reset-password", { token, newPassword }),
};

/** A query of what is not empty. */
export const search = (values: Record<string, string | null>) =>
  new URLSearchParams(
    Object.entries(values).filter((pair): pair is [string, string] => Boolean(pair[1])),
  );
