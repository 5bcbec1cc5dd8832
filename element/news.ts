// The news of an address that a page is drawn by.

import type { ServiceStatus } from "executable-address/status";

/** The server sends a ping every 15 s. A person who looks learns of silence within 30. */
export const silentAfterMs = 25_000;

/** The last status, and when it was heard. */
export type News = {
  /** Undefined while nothing is known. */
  readonly status: ServiceStatus | undefined;
  /** When the server last said what is so, by this device's clock in Unix milliseconds. */
  readonly heardAtMs: number | undefined;
  /** Nothing was heard for {@link silentAfterMs}, or the server cannot read its chain. */
  readonly isSilent: boolean;
  /** The device slept, or the page was frozen or offline, and no status has come since. */
  readonly isStale: boolean;
  /** The server does not have this address: no status will come. */
  readonly isUnknown: boolean;
  /** How long nothing was heard; 0 where no status can come. */
  silentSeconds(): number;
  /** The time of the chain's newest known block and what passed since, in Unix seconds. */
  chainSeconds(): number | undefined;
};

/** The news before anything is known. */
export const noNews: News = {
  status: undefined,
  heardAtMs: undefined,
  isSilent: false,
  isStale: false,
  isUnknown: false,
  silentSeconds: () => 0,
  chainSeconds: () => undefined,
};
