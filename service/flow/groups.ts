// Splits long lists into groups, so that other work can run between two groups.

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
