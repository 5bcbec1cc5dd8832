// Turns at hashing passwords, the dearest thing that a stranger can have this server do. A few hash
// at once, which leaves a core to the API. Browsers that have signed in before wait in a line of
// their own and go first, but strangers have every fourth turn. Within a line each account, or each
// network of strangers, has a turn before any has a second, and a few places only.

import { availableParallelism } from "node:os";
import type { Leave } from "../../accounts/attempts.ts";
import { Refusal } from "../errors.ts";

/** Node hashes on four threads, which files and names share. */
const threadsMax = 3;
const atOnceByDefault = Math.max(1, Math.min(threadsMax, availableParallelism() - 1));
/** Each turn before one's own takes the time of a hash. */
const knownPlaces: Places = { max: 64, eachMax: 4 };
const strangersPlaces: Places = { max: 32, eachMax: 8 };
const strangersEvery = 4;

type Places = { max: number; eachMax: number };
type Turn = () => void;

type Hashing = <Done>(leave: Omit<Leave, "waitMs">, run: () => Promise<Done>) => Promise<Done>;

/**
 * @param onShed is called for each that finds its line full
 * @throws {Refusal} 503 `service_unavailable`, from what is returned, where the line is full
 */
export function openHashing(onShed: () => void, atOnce = atOnceByDefault): Hashing {
  let [running, turns] = [0, 0];
  const known = openLine(knownPlaces);
  const strangers = openLine(strangersPlaces);
  const takeNext = (): Turn | undefined => {
    turns += 1;
    const isStrangers = turns % strangersEvery === 0;
    const [first, second] = isStrangers ? [strangers, known] : [known, strangers];
    return first.takeNext() ?? second.takeNext();
  };
  return async ({ isKnown, turnOf }, run) => {
    const line = isKnown ? known : strangers;
    if (line.isFullFor(turnOf)) {
      onShed();
      const headers = { "retry-after": "1" };
      throw new Refusal("service_unavailable", "too many sign in at once", { headers });
    }
    if (running < atOnce) running += 1;
    else await new Promise<void>((turn) => line.add(turnOf, turn));
    try {
      return await run();
    } finally {
      const next = takeNext();
      if (next) next();
      else running -= 1;
    }
  };
}

/** The first in the map has the next turn, and then goes to its end. */
function openLine({ max, eachMax }: Places) {
  const waiting = new Map<string, Turn[]>();
  let count = 0;
  return {
    isFullFor: (whose: string) => count >= max || (waiting.get(whose)?.length ?? 0) >= eachMax,
    add(whose: string, turn: Turn): void {
      count += 1;
      waiting.set(whose, [...(waiting.get(whose) ?? []), turn]);
    },
    takeNext(): Turn | undefined {
      for (const [whose, [turn, ...rest]] of waiting) {
        count -= 1;
        waiting.delete(whose);
        if (rest.length > 0) waiting.set(whose, rest);
        return turn;
      }
      return undefined;
    },
  };
}
