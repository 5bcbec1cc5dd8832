// Splits long lists into groups, so that other work can run between the groups. Sorts the items of
// several owners fairly.

/**
 * The maximum number of rows in one statement or one short commit, because other statements have to
 * wait for it. On SQLite, all statements wait, except those of create requests and lookups. On
 * PostgreSQL, a statement waits only if it needs the same rows. Limits that have other reasons are
 * defined where they are used.
 */
export const statementRows = {
  /** Rows of keys, numbers, and short texts. */
  short: 100,
  /**
   * Rows that are in several indexes, that take several statements, or that each add several rows.
   */
  costly: 50,
  /** Rows of an index that a search scans but mostly does not return. */
  walked: 1_000,
  /**
   * Rows that contain an encoded intent (its terms) of up to 24,576 bytes. On PostgreSQL, reading
   * 300 such rows takes 1.6 times as long in groups of 25 as in groups of 50. On SQLite, groups of
   * 25, 50, and 100 rows take the same time.
   */
  withTerms: 50,
} as const;

/** Splits `items` into groups of at most `size` items, in order. */
export function* groupsOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/** Calls `read` for one group after the other, and returns all results in the order of `items`. */
export async function inGroups<Item, Found>(
  items: readonly Item[],
  size: number,
  read: (some: Item[]) => Promise<readonly Found[]>,
): Promise<Found[]> {
  const found: Found[] = [];
  for (const some of groupsOf(items, size)) found.push(...(await read(some)));
  return found;
}

/**
 * Returns the first item of each owner, then the second item of each owner, and so on. So an owner
 * with many items does not delay the first items of other owners.
 *
 * @param ownerOf returns the owner of an item
 * @param among compares the first items of all owners with each other, then the second items, and
 *   so on; by default, they keep the order of `items`
 */
export function roundRobin<Item>(
  items: readonly Item[],
  ownerOf: (item: Item) => string,
  among: (a: Item, b: Item) => number = () => 0,
): Item[] {
  const counts = new Map<string, number>();
  const turns = items.map((item) => {
    const turn = counts.get(ownerOf(item)) ?? 0;
    counts.set(ownerOf(item), turn + 1);
    return { item, turn };
  });
  return turns.toSorted((a, b) => a.turn - b.turn || among(a.item, b.item)).map(({ item }) => item);
}

/** The maximum number of rows that one call of {@link prune} deletes. */
const rowsMax = 10_000;

export type OldRows = {
  /** Finds up to `limit` rows, the oldest first. */
  find(limit: number): Promise<{ id: string }[]>;
  remove(ids: string[]): Promise<unknown>;
};

/**
 * Deletes old rows, such as events, in small groups, so that no other statement waits long.
 *
 * @returns the number of deleted rows, at most 10,000
 */
export async function prune({ find, remove }: OldRows): Promise<number> {
  for (let gone = 0; ; ) {
    const ids = (await find(statementRows.short)).map(({ id }) => id);
    if (ids.length > 0) await remove(ids);
    gone += ids.length;
    if (ids.length < statementRows.short || gone >= rowsMax) return gone;
  }
}
