// `executable-address/client`: a client of the service that verifies each answer for which there is
// a proof. The client derives the address of each record with the trusted factory. If this address
// is not the requested address, the call throws an error.

import { parseAddress } from "../abi/checksum.ts";
import { type NamesOf, refuseUnknown } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import type { SentMoney } from "../status/sent.ts";
import type { AddressState, ServiceStatus } from "../status/shape.ts";
import { type Account, openAccount } from "./account.ts";
import { type ChainList, proveChains, proveSimulation, proveStatus } from "./answers.ts";
import { type Answered, type Call, type CallOptions, callOptions, startCall } from "./call.ts";
import type { Check } from "./check.ts";
import type { CreateOptions, NewIntent, SentQuery } from "./create.ts";
import { lookupIn, orUndefined } from "./mirrors.ts";
import { type ClientOptions, parseOptions } from "./options.ts";
import type { ProofSource, Proved, ProvedWait, ProveOptions } from "./prove.ts";
import { loadCode, type Signal, send } from "./request.ts";
import type { Simulation } from "./simulation.ts";
import {
  parseWait,
  type WaitSettings,
  type WatchOptions,
  waitForState,
  watchStatus,
} from "./watch/watch.ts";

export { InvalidError, type Issue } from "../errors.ts";
export { apiKeyPattern, clientIdPattern } from "../ids.ts";
export type { SentMoney, SentToken } from "../status/sent.ts";
export type { AddressState, ServiceStatus } from "../status/shape.ts";
export type { ChainList } from "./answers.ts";
export type { Answered, CallOptions, Paged } from "./call.ts";
export { type Check, type Finding, type FindingCode, findingCodes, type Note } from "./check.ts";
export type { CreateOptions, NewIntent, SentQuery } from "./create.ts";
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
export type { ClientOptions } from "./options.ts";
export type { Proved, ProveOptions } from "./prove.ts";
export { type RequestInfo, type ResponseInfo, readRetryAfterSeconds } from "./request.ts";
export type { BalanceChange, Role, Simulation } from "./simulation.ts";
export type { WaitOptions, WatchOptions } from "./watch/watch.ts";

/** A status as the service reports it, without a proof. {@link Client.prove} proves an outcome. */
export type ClaimedStatus = ServiceStatus;

/**
 * If a request to the service fails, every method rejects with a {@link ClientError}:
 *
 * - {@link ServiceError}: the service refused the request.
 * - {@link NetworkError}: no complete response arrived.
 * - {@link UnprovenError}: the answer is invalid.
 *
 * If the caller's signal aborts, the method rejects with the signal's reason. Addresses can be
 * lowercase, uppercase, or checksummed. For an invalid address, the method throws an `InvalidError`
 * and sends nothing.
 */
export type Client = Account & {
  /**
   * Creates the address of `intent`. The call is idempotent for an intent with a salt. If the call
   * fails, the error contains the sent intent with its salt. Create this intent again to get the
   * same address.
   *
   * @throws {InvalidError} before anything is sent, if the intent is invalid; the error lists every
   *   fault
   * @throws {ServiceError} `reference_in_use` if the reference is in use for a different address
   * @throws {UnprovenError} if the service returns an address other than the intent's
   */
  create(intent: NewIntent, options?: CreateOptions): Answered<AddressRecord>;
  /**
   * Returns the record that {@link create} would return for `intent`, and also a simulation and
   * findings. Saves nothing. To create the address, pass the returned `record.intent`, which
   * contains the salt.
   *
   * @throws the errors of {@link create}
   */
  check(intent: NewIntent, options?: CallOptions): Answered<Check>;
  /**
   * Returns the verified record of `address`. Returns undefined if neither the service nor a mirror
   * returns a record.
   *
   * @throws {UnprovenError} if the address derived from the record is not `address`
   */
  lookup(address: Hex, options?: CallOptions): Answered<AddressRecord | undefined>;
  /**
   * Returns the chains and tokens.
   *
   * @throws {UnprovenError} if the service uses a different factory
   */
  chains(options?: CallOptions): Answered<ChainList>;
  /**
   * Returns the status that the service reports. Returns undefined if the service has no record of
   * `address`. To prove an outcome, use {@link prove}.
   */
  status(address: Hex, options?: CallOptions): Answered<ClaimedStatus | undefined>;
  /**
   * Proves the outcome of an address with the caller's nodes. At least `quorum` of `rpcs`, by
   * default more than half, must agree on a block. Uses the service's proof if it is valid.
   * Otherwise, uses a proof from one of the nodes.
   *
   * @param address the address or its record; with the record, `prove` needs no service
   * @throws {ProofError} `no_quorum`, or `unproved` if there is no valid proof
   */
  prove(address: Hex | AddressRecord, options: ProveOptions): Promise<Proved>;
  /** Simulates the execution of `address` with the service's node. The result has no proof. */
  simulation(address: Hex, options?: CallOptions): Answered<Simulation | undefined>;
  /**
   * Reports a token or a transaction that a payer sent to `address` by mistake. Returns the tokens
   * that the service found at the address. Returns undefined if the service has no record of
   * `address`. The service's executor returns the tokens if it can. The call is idempotent.
   */
  reportSent(address: Hex, sent: SentQuery, options?: CallOptions): Answered<SentMoney | undefined>;
  /**
   * Yields the current status and then each change, until the caller stops reading. Uses
   * server-sent events. If the stream of events does not work, polls every `pollMs`.
   *
   * @throws {ServiceError} `not_found` if the service has no record of the address
   */
  watch(address: Hex, options?: WatchOptions): AsyncGenerator<ClaimedStatus, void, undefined>;
  /**
   * Returns the first reported status whose state is one of the given states. With `proof`, also
   * waits until the caller's nodes prove the status. A false report from the service can then delay
   * the result but not change it.
   *
   * @throws {WaitError} if the state can no longer be reached, or is not reached within `timeoutMs`
   * @throws the errors of {@link watch}
   */
  waitFor(
    address: Hex,
    state: AddressState | readonly AddressState[],
    options?: ProvedWait,
  ): Promise<ClaimedStatus & { readonly proved?: Proved }>;
};

/**
 * Creates a client.
 *
 * @throws {TypeError} for options that are unknown, invalid, or expose a secret
 */
export function createClient(options: ClientOptions): Client {
  const settings = parseOptions(options);
  const { trust, transport } = settings;
  const parse = (address: Hex) => parseAddress(address, { path: ["address"], ...trust });
  const get = ({ transport, signal }: Call, path: string, headers: Headers = {}) =>
    send(transport, { method: "GET", path, headers, signal });
  const call = <Answer>(
    options: CallOptions | undefined,
    run: (call: Call) => Promise<Answer>,
    known = callOptions,
  ) => startCall(transport, options ?? {}, known, run);

  /** Sends a GET request about an address. Returns undefined if the service has no record. */
  const find = <T>(
    address: Hex,
    path: string,
    options: CallOptions | undefined,
    prove: (answer: unknown, parsed: Hex) => T,
    headers?: Headers,
  ) =>
    call(options, async (call) => {
      const parsed = parse(address);
      return orUndefined(async () =>
        prove(await get(call, `/address/${parsed}${path}`, headers), parsed),
      );
    });

  const lookUp = lookupIn(settings);
  const lookup = (address: Hex, options?: CallOptions) =>
    call(options, (call) => lookUp(parse(address), call));
  const claimed: Claimed = (address, states, settings) =>
    waitForState(transport, parse(address), states, settings);

  return {
    // The code of these functions is loaded on demand, because few pages need them.
    create: (intent, options) =>
      call(
        options,
        async (call) => {
          const { createAddress } = await loadCode(import("./create.ts"));
          return createAddress(settings, call, intent, options);
        },
        createOptions,
      ),
    check: (intent, options) =>
      call(options, async (call) => {
        const { checkIntent } = await loadCode(import("./create.ts"));
        return checkIntent(settings, call, intent);
      }),
    lookup,
    chains: (options) =>
      call(options, async (call) => proveChains(await get(call, "/chains"), trust)),
    status: (address, options) => find(address, "/status", options, proveStatus),
    simulation: (address, options) => find(address, "/simulation", options, proveSimulation),
    reportSent: (address, sent, options) =>
      call(options, async (call) => {
        const { reportSent } = await loadCode(import("./create.ts"));
        return orUndefined(() => reportSent(call, parse(address), sent));
      }),
    async *watch(address, options = {}) {
      refuseUnknown(options, { signal: 1, pollMs: 1 }, "option");
      yield* watchStatus(transport, parse(address), parseWait(options));
    },
    ...openAccount(settings),
    ...openProofs({ get: (path) => call({}, (call) => get(call, path)), lookup, trust }, claimed),
  };
}

type Claimed = (
  address: Hex,
  states: readonly AddressState[],
  settings: WaitSettings,
) => Promise<ClaimedStatus>;

/** Returns the methods `prove` and `waitFor`. The first call loads the code for proofs. */
function openProofs(source: ProofSource, claimed: Claimed): Pick<Client, "prove" | "waitFor"> {
  return {
    prove: async (of, options) => {
      refuseUnknown(options, proveOptions, "option");
      const { prove } = await loadCode(import("./prove.ts"));
      return prove(source, of, options);
    },
    async waitFor(address, state, options = {}) {
      refuseUnknown(options, { signal: 1, pollMs: 1, timeoutMs: 1, proof: 1 }, "option");
      const { proof } = options;
      const settings = parseWait(options);
      const states = typeof state === "string" ? [state] : state;
      if (!proof) return claimed(address, states, settings);
      refuseUnknown(proof, proveOptions, "option");
      const { prove, waitForProof } = await loadCode(import("./prove.ts"));
      const claimedNow = (signal: Signal) => claimed(address, states, { ...settings, signal });
      return waitForProof(claimedNow, () => prove(source, address, proof), states, settings);
    },
  };
}

const createOptions: NamesOf<CreateOptions> = {
  ...callOptions,
  reference: 1,
  again: 1,
  signature: 1,
};
const proveOptions: NamesOf<ProveOptions> = { rpcs: 1, quorum: 1, confirmations: 1 };

type Headers = Readonly<Record<string, string>>;
