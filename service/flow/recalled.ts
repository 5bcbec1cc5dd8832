// Remembers within a bound what was asked for, so that askers of one thing share one answer.

import { LRUCache } from "lru-cache";

/** @returns gives what `ask` gave for `key` before; what failed is asked for again */
export function recalled<Found>(max: number) {
  const answers = new LRUCache<string, Promise<Found>>({ max });
  return (key: string, ask: () => Promise<Found>): Promise<Found> => {
    const known = answers.get(key);
    if (known) return known;
    const asked = ask();
    answers.set(key, asked);
    asked.catch(() => answers.delete(key));
    return asked;
  };
}
