// The limits of one server: requests in progress, connections, streams, and caches.

export type Limits = {
  /** The earliest and the latest `expirationTimestamp` of a new intent, in seconds from now. */
  expirySecondsMin: number;
  expirySecondsMax: number;
  /**
   * The maximum number of pending requests per route: of each route that accepts an intent, and of
   * each public route that reads an address. Each route has its own count, so that slow status
   * requests cause no refusals of lookups. A request above the limit is refused immediately with
   * 503.
   */
  createsInFlightMax: number;
  lookupsInFlightMax: number;
  /** The maximum number of create requests per account and day; 0 means no limit. */
  addressesPerAccountDay: number;
  /**
   * The maximum number of calls per minute to a chain's endpoints for simulations. Servers on one
   * PostgreSQL database share this limit.
   */
  simulationCallsPerMinute: number;
  /**
   * The maximum time to receive a request's headers, from its first byte or from the end of the
   * previous request.
   */
  headersMsMax: number;
  /**
   * The maximum number of open connections, including idle connections. Above the limit, the
   * connections that have been idle longest are closed, up to 1% of the limit.
   */
  connectionsMax: number;
  /** The maximum size of the cache of verified records for lookups, in bytes. */
  lookupCacheBytesMax: number;
};

/** The maximum time to receive a whole request. {@link Limits.headersMsMax} limits its headers. */
export const requestMsMax = 30_000;

/** Open files reserved for databases, chains, logs, and Node itself. */
const filesReserved = 256;

type Report = { userLimits: { open_files: { soft: number | string } } };

/** Derives the number of connections from the process's limit of open files. */
function connectionsAllowed(): number {
  const { soft } = (process.report.getReport() as Report).userLimits.open_files;
  const files = typeof soft === "number" ? soft : 20_000;
  return Math.max(64, Math.min(files - filesReserved, 20_000));
}

export const defaultLimits: Limits = {
  expirySecondsMin: 5 * 60,
  expirySecondsMax: 366 * 24 * 60 * 60,
  createsInFlightMax: 1024,
  lookupsInFlightMax: 4096,
  addressesPerAccountDay: 0,
  simulationCallsPerMinute: 3_000,
  headersMsMax: 10_000,
  connectionsMax: connectionsAllowed(),
  lookupCacheBytesMax: 32 * 2 ** 20,
};

/** Limits and intervals of the event streams of one server. */
export type EventLimits = {
  streamsMax: number;
  streamsPerAddressMax: number;
  /** A client is one IPv4 address or one /64 network of IPv6. */
  streamsPerClientMax: number;
  /**
   * The interval of pings. It is less than a minute, because proxies close a connection that is
   * silent for a minute.
   */
  heartbeatMs: number;
  /** How long an address is followed after its last stream, because a client may reconnect. */
  lingerMs: number;
};

/**
 * Limits streams to half of all connections, because a stream is never closed to make room for a
 * new connection. One client can have at most an eighth of these streams.
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
  heartbeatMs: 15_000,
  lingerMs: 30_000,
};

/** Divides the limits of event streams among the worker processes. */
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
