// The limits of this process: of the environment, else the defaults.
//
// Limits of what one client may take hold for all WORKERS together, so each has its share. Limits
// that protect a process are each worker's own; those of a chain's endpoints are counted by the
// shared limiter.

import type { Config } from "../config.ts";
import {
  defaultEventLimits,
  defaultLimits,
  type EventLimits,
  type Limits,
} from "../http/limits.ts";

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
