// The newest block of a chain, read once for all requests of a tenth of a second, and what is read
// at it.

import type { Hex } from "executable-address";
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
  const newest = (isAgain: boolean) => {
    if (isAgain) forget();
    return read();
  };
  return {
    read,
    /** Does {@link readAtNewest} with this head. */
    at: <Found>(readAt: (block: BlockReference) => Promise<Found>) =>
      readAtNewest(newest, ({ hash }) => hash, readAt),
  };
}

const attemptsMax = 3;

/**
 * Gives what `read` finds at the newest block. A reorganisation may cause any error, so where one
 * is thrown and another block is the newest by then, it is read at that one.
 *
 * @param newest the newest block, or what was read at it
 */
export async function readAtNewest<Newest, Found>(
  newest: (isAgain: boolean) => Promise<Newest>,
  hashOf: (newest: Newest) => Hex,
  read: (newest: Newest) => Promise<Found>,
): Promise<Found> {
  let at = await newest(false);
  for (let attempt = 1; ; attempt++) {
    try {
      return await read(at);
    } catch (error) {
      const newer = await newest(true);
      if (attempt === attemptsMax || hashOf(newer) === hashOf(at)) throw error;
      at = newer;
    }
  }
}
