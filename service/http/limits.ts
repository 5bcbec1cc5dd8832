// The limits of one server on new intents, requests, connections, event streams, and caches.

import { pingMs } from "executable-address/client/internal";
import { daySeconds } from "../flow/days.ts";

export type Limits = {
  /** The minimum and maximum time until the `expirationTimestamp` of a new intent, in seconds. */
  expirySecondsMin: number;
  expirySecondsMax: number;
  /**
   * The maximum number of pending requests per route. `createsInFlightMax` applies to routes that
   * accept an intent. `lookupsInFlightMax` applies to public routes that read an address. A request
   * above the limit is refused immediately with 503. Each route has its own count. Slow status
   * requests therefore cannot use up the limit of lookups.
   */
  createsInFlightMax: number;
  lookupsInFlightMax: number;
  /** The maximum number of create requests per account and day; 0 means no limit. */
  addressesPerAccountDay: number;
  /**
   * The maximum number of RPC calls per minute for simulations on one chain. The same maximum
   * applies to the calls for checks and for proofs. Each of the three purposes has its own count.
   * Servers that share a PostgreSQL database also share these counts.
   */
  simulationCallsPerMinute: number;
  /**
   * The maximum time in which a request's headers must arrive. The time begins when the connection
   * opens, and again with each request's first byte.
   */
  headersMsMax: number;
  /**
   * The maximum number of open connections, including idle connections. If a new connection exceeds
   * the limit, the server closes up to 1 % of the connections. It chooses the connections that have
   * waited longest for their clients.
   */
  connectionsMax: number;
  /** The maximum size of the cache of verified records for lookups, in bytes. */
  lookupCacheBytesMax: number;
};

/** The maximum time in which a whole request must arrive, including its body. */
export const requestMsMax = 30_000;

/**
 * The number of file descriptors that are reserved for databases, RPC connections, logs, and Node.
 */
const filesReserved = 256;

type Report = { userLimits: { open_files: { soft: number | string } } };

/**
 * Computes the maximum number of connections, which depends on how many files the process may open.
 */
function connectionsAllowed(): number {
  const { soft } = (process.report.getReport() as Report).userLimits.open_files;
  const files = typeof soft === "number" ? soft : 20_000;
  return Math.max(64, Math.min(files - filesReserved, 20_000));
}

export const defaultLimits: Limits = {
  expirySecondsMin: 5 * 60,
  expirySecondsMax: 366 * daySeconds,
  createsInFlightMax: 1024,
  lookupsInFlightMax: 4096,
  addressesPerAccountDay: 0,
  simulationCallsPerMinute: 3_000,
  headersMsMax: 10_000,
  connectionsMax: connectionsAllowed(),
  lookupCacheBytesMax: 32 * 2 ** 20,
};

/** The limits and intervals of a server's event streams. */
export type EventLimits = {
  streamsMax: number;
  streamsPerAddressMax: number;
  /** A client is one IPv4 address or one /64 network of IPv6. */
  streamsPerClientMax: number;
  /**
   * The interval between pings. Many proxies close a connection that is silent for a minute, so the
   * interval is shorter.
   */
  pingMs: number;
  /**
   * How long the server still reads an address's status after the last stream of the address has
   * closed. The client may reconnect in this time.
   */
  lingerMs: number;
};

/**
 * Limits the number of streams to half of `connectionsMax`. The server never closes a stream to
 * accept a new connection. More streams could therefore use up all connections. One client can have
 * at most `connectionsMax` / 16 streams.
 */
export function eventLimitsWithin(
  connectionsMax: number,
  limits: Partial<EventLimits> = {},
): EventLimits {
  const wanted = { ...defaultEventLimits, ...limits };
  const streamsMax = Math.min(wanted.streamsMax, Math.ceil(connectionsMax / 2));
  const perClient = Math.max(1, Math.floor(connectionsMax / 16));
  return {
    ...wanted,
    streamsMax,
    streamsPerClientMax: Math.min(wanted.streamsPerClientMax, perClient),
  };
}

export const defaultEventLimits: EventLimits = {
  streamsMax: 10_000,
  streamsPerAddressMax: 2_000,
  streamsPerClientMax: 200,
  pingMs,
  lingerMs: 30_000,
};

/** Divides the limits of event streams by the number of worker processes. */
export function divideEventLimits(config: { workers: number }): EventLimits {
  const { streamsMax, streamsPerAddressMax, streamsPerClientMax, ...rest } = defaultEventLimits;
  return {
    ...rest,
    streamsMax: divide(streamsMax, config),
    streamsPerAddressMax: divide(streamsPerAddressMax, config),
    streamsPerClientMax: divide(streamsPerClientMax, config),
  };
}

const divide = (bound: number, { workers }: { workers: number }) =>
  Math.max(1, Math.floor(bound / workers));
