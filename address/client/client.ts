// `executable-address/client`: a client of the service that verifies everything that can be
// verified. A record that does not recompute under the factory the caller trusts is an error, never
// data.

import { parseAddress } from "../abi/checksum.ts";
import { refuseUnknown } from "../errors.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import type { AddressState, ServiceStatus } from "../status/shape.ts";
import { type Account, openAccount } from "./account.ts";
import { type ChainList, proveChains, proveSimulation, proveStatus } from "./answers.ts";
import { type Answered, type Call, type CallOptions, callOptions, startCall } from "./call.ts";
import type { Check } from "./check.ts";
import type { CreateOptions, NewIntent } from "./create.ts";
import { lookupIn, orNothing } from "./mirrors.ts";
import { type ClientOptions, parseOptions } from "./options.ts";
import type { ProofSource, Proved, ProvedWait, ProveOptions } from "./prove.ts";
import { loadCode, send } from "./request.ts";
import type { Simulation } from "./simulation.ts";
import { type WaitOptions, type WatchOptions, waitForState, watchStatus } from "./watch.ts";

export { InvalidError, type Issue } from "../errors.ts";
export type { AddressState, ServiceStatus } from "../status/shape.ts";
export type { ChainList } from "./answers.ts";
export type { Answered, CallOptions, Paged } from "./call.ts";
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
export { type RequestInfo, type ResponseInfo, readRetryAfterSeconds } from "./request.ts";
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
export type Client = Account & {
  /**
   * Creates the address of `intent`. Repeating it gives the same address: an error has the intent
   * as it was sent, with the salt that was drawn for it.
   *
   * @throws {InvalidError} with every fault of the intent, before anything is sent
   * @throws {ServiceError} `reference_in_use` where another address has the reference
   * @throws {UnprovenError} if the service answers another address than the intent's
   */
  create(intent: NewIntent, options?: CreateOptions): Answered<AddressRecord>;
  /**
   * Asks what create would answer for `intent`, tried and looked over. Nothing is saved. Create the
   * `record.intent` of it: where there was no salt, it has the one that was drawn.
   *
   * @throws as {@link create}
   */
  check(intent: NewIntent, options?: CallOptions): Answered<Check>;
  /**
   * The record behind `address`, proved; undefined where the service has none.
   *
   * @throws {UnprovenError} if what it has does not recompute to `address`
   */
  lookup(address: Hex, options?: CallOptions): Answered<AddressRecord | undefined>;
  /** Asks what can be paid and where. @throws {UnprovenError} if it names another factory */
  chains(options?: CallOptions): Answered<ChainList>;
  /**
   * Reads what the service claims of `address`; undefined where it has no record of it.
   * {@link prove} does not depend on the service's word.
   */
  status(address: Hex, options?: CallOptions): Answered<ClaimedStatus | undefined>;
  /**
   * Proves what became of an address by nodes of the caller's: more than half of `rpcs`, or
   * `quorum` of them, must name the same block. The service's proof is used where it verifies.
   *
   * @param address or its record, and then the service need not be there
   * @throws {ProofError} `no_quorum`, or `unproved` where nobody gives a proof that verifies
   */
  prove(address: Hex | AddressRecord, options: ProveOptions): Promise<Proved>;
  /** Asks what executing `address` would do now, by the service's node: no proof. */
  simulation(address: Hex, options?: CallOptions): Answered<Simulation | undefined>;
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

/** @throws {TypeError} on options that are unknown, cannot work or would give a secret away */
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

  /** Gives what `prove` makes of an address's answer, or undefined where there is nothing. */
  const find = <T>(
    address: Hex,
    path: string,
    options: CallOptions | undefined,
    prove: (answer: unknown, asked: Hex) => T,
    headers?: Headers,
  ) =>
    call(options, async (call) => {
      const asked = parse(address);
      return orNothing(async () =>
        prove(await get(call, `/address/${asked}${path}`, headers), asked),
      );
    });

  const lookUp = lookupIn(settings);
  const lookup = (address: Hex, options?: CallOptions) =>
    call(options, (call) => lookUp(parse(address), call));
  const claimed: Claimed = (address, wanted, options) =>
    waitForState(transport, parse(address), wanted, options);

  return {
    // Loaded when needed, because most pages only look up and follow addresses.
    create: (intent, options) =>
      call(
        options,
        async (call) => {
          const { createAddress } = await loadCode(import("./create.ts"));
          return createAddress(settings, call, intent, options);
        },
        `${callOptions}, reference, again, signature`,
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
    async *watch(address, options = {}) {
      refuseUnknown(options, "signal, pollMs", "option");
      yield* watchStatus(transport, parse(address), options);
    },
    ...openAccount(settings),
    ...openProofs({ get: (path) => call({}, (call) => get(call, path)), lookup, trust }, claimed),
  };
}

type Claimed = (
  address: Hex,
  wanted: readonly AddressState[],
  options: WaitOptions,
) => Promise<ClaimedStatus>;

/** The methods that prove, whose code is loaded by the first call that needs it. */
function openProofs(source: ProofSource, claimed: Claimed): Pick<Client, "prove" | "waitFor"> {
  return {
    prove: async (of, options) => {
      refuseUnknown(options, proveOptions, "option");
      const { prove } = await loadCode(import("./prove.ts"));
      return prove(source, of, options);
    },
    async waitFor(address, state, options = {}) {
      refuseUnknown(options, "signal, pollMs, timeoutMs, proof", "option");
      const { proof, ...rest } = options;
      const wanted = typeof state === "string" ? [state] : state;
      if (!proof) return claimed(address, wanted, rest);
      refuseUnknown(proof, proveOptions, "option");
      const { prove, waitForProof } = await loadCode(import("./prove.ts"));
      const claimedNow = (more: WaitOptions) => claimed(address, wanted, { ...rest, ...more });
      return waitForProof(claimedNow, () => prove(source, address, proof), wanted, rest);
    },
  };
}

const proveOptions = "rpcs, quorum, confirmations";

type Headers = Readonly<Record<string, string>>;
