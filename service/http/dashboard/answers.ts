// The response types of the dashboard's API. The dashboard's pages import only types from this
// file. Tests check that every response has its type (answers.test.ts). Times are ISO 8601. The
// routes below /webhooks are also part of the public API, which describes their responses.

import {
  address,
  among,
  chainId,
  count,
  type depth,
  either,
  type endpointPage,
  flag,
  list,
  chain as listedChain,
  matching,
  object,
  orNull,
  type Shape,
  serviceStatus,
  type TypeOf,
  text,
  time,
} from "executable-address/shapes";

const pageOf = <Item extends Shape>(item: Item) =>
  object({ items: list(item), next: orNull(text) });
export type Page<Item> = { items: Item[]; next: string | null };

const chain = object({
  ...listedChain.properties,
  /** The base URL of the chain's block explorer. */
  explorer: orNull(text),
  /** The URL of the node if the chain is local. A local node can send payments without a wallet. */
  localNode: orNull(text),
});
export type Chain = TypeOf<typeof chain>;

const config = object({
  signup: among("open", "closed"),
  publicUrl: text,
  apiBase: text,
  /** The operator's documentation. */
  docsUrl: orNull(text),
  chains: list(chain),
});
export type Config = TypeOf<typeof config>;

const account = object({ accountId: text, email: text, createdAt: time });
export type Account = TypeOf<typeof account>;

const signedIn = object({
  /** Null if nobody is signed in. */
  account: orNull(account),
});
export type SignedIn = TypeOf<typeof signedIn>;

const wei = matching(/^(0|[1-9][0-9]*)$/);
/**
 * An account's gas costs on one chain and one day, in wei. Includes only settled transactions. The
 * UTC date of the block's timestamp determines the day.
 */
const gasDay = object({
  chainId,
  /** Such as `2026-11-22`. */
  day: text,
  /** The gas paid. */
  gasWei: wei,
  /** The tips received, converted to wei. */
  tipsWei: wei,
  /** The gas costs that tips did not cover. These costs count against the account's gas budget. */
  wei,
  /** The costs of addresses that the client ID created. `wei` includes these costs. */
  clientIdWei: wei,
  /** The costs of executions that did not receive the expected tip. `wei` includes these costs. */
  failedTipsWei: wei,
});

const spendingAccount = object({
  ...account.properties,
  /** The newest rows, newest day first. */
  gasSpent: list(gasDay),
});
export type SpendingAccount = TypeOf<typeof spendingAccount>;

const counts = object({ created: count, refused: count });
const usageHour = object({ hour: time, apiKey: counts, clientId: counts });
export type UsageHour = TypeOf<typeof usageHour>;

const activity = object({ at: time, event: text, ip: orNull(text), detail: orNull(text) });
export type Activity = TypeOf<typeof activity>;

const session = object({
  id: text,
  createdAt: time,
  renewedAt: time,
  expiresAt: time,
  userAgent: orNull(text),
  /** True for the session that sent the request. */
  isThis: flag,
});
export type Session = TypeOf<typeof session>;

const scope = among("create", "read", "webhooks");
export type Scope = TypeOf<typeof scope>;

const times = { createdAt: time, rotatedAt: orNull(time), lastUsedAt: orNull(time) };
const apiKey = object({
  ...times,
  prefix: text,
  name: text,
  scopes: list(scope),
  expiresAt: orNull(time),
  seenInBrowserAt: orNull(time),
});
export type ApiKey = TypeOf<typeof apiKey>;

const clientId = object({
  ...times,
  clientId: text,
  /** Whether the client ID can create only intents that the account's server signed. */
  bound: flag,
  /** Whether the client ID can set references. */
  mayName: flag,
});
export type ClientId = TypeOf<typeof clientId>;

const credentials = object({
  apiKeys: list(apiKey),
  apiKeysMax: count,
  clientId,
  referenceKey: orNull(object({ number: count, createdAt: time })),
});
export type Credentials = TypeOf<typeof credentials>;

/** A new secret, which no later response contains. */
export type Made<Secret extends "apiKey" | "clientId" | "referenceKey"> = Record<Secret, string>;

const origins = object({
  origins: list(object({ origin: text, createdAt: time })),
  max: count,
});
export type Origins = TypeOf<typeof origins>;

const entryVerdict = object({
  ok: flag,
  canonical: orNull(text),
  matches: list(text),
  matchesNot: list(text),
  message: text,
});
export type EntryVerdict = TypeOf<typeof entryVerdict>;

const originVerdict = object({ ok: flag, allowedBy: orNull(text), message: text });
export type OriginVerdict = TypeOf<typeof originVerdict>;

/**
 * `entry` reports whether the requested entry can be added to the list of origins. `origin` reports
 * whether the list already allows the requested origin. A field is null if the request omits it.
 */
const verdicts = object({ entry: orNull(entryVerdict), origin: orNull(originVerdict) });
export type Verdicts = TypeOf<typeof verdicts>;

export type MoneyName = "requested" | "paid" | "executed" | "returned";
const sum = matching(/^(0|[1-9][0-9]*)$/);
/** Amounts of one token on one UTC day, in base units. */
const moneyDay = object({
  day: text,
  chainId,
  token: address,
  ...{ requested: sum, paid: sum, executed: sum, returned: sum },
  ...{ requestedCount: count, paidCount: count, executedCount: count, returnedCount: count },
});
export type MoneyDay = TypeOf<typeof moneyDay>;

/**
 * The median times from creation to payment and from payment to execution. They include only the
 * newest events.
 */
const pace = object({ toPaidMs: orNull(count), toExecutedMs: orNull(count) });
export type Pace = TypeOf<typeof pace>;

const money = object({
  items: list(moneyDay),
  pace,
  /**
   * True if the service has not yet counted all addresses. The client should then repeat the
   * request.
   */
  isMore: flag,
});
export type Money = TypeOf<typeof money>;

/** The current status of one address, or an error code. */
const foundStatus = either(
  object({ address: text, status: serviceStatus }),
  object({ address: text, error: text }),
);
export type FoundStatus = TypeOf<typeof foundStatus>;

export type Webhooks = TypeOf<typeof endpointPage>;
export type Depth = TypeOf<typeof depth>;

const madeKey = object({ apiKey: text, prefix: text });

/**
 * The response of each route below /dashboard/api. Excludes routes with the same response as an
 * operation of the public API.
 */
export const answers = {
  "GET /config": config,
  "GET /session": signedIn,
  "GET /account": spendingAccount,
  "GET /usage": object({ hours: list(usageHour) }),
  "GET /activity": pageOf(activity),
  "GET /credentials": credentials,
  "POST /credentials/api-key": madeKey,
  "DELETE /credentials/api-key": object({ prefix: text }),
  "POST /credentials/api-key/rotate": madeKey,
  "POST /credentials/client-id/rotate": object({ clientId: text }),
  "POST /credentials/client-id/bound": object({ bound: flag }),
  "POST /credentials/client-id/may-name": object({ mayName: flag }),
  "POST /credentials/reference-key/rotate": object({ referenceKey: text }),
  "GET /origins": origins,
  "POST /origins": origins,
  "DELETE /origins": origins,
  "POST /origins/verdict": verdicts,
  "GET /statuses": object({ items: list(foundStatus) }),
  "POST /webhooks/confirmations": object({ chainId, confirmations: orNull(count) }),
  "GET /money": money,
  "GET /sessions": object({ items: list(session) }),
  "DELETE /sessions": object({ id: text }),
} as const satisfies Record<string, Shape>;
