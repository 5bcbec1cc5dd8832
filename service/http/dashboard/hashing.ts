// Turns at hashing passwords, the dearest thing that a stranger can have this server do. A few hash
// at once, which leaves a core to the API; browsers that have signed in before go first and wait in
// a line of their own, so strangers' attempts keep no owner out.

import { availableParallelism } from "node:os";
import { Refusal } from "../errors.ts";

/** Node hashes on four threads, which files and names share. */
const threadsMax = 3;
const atOnceByDefault = Math.max(1, Math.min(threadsMax, availableParallelism() - 1));
/** Each waits for about 0.1 s a hash before it. */
const waitingMax = 32;

/** @param isKnown whether the browser has proved that it signed in to this account before */
type Hashing = <Done>(isKnown: boolean, run: () => Promise<Done>) => Promise<Done>;

/**
 * @param onShed is called for each that finds its line full
 * @throws {Refusal} 503 `service_unavailable`, from what is returned, where the line is full
 */
export function openHashing(onShed: () => void, atOnce = atOnceByDefault): Hashing {
  let running = 0;
  const known: (() => void)[] = [];
  const strangers: (() => void)[] = [];
  return async (isKnown, run) => {
    const line = isKnown ? known : strangers;
    if (line.length >= waitingMax) {
      onShed();
      const headers = { "retry-after": "1" };
      throw new Refusal("service_unavailable", "too many sign in at once", { headers });
    }
    if (running < atOnce) running += 1;
    else await new Promise<void>((turn) => line.push(turn));
    try {
      return await run();
    } finally {
      const next = known.shift() ?? strangers.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
