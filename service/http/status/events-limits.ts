// Bounds and paces of the event streams of one server.

export type EventLimits = {
  streamsMax: number;
  streamsPerAddressMax: number;
  /** Of one IPv4 address, or 64 bits of IPv6. */
  streamsPerClientMax: number;
  /** Between two readings of a chain's head. */
  pollMs: number;
  /** Below the minute after which proxies take a silent connection for dead. */
  heartbeatMs: number;
  /** How long an address is still followed for streams that may come back to it. */
  lingerMs: number;
};

/**
 * Streams get half of all connections at most, since none of them is ever closed to make room; and
 * a client an eighth of that.
 */
export function within(connectionsMax: number, limits: Partial<EventLimits> = {}): EventLimits {
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
  pollMs: 1_000,
  heartbeatMs: 15_000,
  lingerMs: 30_000,
};
