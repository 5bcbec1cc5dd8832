// The live status that a page shows.

import type { ServiceStatus } from "executable-address/status";

/**
 * The time without an update after which the server counts as silent. The server sends a ping every
 * 15 s, so a working connection is not silent for this long.
 */
export const silentAfterMs = 25_000;

/** The last status of an address, and whether the status may be outdated. */
export type News = {
  /** Undefined before the first status. */
  readonly status: ServiceStatus | undefined;
  /**
   * The time of the last update (a status or a ping), in Unix milliseconds by this device's clock.
   */
  readonly updatedAtMs: number | undefined;
  /**
   * True if no update has arrived for {@link silentAfterMs}, or if the server cannot read its
   * chain.
   */
  readonly isSilent: boolean;
  /**
   * True if no status has arrived since the device slept, or since the page was frozen or offline.
   */
  readonly isStale: boolean;
  /** True if the server does not know this address and will send no status. */
  readonly isUnknown: boolean;
  /**
   * Seconds since the last update (a status or a ping). 0 if the server does not know the address.
   */
  silentSeconds(): number;
  /**
   * The estimated time of the chain in Unix seconds: the newest block's time plus the time since
   * the page received it.
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
