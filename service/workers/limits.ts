// The bounds of this process by what the environment says, and the defaults where it says nothing.
//
// What protects other clients' room is meant for all WORKERS together, and each has its share. What
// protects a process itself is each worker's own, and what protects a chain's endpoints is counted
// by the shared limiter.

import type { Config } from "../config.ts";
import { defaultLimits, type Limits } from "../http/parts.ts";
import { defaultEventLimits, type EventLimits } from "../http/status/events-limits.ts";

export function limitsOf({ connectionsMax, ...limits }: Config): Limits {
  return {
    ...defaultLimits,
    ...limits,
    ...(connectionsMax !== undefined && { connectionsMax }),
  };
}

export function eventLimitsOf(config: Config): EventLimits {
  const { streamsMax, streamsPerAddressMax, streamsPerClientMax, ...rest } = defaultEventLimits;
  return {
    ...rest,
    streamsMax: shareOf(streamsMax, config),
    streamsPerAddressMax: shareOf(streamsPerAddressMax, config),
    streamsPerClientMax: shareOf(streamsPerClientMax, config),
  };
}

const shareOf = (bound: number, { workers }: Config) => Math.max(1, Math.floor(bound / workers));
