// `executable-address/client`: a client of the service that verifies everything that can be
// verified. A record that does not recompute under the factory the caller trusts is an error, never
// data.

import { parseAddress } from "../abi/checksum.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import type { AddressState, ServiceStatus } from "../status/shape.ts";
import { type ChainList, proveChains, proveSimulation, proveStatus } from "./answers.ts";
import type { Check } from "./check.ts";
import type { CallOptions, CreateOptions, NewIntent } from "./create.ts";
import { type Endpoints, endpointsOf } from "./endpoints.ts";
import {
  type AddressPage,
  type AddressQuery,
  type EventPage,
  type EventQuery,
  type ListedAddress,
  proveAddressPage,
  proveEventOf,
  proveEventPage,
  proveListed,
  type ServiceEvent,
} from "./lists.ts";
import { lookupIn, orNothing } from "./mirrors.ts";
import { type ClientOptions, parseOptions } from "./options.ts";
import type { Proved, ProvedWait, ProveOptions } from "./prove.ts";
import { loadCode, queryOf, send } from "./request.ts";
import type { Simulation } from "./simulation.ts";
import { type WaitOptions, type WatchOptions, waitForState, watchStatus } from "./watch.ts";

export { InvalidError, type Issue } from "../errors.ts";
export type { AddressState, ServiceStatus } from "../status/shape.ts";
export type { ChainList } from "./answers.ts";
export { type Check, type Finding, type FindingCode, findingCodes, type Note } from "./check.ts";
export type { CreateOptions, NewIntent } from "./create.ts";
export type { Delivery, Endpoint, Endpoints, ReplayQuery } from "./endpoints.ts";
export { ClientError, NetworkError, ServiceError, UnprovenError, WaitError } from "./errors.ts";
export type {
  AddressPage,
  AddressQuery,
  CreatedBy,
  EventPage,
  EventQuery,
  ListedAddress,
  ServiceEvent,
} from "./lists.ts";
export { apiKeyPattern, type ClientOptions, clientIdPattern } from "./options.ts";
export type { Proved, ProveOptions } from "./prove.ts";
export { readRetryAfterSeconds } from "./request.ts";
export type { BalanceChange, Role, Simulation } from "./simulation.ts";
export type { WaitOptions, WatchOptions } from "./watch.ts";

/** A status as the service says it is: its word, until {@link Client.prove} proves it. */
export type ClaimedStatus = ServiceStatus;

/**
 * Every method rejects with a {@link ClientError}, which is one of {@link ServiceError} for a
 * refusal, {@link NetworkError} where no whole answer came, and {@link UnprovenError} for an answer
 * that is not what it should be; or, if the caller's signal aborts, with its reason. An address may
 * be in any letter case; what is none is an `InvalidError`, and nothing is sent.
 */
export type Client = {
  /**
   * Creates the address of `intent`. Repeating it gives the same address: an error has the intent
   * as it was sent, with the salt that was drawn for it.
   *
   * @throws {InvalidError} with every fault of the intent, before anything is sent
   * @throws {ServiceError} `reference_in_use` where another address has the reference
   * @throws {UnprovenError} if the service answers another address than the intent's
   */
  create(intent: NewIntent, options?: CreateOptions): Promise<AddressRecord>;
  /**
   * Asks what create would answer for `intent`, tried and looked over. Nothing is saved. Create the
   * `record.intent` of it: where there was no salt, it has the one that was drawn.
   *
   * @throws as {@link create}
   */
  check(intent: NewIntent, options?: CallOptions): Promise<Check>;
  /**
   * The record behind `address`, proved; undefined where the service has none.
   *
   * @throws {UnprovenError} if what it has does not recompute to `address`
   */
  lookup(address: Hex, options?: CallOptions): Promise<AddressRecord | undefined>;
  /** Asks what can be paid and where. @throws {UnprovenError} if it names another factory */
  chains(options?: CallOptions): Promise<ChainList>;
  /**
   * Reads what the service claims of `address`; undefined where it has no record of it.
   * {@link prove} does not depend on the service's word.
   */
  status(address: Hex, options?: CallOptions): Promise<ClaimedStatus | undefined>;
  /**
   * Proves what became of an address by nodes of the caller's: more than half of `rpcs`, or
   * `quorum` of them, must name the same block. The service's proof is used where it verifies.
   *
   * @param address or its record, and then the service need not be there
   * @throws {ProofError} `no_quorum`, or `unproved` where nobody gives a proof that verifies
   */
  prove(address: Hex | AddressRecord, options: ProveOptions): Promise<Proved>;
  /** A page of the account's addresses, as the service last saw them. Takes an API key. */
  addresses(query?: AddressQuery, options?: CallOptions): Promise<AddressPage>;
  /** The account's own row of `address`; undefined where it created none. Takes an API key. */
  mine(address: Hex, options?: CallOptions): Promise<ListedAddress | undefined>;
  /** A page of the account's events, oldest first, of the last 30 days. Takes an API key. */
  events(query?: EventQuery, options?: CallOptions): Promise<EventPage>;
  /** One event of the account's; undefined where none is kept under `id`. Takes an API key. */
  event(id: string, options?: CallOptions): Promise<ServiceEvent | undefined>;
  /** The account's webhook endpoints. They take an API key with the scope `webhooks`. */
  readonly webhooks: Endpoints;
  /** Asks what executing `address` would do now, by the service's node: no proof. */
  simulation(address: Hex, options?: CallOptions): Promise<Simulation | undefined>;
  /**
   * The present status and then each change, until the caller stops reading: by server-sent events,
   * or by asking every `pollMs` where they do not come through.
   *
   * @throws {ServiceError} `not_found` where the service has no record of the address
   */
  watch(address: Hex, options?: WatchOptions): AsyncGenerator<ClaimedStatus, void, undefined>;
  /**
   * The first status whose state is `state`, or among them, as the service claims it; with `proof`
   * as nodes of the caller's prove it, so that a lie is waited out.
   *
   * @throws {WaitError} if it can no longer come to it, or has not within `timeoutMs`
   * @throws as {@link watch}
   */
  waitFor(
    address: Hex,
    state: AddressState | readonly AddressState[],
    options?: ProvedWait,
  ): Promise<ClaimedStatus & { readonly proved?: Proved }>;
};

/** @throws {TypeError} on options that cannot work or would give a secret away */
export function createClient(options: ClientOptions): Client {
  const settings = parseOptions(options);
  const { trust, credential, transport } = settings;
  const parse = (address: Hex) => parseAddress(address, { path: ["address"], ...trust });
  const get = (path: string, { signal }: CallOptions = {}, headers: Headers = {}) =>
    send(transport, { method: "GET", path, headers, signal });

  /** Gives what `prove` makes of an address's answer, or undefined where there is nothing. */
  async function find<T>(
    address: Hex,
    path: string,
    options: CallOptions | undefined,
    prove: (answer: unknown, asked: Hex) => T,
    headers?: Headers,
  ): Promise<T | undefined> {
    const asked = parse(address);
    return orNothing(async () =>
      prove(await get(`/address/${asked}${path}`, options, headers), asked),
    );
  }

  const lookUp = lookupIn(settings);
  const lookup: Client["lookup"] = async (address, { signal } = {}) =>
    lookUp(parse(address), signal);

  const source = { get, lookup, trust };

  return {
    create: async (intent, options) => {
      const { createAddress } = await loadCode(import("./create.ts"));
      return createAddress(settings, intent, options);
    },
    check: async (intent, options) => {
      const { checkIntent } = await loadCode(import("./create.ts"));
      return checkIntent(settings, intent, options);
    },
    lookup,
    chains: async (options) => proveChains(await get("/chains", options), trust),
    status: (address, options) => find(address, "/status", options, proveStatus),
    simulation: (address, options) => find(address, "/simulation", options, proveSimulation),
    mine: (address, options) => find(address, "/mine", options, proveListed, credential),
    addresses: async (query = {}, options) =>
      proveAddressPage(await get(`/addresses${queryOf(query)}`, options, credential)),
    events: async (query, options) =>
      proveEventPage(await get(eventsPath(query), options, credential)),
    event: (id, options) =>
      orNothing(async () => proveEventOf(await get(pathOf(id), options, credential), id)),
    async *watch(address, options = {}) {
      yield* watchStatus(transport, parse(address), options);
    },
    webhooks: endpointsOf(settings),
    // Loaded when needed, because most pages never prove.
    prove: async (of, options) => {
      const { prove } = await loadCode(import("./prove.ts"));
      return prove(source, of, options);
    },
    async waitFor(address, state, { proof, ...options } = {}) {
      const asked = parse(address);
      const wanted = typeof state === "string" ? [state] : state;
      const claimed = (more: WaitOptions) =>
        waitForState(transport, asked, wanted, { ...options, ...more });
      if (!proof) return claimed({});
      const { prove, waitForProof } = await loadCode(import("./prove.ts"));
      return waitForProof(claimed, () => prove(source, asked, proof), wanted, options);
    },
  };
}

const eventsPath = ({ types, ...query }: EventQuery = {}) =>
  `/events${queryOf({ ...query, types: types?.join(",") })}`;

const pathOf = (eventId: string) => `/events/${encodeURIComponent(eventId)}`;

type Headers = Readonly<Record<string, string>>;
