// Bounds of what one server does at once, and of what it keeps.

export type Limits = {
  /** How far `expirationTimestamp` lies ahead of now. */
  expirySecondsMin: number;
  expirySecondsMax: number;
  /** Requests of a kind under way at once; one more is refused with 503 at once. */
  createsInFlightMax: number;
  lookupsInFlightMax: number;
  /** Creates of one account; 0 for no bound. */
  addressesPerAccountDay: number;
  /** Calls of simulations to a chain's endpoints in a minute, of all servers on one PostgreSQL. */
  simulationCallsPerMinute: number;
  /** A request's head ends so long after its first byte, or after the request before it. */
  headersMsMax: number;
  /** Open at once, idle ones included; above it the longest idle one is closed. */
  connectionsMax: number;
  /** Bytes of verified answers that are kept for look-ups. */
  lookupCacheBytesMax: number;
};

/** Open files kept for databases, chains, logs and Node itself. */
const filesReserved = 256;

type Report = { userLimits: { open_files: { soft: number | string } } };

/** The connections that this process may have open, by its limit of open files. */
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

/** Bounds and paces of the event streams of one server. */
export type EventLimits = {
  streamsMax: number;
  streamsPerAddressMax: number;
  /** A client is one IPv4 address, or 64 bits of IPv6. */
  streamsPerClientMax: number;
  /** It is below the minute after which proxies take a silent connection for dead. */
  heartbeatMs: number;
  /** How long an address is still followed for streams that may come back to it. */
  lingerMs: number;
};

/**
 * Streams get half of all connections at most, since none of them is ever closed to make room; and
 * a client an eighth of that.
 */
export function eventLimitsWithin(
  connectionsMax: number,
  limits: Partial<EventLimits> = {},
): EventLimits {
  const asked = { ...defaultEventLimits, ...limits };
  const streamsMax = Math.min(asked.streamsMax, Math.ceil(connectionsMax / 2));
  const ofClient = Math.max(1, Math.floor(connectionsMax / 16));
  return {
    ...asked,
    streamsMax,
    streamsPerClientMax: Math.min(asked.streamsPerClientMax, ofClient),
  };
}

export const defaultEventLimits: EventLimits = {
  streamsMax: 10_000,
  streamsPerAddressMax: 2_000,
  streamsPerClientMax: 200,
  heartbeatMs: 15_000,
  lingerMs: 30_000,
};
