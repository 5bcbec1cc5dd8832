// Many items, a few at a time, so that other work goes on between the groups.

/**
 * Rows of one statement or one short commit, because other statements wait for it: on SQLite all
 * but creates and look-ups, on PostgreSQL those of the same rows. A limit with another reason is
 * next to its only use.
 */
export const statementRows = {
  /** Rows of keys, numbers, and short texts. */
  short: 100,
  /** Rows that are in several indexes, take several statements, or stand for several rows each. */
  costly: 50,
  /** Rows of an index that a search walks, when it returns few of them. */
  walked: 1_000,
  /**
   * Rows with terms, of up to 24,576 bytes each. Reading 300 watches on PostgreSQL took 1.6 times
   * as long by 25 rows as by 50; on SQLite, 25, 50, and 100 rows take the same time.
   */
  withTerms: 50,
} as const;

/** Splits `items` into groups of at most `size`, in their order. */
export function* groupsOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/** Gives all that `read` finds, in the order of `items`: one group is read after the other. */
export async function inGroups<Item, Found>(
  items: readonly Item[],
  size: number,
  read: (some: Item[]) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const some of groupsOf(items, size)) found.push(...(await read(some)));
  return found;
}
