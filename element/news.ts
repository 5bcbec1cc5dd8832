// The live status that a page shows.

import type { ServiceStatus } from "executable-address/status";

/** The server sends a ping every 15 s. A lost connection is therefore noticed within 30 s. */
export const silentAfterMs = 25_000;

/** The last status, and when it arrived. */
export type News = {
  /** Undefined before the first status. */
  readonly status: ServiceStatus | undefined;
  /** The time at which the last status arrived, in Unix milliseconds by this device's clock. */
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
  /** Seconds since the last update; 0 if no status can arrive. */
  silentSeconds(): number;
  /**
   * The estimated chain time in Unix seconds: the newest block's time plus the time since it
   * arrived.
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
