// Lets simultaneous requests share work. Requests in one iteration of the event loop form a group
// (`together`). One commit, round trip, or message then serves the whole group. Requests for the
// same result share one call (`once` and `recalled`).

import { LRUCache } from "lru-cache";

type Waiting<Item, Answer> = {
  item: Item;
  resolve(answer: Answer): void;
  reject(reason: unknown): void;
};

export type Together<Item, Answer> = {
  (item: Item): Promise<Answer>;
  /** Resolves when no item is waiting or running. */
  idle(): Promise<void>;
};

type TogetherOptions = {
  sizeMax: number;
  /**
   * The maximum number of groups that run simultaneously; 1 by default. At this maximum, new items
   * wait for the next group.
   */
  runningMax?: number;
};

/**
 * Collects items and runs them as one group. A group starts when the event loop has read all
 * sockets, or earlier if `sizeMax` items are waiting. Groups do not wait for a timer, so a single
 * item is not delayed.
 *
 * @param run receives the items of a group, and returns their answers in the same order. If an
 *   answer is an Error, only its item is rejected. If `run` itself rejects, all items of the group
 *   are rejected.
 */
export function together<Item, Answer>(
  run: (items: Item[]) => (Answer | Error)[] | Promise<(Answer | Error)[]>,
  { sizeMax, runningMax = 1 }: TogetherOptions,
): Together<Item, Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let running = 0;
  let isScheduled = false;
  let idle: (() => void)[] = [];

  const start = async () => {
    const group = waiting.slice(0, sizeMax);
    waiting = waiting.slice(sizeMax);
    running++;
    try {
      const answers = await run(group.map(({ item }) => item));
      for (const [index, { resolve, reject }] of group.entries()) {
        const answer = answers[index] as Answer | Error;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    running--;
    if (waiting.length > 0) return schedule();
    if (running > 0) return;
    for (const resolve of idle) resolve();
    idle = [];
  };
  const flush = () => {
    isScheduled = false;
    while (waiting.length > 0 && running < runningMax) void start();
  };
  const schedule = () => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(flush);
  };

  const add = (item: Item) =>
    new Promise<Answer>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (waiting.length >= sizeMax && running < runningMax) void start();
      else if (running < runningMax) schedule();
    });
  const whenIdle = () =>
    waiting.length + running === 0
      ? Promise.resolve()
      : new Promise<void>((resolve) => idle.push(resolve));
  return Object.assign(add, { idle: whenIdle });
}

/**
 * Like {@link together}, but forms a separate group for each value of `keyOf`. The groups run
 * simultaneously.
 *
 * @param run receives items with the same key, and returns their answers in the same order. If
 *   `run` itself rejects, only these items are rejected.
 */
export function togetherBy<Item, Answer>(
  keyOf: (item: Item) => string,
  run: (items: Item[]) => Promise<(Answer | Error)[]>,
  sizeMax: number,
): (item: Item) => Promise<Answer> {
  const runAll = async (all: Item[]) => {
    const found = new Map<Item, Answer | Error>();
    const runOne = async (items: Item[]) => {
      const answers = await run(items).catch((error: Error) => items.map(() => error));
      for (const [index, item] of items.entries()) found.set(item, answers[index]!);
    };
    await Promise.all([...Map.groupBy(all, keyOf).values()].map(runOne));
    return all.map((item) => found.get(item)!);
  };
  return together(runAll, { sizeMax, runningMax: Number.POSITIVE_INFINITY });
}

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
 * Returns a function that caches up to `max` results of `ask` by `key`. Failures and results that
 * `isKept` refuses are not cached, but simultaneous requests share them.
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
