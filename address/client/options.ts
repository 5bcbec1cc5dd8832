// Parses the options of a client. Refuses options that cannot work or would expose a secret.

import { parseAddress } from "../abi/checksum.ts";
import { factoryAddress } from "../deployment.ts";
import { describeLength, describeType, type NamesOf, refuseUnknown } from "../errors.ts";
import { apiKeyFormat, apiKeyPattern, clientIdFormat, clientIdPattern } from "../ids.ts";
import type { Hex } from "../intent/intent.ts";
import { chooseKeccak, type Keccak } from "../keccak/keccak.ts";
import { version } from "../version.ts";
import type { Fetch, RequestInfo, ResponseInfo, Transport } from "./request.ts";

export type ClientOptions = {
  /**
   * The URL of the service's API, including the version: `https://pay.example/v1`. An API key needs
   * `https`, except on localhost.
   */
  readonly baseUrl: string;
  /**
   * Base URLs of mirrors, which serve static copies of the service's records (made by `admin
   * mirror`). A lookup asks the mirrors if the service does not return a valid record.
   */
  readonly mirrors?: readonly string[];
  /**
   * The credential to create addresses:
   *
   * - on a server, an API key: `svc_sk_` followed by 64 hex digits
   * - in a page, a client ID: `svc_client_` followed by 32 hex digits
   *
   * Do not pass both an API key and a client ID.
   */
  readonly apiKey?: string;
  readonly clientId?: string;
  /** The trusted factory. Default {@link factoryAddress}. */
  readonly factory?: Hex;
  readonly keccak?: Keccak;
  /** Replaces the global `fetch`. */
  readonly fetch?: Fetch;
  /**
   * The maximum number of retries. The client retries after network errors and after responses that
   * ask it to wait. Default 3.
   */
  readonly retriesMax?: number;
  /**
   * The maximum delay between attempts. If `Retry-After` is longer, the call throws. Default 30.
   */
  readonly waitSecondsMax?: number;
  /** The maximum time of one attempt, until the last byte of the response. Default 20,000. */
  readonly timeoutMs?: number;
  /** The maximum total time of a call, including retries and delays. Default: a day. */
  readonly deadlineMs?: number;
  /**
   * Headers that are sent with every request. If a web page uses the client, the service must allow
   * these headers (CORS).
   */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called before each attempt of a request. Exceptions of hooks are ignored. */
  readonly onRequest?: (request: RequestInfo) => void;
  /** Called with each response, even if the response is an error. */
  readonly onResponse?: (response: ResponseInfo) => void;
};

const clientOptions: NamesOf<ClientOptions> = {
  baseUrl: 1,
  mirrors: 1,
  apiKey: 1,
  clientId: 1,
  factory: 1,
  keccak: 1,
  fetch: 1,
  retriesMax: 1,
  waitSecondsMax: 1,
  timeoutMs: 1,
  deadlineMs: 1,
  headers: 1,
  onRequest: 1,
  onResponse: 1,
};

/** A day, in milliseconds. */
export const limitMsMax = 86_400_000;

export type Trust = { readonly factory: Hex; readonly keccak: Keccak };

export type Settings = {
  readonly trust: Trust;
  readonly credential: Readonly<Record<string, string>>;
  readonly transport: Transport;
  readonly mirrors: readonly string[];
};

/** @throws {TypeError} for invalid options, or {InvalidError} for an invalid `factory` */
export function parseOptions(options: ClientOptions): Settings {
  refuseUnknown(options, clientOptions, "option");
  const keccak = chooseKeccak(options);
  for (const name of ["fetch", "onRequest", "onResponse"] as const) {
    const value = options[name];
    if (value !== undefined && typeof value !== "function")
      throw new TypeError(`${name}: expected a function, found ${describeType(value)}`);
  }
  const { fetch: given, onRequest, onResponse } = options;
  return {
    trust: {
      factory: parseAddress(options.factory ?? factoryAddress, { path: ["factory"], keccak }),
      keccak,
    },
    credential: credentialHeaders(options),
    mirrors: parseMirrors(options),
    transport: {
      baseUrl: parseBaseUrl(options),
      fetch: given ?? ((input, init) => globalThis.fetch(input, init)),
      retriesMax: parseCount(options, "retriesMax", 3, 0, 100),
      waitSecondsMax: parseCount(options, "waitSecondsMax", 30, 0, 86_400),
      timeoutMs: parseCount(options, "timeoutMs", 20_000, 1, limitMsMax),
      deadlineMs: parseCount(options, "deadlineMs", limitMsMax, 1, limitMsMax),
      headers: { ...nameProgram(), ...parseHeaders(options) },
      onRequest,
      onResponse,
    },
  };
}

/**
 * Parses an option that is an integer from `least` to `most`. Returns the default if the option is
 * missing.
 * @throws {TypeError}
 */
export function parseCount<Name extends string>(
  options: { readonly [name in Name]?: number | undefined },
  name: Name,
  byDefault: number,
  least: number,
  most: number,
): number {
  const value: unknown = options[name] ?? byDefault;
  if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
    return value as number;
  const wanted = `an integer from ${least} to ${most}`;
  throw new TypeError(`${name}: expected ${wanted}, found ${describeLength(value)}`);
}

/** Sets the user agent, except in browsers, where it would require a CORS preflight. */
function nameProgram(): Record<string, string> {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  const isBrowser = navigator?.userAgent?.startsWith("Mozilla/");
  return isBrowser ? {} : { "user-agent": `executable-address/${version}` };
}

/** The headers that the client sets itself. */
const ownHeaders = /^(accept|authorization|content-type|cookie|host|last-event-id|x-client-id)$/;

/**
 * Parses headers and converts their names to lowercase.
 *
 * @throws {TypeError} whose message contains no values
 */
export function parseHeaders({ headers = {} }: { readonly headers?: object }) {
  return Object.fromEntries(
    Object.entries(headers).map(([given, value]: [string, unknown]) => {
      const name = given.toLowerCase();
      const isFree = /^[a-z0-9-]{1,64}$/.test(name) && !ownHeaders.test(name);
      if (isFree && typeof value === "string" && /^[ -~]*$/.test(value)) return [name, value];
      const wanted = "expected a name that the client does not set, and a printable ASCII value";
      const found = describeLength(value);
      throw new TypeError(`headers.${given.slice(0, 64)}: ${wanted}, found ${found}`);
    }),
  );
}

function parseBaseUrl({ baseUrl, apiKey }: ClientOptions, name = "baseUrl"): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username)
    throw new TypeError(
      `${name}: expected a URL such as "https://pay.example/v1", found ${describeLength(baseUrl)}`,
    );
  if (url.protocol === "http:" && apiKey !== undefined && !isThisMachine(url.hostname))
    throw new TypeError("baseUrl: expected https for an API key, found http");
  return url.href.replace(/\/+$/, "");
}

/**
 * Parses the URLs of mirrors. `http` is allowed, because the client sends no secrets to mirrors.
 */
function parseMirrors({ mirrors = [] }: ClientOptions): string[] {
  if (!Array.isArray(mirrors))
    throw new TypeError(`mirrors: expected a list, found ${describeType(mirrors)}`);
  return mirrors.map((baseUrl, place) => parseBaseUrl({ baseUrl }, `mirrors[${place}]`));
}

const isThisMachine = (host: string): boolean =>
  host === "localhost" ||
  host.endsWith(".localhost") ||
  host === "[::1]" ||
  /^127(\.\d{1,3}){3}$/.test(host);

function credentialHeaders({ apiKey, clientId }: ClientOptions): Record<string, string> {
  if (apiKey !== undefined) {
    if (clientId !== undefined)
      throw new TypeError("expected an API key or a client ID, found both");
    if ("document" in globalThis)
      throw new TypeError("expected a client ID, found an API key, which is only for servers");
    if (!apiKeyPattern.test(apiKey))
      throw new TypeError(`apiKey: expected ${apiKeyFormat}, found ${describeLength(apiKey)}`);
    return { Authorization: `Bearer ${apiKey}` };
  }
  if (clientId === undefined) return {};
  if (!clientIdPattern.test(clientId))
    throw new TypeError(`clientId: expected ${clientIdFormat}, found ${describeLength(clientId)}`);
  return { "X-Client-Id": clientId };
}
