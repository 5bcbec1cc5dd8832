// The limits of one server on pending requests, connections, streams, and caches.

export type Limits = {
  /** The earliest and the latest `expirationTimestamp` of a new intent, in seconds from now. */
  expirySecondsMin: number;
  expirySecondsMax: number;
  /**
   * The maximum number of pending requests for each route that accepts an intent
   * (`createsInFlightMax`) and for each public route that reads an address (`lookupsInFlightMax`).
   * A request above the limit returns 503 immediately. Each route has its own count, so slow status
   * requests do not cause refusals of lookups.
   */
  createsInFlightMax: number;
  lookupsInFlightMax: number;
  /** The maximum number of create requests per account and day; 0 means no limit. */
  addressesPerAccountDay: number;
  /**
   * The maximum number of RPC calls per minute and chain for simulations. Checks and proofs each
   * have a separate limit of the same size. All servers that share a PostgreSQL database share
   * these limits.
   */
  simulationCallsPerMinute: number;
  /**
   * The maximum time for receiving a request's headers. It begins with the first byte of the
   * request or with the end of the previous request.
   */
  headersMsMax: number;
  /**
   * The maximum number of open connections, including idle connections. If a new connection exceeds
   * the limit, the server closes the connections that have been idle longest, up to 1% of the
   * limit.
   */
  connectionsMax: number;
  /** The maximum size of the cache of verified records for lookups, in bytes. */
  lookupCacheBytesMax: number;
};

/** The maximum time for receiving a whole request, including its body. */
export const requestMsMax = 30_000;

/**
 * The number of file descriptors that are reserved for databases, RPC connections, logs, and Node
 * itself.
 */
const filesReserved = 256;

type Report = { userLimits: { open_files: { soft: number | string } } };

/** Derives the maximum number of connections from the process's limit on open files. */
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

/** The limits and intervals for one server's event streams. */
export type EventLimits = {
  streamsMax: number;
  streamsPerAddressMax: number;
  /** A client is one IPv4 address or one /64 network of IPv6. */
  streamsPerClientMax: number;
  /**
   * The interval between pings. It is less than a minute, because many proxies close a connection
   * that is silent for a minute.
   */
  heartbeatMs: number;
  /**
   * How long the server follows an address after its last stream has closed, because the client may
   * reconnect.
   */
  lingerMs: number;
};

/**
 * Limits streams to half of `connectionsMax`, because a stream is never closed to make room for a
 * new connection. One client can have at most an eighth of that half.
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
