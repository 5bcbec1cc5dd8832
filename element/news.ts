// The live status that a page shows.

import { pingMs } from "executable-address/client/internal";
import type { ServiceStatus } from "executable-address/status";

/**
 * `isSilent` becomes true if no update arrives for this time. On a working connection, updates
 * arrive more often, because the server sends pings.
 */
export const silentAfterMs = pingMs + 10_000;

/** The last status of an address, and whether the status may be outdated. */
export type News = {
  /** Undefined before the first status. */
  readonly status: ServiceStatus | undefined;
  /** The device's time at the last update (a status or a ping), in Unix milliseconds. */
  readonly updatedAtMs: number | undefined;
  /**
   * True if no update has arrived for {@link silentAfterMs}. Also true if the server cannot read
   * its chain.
   */
  readonly isSilent: boolean;
  /** True if no status has arrived since the device slept or the page was frozen or offline. */
  readonly isStale: boolean;
  /** True if the server does not know this address and will send no status. */
  readonly isUnknown: boolean;
  /**
   * Seconds since the last update (a status or a ping). Returns 0 if the server does not know the
   * address and therefore sends no updates.
   */
  silentSeconds(): number;
  /**
   * The estimated time of the chain, in Unix seconds. This is the newest block's timestamp plus the
   * seconds since the page received it.
   */
  chainSeconds(): number | undefined;
};

/** The value before the first update. */
export const noNews: News = {
  status: undefined,
  updatedAtMs: undefined,
  isSilent: false,
  isStale: false,
  isUnknown: false,
  silentSeconds: () => 0,
  chainSeconds: () => undefined,
};
