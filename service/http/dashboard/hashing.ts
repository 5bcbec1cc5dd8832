// Opens the queues for password hashes. A password hash is the most expensive work that a client
// without an account can cause. Therefore, the requests of sign-in.ts wait for a turn.

import { availableParallelism } from "node:os";
import type { Leave } from "../../accounts/attempts.ts";
import { type Refusal, unavailable } from "../errors.ts";

/**
 * The maximum number of threads for hashes. Node computes hashes in its pool of four threads. The
 * fourth thread remains free to read files and resolve host names.
 */
const threadsMax = 3;
const runningMaxByDefault = Math.max(1, Math.min(threadsMax, availableParallelism() - 1));
/**
 * The maximum number of waiting hashes in a queue (`max`), and per account or network (`eachMax`).
 */
const knownPlaces: Places = { max: 64, eachMax: 4, owners: "account" };
const strangersPlaces: Places = { max: 32, eachMax: 8, owners: "network" };
const strangersEvery = 4;

type Places = { max: number; eachMax: number; owners: "account" | "network" };
type Turn = () => void;

type Hashing = <Done>(leave: Omit<Leave, "waitMs">, run: () => Promise<Done>) => Promise<Done>;

/**
 * Opens two queues for password hashes, for known and unknown browsers. A known browser has signed
 * in before. Runs a few hashes simultaneously. If the machine has several cores, one core is left
 * for the API.
 *
 * The queue for known browsers has priority. But if both queues have entries, every fourth hash
 * comes from the queue for unknown browsers. In the queue for known browsers, each hash belongs to
 * an account. In the queue for unknown browsers, each hash belongs to a client network. The owners
 * in a queue take turns. The number of waiting hashes per owner is limited.
 *
 * @param onShed called for each request that is refused because its queue is full
 * @returns a function that throws {@link Refusal} 503 `service_unavailable` if the queue is full
 */
export function openHashing(onShed: () => void, runningMax = runningMaxByDefault): Hashing {
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
    const full = line.findFull(turnOf);
    if (full) {
      onShed();
      throw unavailable(`too many sign-ins are waiting: ${full}; try again in a second`, 1);
    }
    if (running < runningMax) running += 1;
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

/**
 * Opens a queue that serves the owners of its entries in turn. The first owner in the map is served
 * next, and then moves to the end.
 */
function openLine({ max, eachMax, owners }: Places) {
  const waiting = new Map<string, Turn[]>();
  let count = 0;
  return {
    /** Returns a message if the queue is full, or if `owner` has too many waiting hashes. */
    findFull(owner: string): string | undefined {
      if (count >= max) return `expected at most ${max}, found ${count + 1}`;
      const own = waiting.get(owner)?.length ?? 0;
      if (own < eachMax) return undefined;
      return `expected at most ${eachMax} per ${owners}, found ${own + 1}`;
    },
    add(owner: string, turn: Turn): void {
      count += 1;
      waiting.set(owner, [...(waiting.get(owner) ?? []), turn]);
    },
    takeNext(): Turn | undefined {
      for (const [owner, [turn, ...rest]] of waiting) {
        count -= 1;
        waiting.delete(owner);
        if (rest.length > 0) waiting.set(owner, rest);
        return turn;
      }
      return undefined;
    },
  };
}
