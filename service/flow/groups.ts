// Splits long lists into groups, so that other work can run between two groups. Also interleaves
// the items of several owners, so that no owner delays the others.

/**
 * The maximum number of rows per statement or short transaction, by kind of row. While one runs,
 * other statements may have to wait. On SQLite, all statements wait, except those of create
 * requests and lookups. On PostgreSQL, a statement waits only if it needs the same rows. In a
 * database with 200,000 rows per table, a statement for this number of typical rows takes less than
 * 10 ms (bench/groups.ts). Limits for other reasons are defined where they are used.
 */
export const statementRows = {
  /** Rows of keys, numbers, and short texts. */
  short: 100,
  /** Rows that are in several indexes, or need several statements or additional rows. */
  costly: 50,
  /** Index entries that a search scans but mostly skips. */
  walked: 1_000,
  /**
   * Rows with an encoded intent (the column `terms`) of up to 24,576 bytes. On PostgreSQL, it takes
   * 1.3 times as long to read 300 such rows in groups of 25 as in groups of 50 (bench/groups.ts).
   * In groups of 100, a statement for the longest terms takes 50 ms instead of 34 ms.
   */
  withTerms: 50,
} as const;

/** Splits `items` into groups of at most `size` items, in order. */
export function* groupsOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/** Calls `read` for one group of items after another, and returns all results in order. */
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
 * Sorts the items so that each owner's first item comes first, then each owner's second item, and
 * so on. An owner with many items does not delay the others.
 *
 * @param ownerOf returns the owner of an item
 * @param among sorts the first items of all owners, then the second items, and so on; by default,
 *   they keep their order
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

/** The maximum number of rows per call of {@link prune}. */
const rowsMax = 10_000;

export type OldRows = {
  /** Finds up to `limit` rows, the oldest first. */
  find(limit: number): Promise<{ id: string }[]>;
  remove(ids: string[]): Promise<unknown>;
};

/**
 * Deletes old rows in small groups, so that other statements do not wait long.
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
