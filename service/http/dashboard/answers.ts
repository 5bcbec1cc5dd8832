// What the dashboard's API answers: its routes are held to these types and its pages import them,
// no value and nothing else of the service. Times are ISO 8601; null where there was none yet.

import type { Hex } from "executable-address";
import type { ChainList, Endpoint } from "executable-address/client";
import type { ServiceStatus } from "executable-address/status";

type When = string | null;

/** `next` is null where no more follow. */
export type Page<Item> = { items: Item[]; next: string | null };

/** `localNode`: the node of a chain on this machine, which pays by a press. */
export type Chain = ChainList["chains"][number] & {
  explorer?: string | undefined;
  localNode?: string | undefined;
};
export type Config = {
  signup: "open" | "closed";
  publicUrl: string;
  apiBase: string;
  /** The operator keeps the documentation there. */
  docsUrl: string | null;
  chains: Chain[];
};

export type Account = { accountId: string; email: string; createdAt: string };
/** Null where no account is signed in. */
export type SignedIn = { account: Account | null };
/** `gasSpent`: the newest day first, the last 31 rows. */
export type SpendingAccount = Account & { gasSpent: GasDay[] };
/**
 * Wei, decimal, of settled transactions on a day of a chain's clock, such as `2026-11-22`: the gas
 * paid, what the tips received were worth, and what they did not cover (`wei`), which the account's
 * budget bounds; of that, for what its client ID created, and for executions that tips were to pay.
 */
export type GasDay = {
  chainId: number;
  day: string;
  gasWei: string;
  tipsWei: string;
  wei: string;
  clientIdWei: string;
  failedTipsWei: string;
};

type Counts = { created: number; refused: number };
export type UsageHour = { hour: string; apiKey: Counts; clientId: Counts };
export type Activity = { at: string; event: string; ip: string | null; detail: string | null };
export type Session = {
  id: string;
  createdAt: string;
  renewedAt: string;
  expiresAt: string;
  userAgent: string | null;
  isThis: boolean;
};

export type Scope = "create" | "read" | "webhooks";
type Times = { createdAt: string; rotatedAt: When; lastUsedAt: When };
export type ApiKey = Times & {
  prefix: string;
  name: string;
  scopes: Scope[];
  expiresAt: When;
  seenInBrowserAt: When;
};
/** `bound`: it creates what the account's server signed, and nothing else. */
export type ClientId = Times & { clientId: string; bound: boolean };
export type Credentials = {
  apiKeys: ApiKey[];
  apiKeysMax: number;
  clientId: ClientId;
  referenceKey: { number: number; createdAt: string } | null;
};
/** An API key or a reference key is in the answer that made it, and in no other. */
export type Made<Secret extends "apiKey" | "clientId" | "referenceKey"> = Record<Secret, string>;

export type Origins = { origins: { origin: string; createdAt: string }[]; max: number };
export type EntryVerdict = {
  ok: boolean;
  canonical: string | null;
  matches: string[];
  matchesNot: string[];
  message: string;
};
export type OriginVerdict = { ok: boolean; allowedBy: string | null; message: string };
/** The check gives a verdict on each part that was asked. */
export type Verdicts = { entry?: EntryVerdict; origin?: OriginVerdict };

export type MoneyName = "asked" | "paid" | "executed" | "returned";
/** The account asked for and moved so much of a token on a day of UTC: base units. */
export type MoneyDay = { day: string; chainId: number; token: Hex } & Record<MoneyName, string> &
  Record<`${MoneyName}Count`, number>;
/** Medians of the newest events. */
export type Pace = { toPaidMs: number | null; toExecutedMs: number | null };
/** `isMore`: some of what was asked for is not counted yet, so ask again. */
export type Money = { items: MoneyDay[]; pace: Pace; isMore: boolean };

/** The status of one address now; its chain may be away. */
export type FoundStatus = { address: string } & ({ status: ServiceStatus } | { error: string });

/** How deep events of a chain are told; `chosen` null: as by default. */
export type Depth = { chainId: number; name: string; byDefault: number; chosen: number | null };
export type Webhooks = {
  endpoints: Endpoint[];
  max: number;
  types: readonly string[];
  /** The service's, of `v1a`, the newest first; `until` an end. */
  publicKeys: { publicKey: string; until: When }[];
  chains: Depth[];
};
/** `next`: from when to go on, where there is more than was replayed. */
export type Replayed = { replayed: number; next: When };
