// The status updates that a page shows.

import type { ServiceStatus } from "executable-address/status";

/** The server sends a ping every 15 s, so silence is shown within 30 s. */
export const silentAfterMs = 25_000;

/** The last status and the time of its arrival. */
export type News = {
  /** Undefined before the first status. */
  readonly status: ServiceStatus | undefined;
  /** The time of the server's last status, in Unix milliseconds by this device's clock. */
  readonly updatedAtMs: number | undefined;
  /**
   * True if no update arrived for {@link silentAfterMs}, or if the server cannot read its chain.
   */
  readonly isSilent: boolean;
  /**
   * True if the device slept, or the page was frozen or offline, and no status has arrived since
   * then.
   */
  readonly isStale: boolean;
  /** True if the server does not know this address, so that no status will arrive. */
  readonly isUnknown: boolean;
  /** Seconds since the last update; 0 if no status can arrive. */
  silentSeconds(): number;
  /** The time of the newest known block plus the time since then, in Unix seconds. */
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
