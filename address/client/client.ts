// `executable-address/client`: the service's interface, trusted with nothing that can be proved. A
// record that does not recompute under the factory the caller trusts is an error, never data.

import { formatAddress, parseAddress } from "../abi/checksum.ts";
import { factoryAddress } from "../deployment.ts";
import { deriveAddress } from "../derive.ts";
import { InvalidError, quoted } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeNewIntent } from "../intent/parse.ts";
import { type Keccak, keccak256 } from "../keccak/keccak.ts";
import { verifyRecord } from "../record.ts";
import type { ServiceStatus } from "../status/shape.ts";
import { type Request, ServiceError, send, type Transport } from "./request.ts";
import type { Simulation } from "./simulation.ts";

export { InvalidError, type Issue } from "../errors.ts";
export type { ServiceStatus } from "../status/shape.ts";
export { ServiceError } from "./request.ts";
export type { BalanceChange, Role, Simulation } from "./simulation.ts";

export type ClientOptions = {
  /** With the version, as in `https://pay.example/v1`. */
  readonly baseUrl: string;
  /** Needed to create: an API key from a server, a client ID from a page. Not both. */
  readonly apiKey?: string;
  readonly clientId?: string;
  /** The factory to trust. Default {@link factoryAddress}, the one this package was made for. */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch;
  /** How often a request that is told to wait is sent again. Default 3. */
  readonly retriesMax?: number;
  /** The longest wait that is kept to; a longer one is thrown as it came. Default 30. */
  readonly waitSecondsMax?: number;
};

/** An intent to create; without a salt, a random one is drawn. */
export type NewIntent = Omit<Intent, "salt"> & { readonly salt?: Hex };

/** spec §2.4. `decimals`: how many digits of an amount are behind the point. */
export type ChainList = {
  readonly factory: Hex;
  readonly chains: readonly {
    readonly chainId: number;
    readonly name: string;
    readonly tokens: readonly {
      readonly symbol: string;
      readonly address: Hex;
      readonly decimals: number;
    }[];
  }[];
};

type CallOptions = { readonly signal?: AbortSignal };

/** Every method throws {@link ServiceError} for a refusal, and what `fetch` throws. */
export type Client = {
  /**
   * Creates the address of `intent`. Repeating it, also after a failure, gives the same address:
   * pass the salt again, or leave it out for another address.
   *
   * @throws {InvalidError} with every fault of the intent, before anything is sent
   * @throws {UnprovenError} if the service answers another address than the intent's
   */
  create(intent: NewIntent, options?: CallOptions): Promise<AddressRecord>;
  /**
   * The record behind `address` (any letter case), proved; undefined where the service has none.
   *
   * @throws {UnprovenError} if what it has does not recompute to `address`
   */
  lookup(address: Hex, options?: CallOptions): Promise<AddressRecord | undefined>;
  /** What can be paid and where. @throws {UnprovenError} if it names another factory */
  chains(options?: CallOptions): Promise<ChainList>;
  /** What the service says of `address`; `executable-address/status` asks the chain itself. */
  status(address: Hex, options?: CallOptions): Promise<ServiceStatus | undefined>;
  /** What executing `address` would do now, as the service's node computes it: no proof. */
  simulation(address: Hex, options?: CallOptions): Promise<Simulation | undefined>;
};

/** What the service answered is not proved by what it says. `cause` has the faults, if any. */
export class UnprovenError extends Error {
  override readonly name = "UnprovenError";
}

/** @throws {TypeError} on options that cannot work */
export function createClient(options: ClientOptions): Client {
  const { keccak = keccak256, retriesMax = 3, waitSecondsMax = 30 } = options;
  const factory = parseAddress(options.factory ?? factoryAddress, { path: ["factory"], keccak });
  const trust = { factory, keccak };
  const credential = credentialHeaders(options);
  const transport: Transport = {
    baseUrl: parseBaseUrl(options.baseUrl),
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    retriesMax,
    waitSecondsMax,
  };
  const get = (path: string, { signal }: CallOptions = {}) =>
    send(transport, { method: "GET", path, signal });

  return {
    async create(intent, { signal } = {}) {
      // A salt drawn here and not by the service: sending it again is the same address.
      const { intent: wanted, terms } = encodeNewIntent(intent, trust);
      const body = JSON.stringify(wanted);
      const headers = { "Content-Type": "application/json", ...credential };
      const request: Request = { method: "POST", path: "/address/create", headers, body, signal };
      const address = formatAddress(deriveAddress(terms, trust), keccak);
      return prove(await send(transport, request), address, trust);
    },
    async lookup(address, options) {
      const asked = parseAddress(address, { keccak });
      const answer = await orUndefined(get(`/address/${asked}`, options));
      return answer === undefined ? undefined : prove(answer, asked, trust);
    },
    async chains(options) {
      return proveChains(await get("/chains", options), trust);
    },
    async status(address, options) {
      const asked = parseAddress(address, { keccak });
      const answer = await orUndefined(get(`/address/${asked}/status`, options));
      return answer === undefined ? undefined : proveStatus(answer, asked);
    },
    async simulation(address, options) {
      const asked = parseAddress(address, { keccak });
      const answer = await orUndefined(get(`/address/${asked}/simulation`, options));
      return answer === undefined ? undefined : proveSimulation(answer, asked);
    },
  };
}

type Trust = { readonly factory: Hex; readonly keccak: Keccak };

function parseBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
    throw new TypeError('baseUrl: expected a URL such as "https://pay.example/v1"');
  return url.href.replace(/\/+$/, "");
}

function credentialHeaders({ apiKey, clientId }: ClientOptions): Record<string, string> {
  if (apiKey !== undefined && clientId !== undefined)
    throw new TypeError("expected an API key or a client ID, found both");
  if (apiKey !== undefined && "document" in globalThis)
    throw new TypeError("an API key is a secret of servers: in a page, use a client ID");
  if (apiKey !== undefined) return { Authorization: `Bearer ${apiKey}` };
  return clientId === undefined ? {} : { "X-Client-Id": clientId };
}

async function orUndefined(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "not_found") return undefined;
    throw error;
  }
}

function prove(answer: unknown, address: Hex, { factory, keccak }: Trust): AddressRecord {
  try {
    return verifyRecord(answer, { factory, address, keccak });
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new UnprovenError(`the answer does not prove ${address}`, { cause: error });
  }
}

function proveChains(answer: unknown, { factory }: Trust): ChainList {
  const list = answer as ChainList | null;
  const named = typeof list?.factory === "string" ? list.factory : "none";
  if (named.toLowerCase() !== factory.toLowerCase())
    throw new UnprovenError(`wanted factory ${factory}, found ${quoted(named) ?? "other text"}`);
  if (Array.isArray(list?.chains)) return list;
  throw new UnprovenError("the answer is no chain list");
}

function proveStatus(answer: unknown, asked: Hex): ServiceStatus {
  const status = answer as ServiceStatus;
  const found = typeof status?.address === "string" ? status.address.toLowerCase() : undefined;
  if (found === asked.toLowerCase() && typeof status.state === "string") return status;
  throw new UnprovenError(`the answer is no status of ${asked}`);
}

/** That it is one, and of this address; what it says cannot be proved. */
function proveSimulation(answer: unknown, asked: Hex): Simulation {
  const simulation = answer as Simulation;
  const { address, changes } = simulation ?? {};
  const found = typeof address === "string" ? address.toLowerCase() : undefined;
  if (found === asked.toLowerCase() && Array.isArray(changes)) return simulation;
  throw new UnprovenError(`the answer is no simulation of ${asked}`);
}
