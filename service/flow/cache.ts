// Caches the results of asynchronous functions. Requests for the same result share one call.

import { LRUCache } from "lru-cache";

/**
 * Returns a function that calls `read` only once. Every call of the function returns the same
 * result, or fails with the same error.
 */
export function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let reading: Promise<Value> | undefined;
  return () => {
    reading ??= read();
    return reading;
  };
}

/**
 * Returns a function that caches up to `max` results of `ask` by `key`. Does not cache failures and
 * results that `isKept` refuses, but simultaneous requests share them.
 */
export function recalled<Found>(max: number, isKept: (found: Found) => boolean = () => true) {
  const answers = new LRUCache<string, Promise<Found>>({ max });
  return (key: string, ask: () => Promise<Found>): Promise<Found> => {
    const known = answers.get(key);
    if (known) return known;
    const asked = ask();
    answers.set(key, asked);
    const forget = () => answers.delete(key);
    asked.then((found) => isKept(found) || forget(), forget);
    return asked;
  };
}
