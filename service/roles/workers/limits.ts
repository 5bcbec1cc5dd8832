// One worker's share of what a client may take of all WORKERS together. Limits that protect a
// process are each worker's own, and those of a chain's endpoints are counted by the shared
// limiter.

import type { Config } from "../../config.ts";
import { defaultEventLimits, type EventLimits } from "../../http/limits.ts";

export function divideEventLimits(config: Config): EventLimits {
  const { streamsMax, streamsPerAddressMax, streamsPerClientMax, ...rest } = defaultEventLimits;
  return {
    ...rest,
    streamsMax: shareOf(streamsMax, config),
    streamsPerAddressMax: shareOf(streamsPerAddressMax, config),
    streamsPerClientMax: shareOf(streamsPerClientMax, config),
  };
}

const shareOf = (bound: number, { workers }: Config) => Math.max(1, Math.floor(bound / workers));
