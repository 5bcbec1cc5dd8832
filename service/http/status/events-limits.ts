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

export const defaultEventLimits: EventLimits = {
  streamsMax: 10_000,
  streamsPerAddressMax: 2_000,
  streamsPerClientMax: 200,
  pollMs: 1_000,
  heartbeatMs: 15_000,
  lingerMs: 30_000,
};
