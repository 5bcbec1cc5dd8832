// The newest block of a chain, read once for all requests of a tenth of a second.

import type { BlockReference } from "executable-address/status";
import type { ChainAccess } from "./logs.ts";
import { readHead } from "./view.ts";

/** How long a head is used: ten reads a second at most, however many ask. */
export const headMsMax = 100;

/** @param now Unix milliseconds, or any clock that does not go back */
export function sharedHead(chain: ChainAccess, now: () => number) {
  let pending: Promise<BlockReference> | undefined;
  let foundAtMs = Number.NEGATIVE_INFINITY;
  const read = () => {
    if (pending && now() - foundAtMs < headMsMax) return pending;
    foundAtMs = Number.POSITIVE_INFINITY;
    const asked = readHead(chain);
    pending = asked;
    asked.then(
      () => {
        if (pending === asked) foundAtMs = now();
      },
      () => {
        if (pending === asked) pending = undefined;
      },
    );
    return asked;
  };
  const forget = () => {
    if (foundAtMs !== Number.POSITIVE_INFINITY) pending = undefined;
  };
  return { read, forget };
}
