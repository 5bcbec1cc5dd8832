// Work that arrives together is done together: one commit, or one round trip, for many requests.

type Waiting<Item, Answer> = {
  item: Item;
  resolve: (answer: Answer) => void;
  reject: (reason: unknown) => void;
};

export type Grouped<Item, Answer> = {
  add(item: Item): Promise<Answer>;
  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void>;
};

/**
 * Collects items until the event loop has read what the sockets hold (no timer: a lone item waits
 * for nothing), then runs them as one group. One group runs at a time, and what arrives meanwhile
 * forms the next, so a group always starts after each of its items was added.
 *
 * @param run answers in the order of its items; when it throws, every item of the group fails
 * @param sizeMax items of one group
 */
export function grouped<Item, Answer>(
  run: (items: Item[]) => Answer[] | Promise<Answer[]>,
  sizeMax: number,
): Grouped<Item, Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let scheduled = false;
  let idle: (() => void)[] = [];

  const flush = async () => {
    const group = waiting.slice(0, sizeMax);
    waiting = waiting.slice(sizeMax);
    try {
      const answers = await run(group.map((entry) => entry.item));
      group.forEach((entry, index) => {
        entry.resolve(answers[index] as Answer);
      });
    } catch (error) {
      for (const entry of group) entry.reject(error);
    }
    if (waiting.length > 0) return void setImmediate(flush);
    scheduled = false;
    for (const resolve of idle) resolve();
    idle = [];
  };

  return {
    add: (item) =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (scheduled) return;
        scheduled = true;
        setImmediate(flush);
      }),
    idle: () => (scheduled ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  };
}
