// Splits long lists into groups, so that other work can run between two groups. Also splits a flat
// list by owner, and interleaves the items of several owners.

/** Splits `items` into groups of at most `size` items, in order. */
export function* groupsOf<Item>(items: readonly Item[], size: number): Generator<Item[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}

/**
 * Splits a flat list into one part for each owner, in order. This is the inverse of
 * `owners.flatMap(…)` with `lengthOf(owner)` items for each owner.
 */
export function partsOf<Owner, Item>(
  items: readonly Item[],
  owners: readonly Owner[],
  lengthOf: (owner: Owner) => number,
): { owner: Owner; part: Item[] }[] {
  let end = 0;
  return owners.map((owner) => {
    const start = end;
    end += lengthOf(owner);
    return { owner, part: items.slice(start, end) };
  });
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
 * Returns the first item of each owner, then the second item of each owner, and so on. So an owner
 * with many items does not delay the other owners.
 *
 * @param ownerOf returns the owner of an item
 * @param compare compares two items that are at the same position in their owners' lists; by
 *   default, such items keep their order
 */
export function roundRobin<Item>(
  items: readonly Item[],
  ownerOf: (item: Item) => string,
  compare: (a: Item, b: Item) => number = () => 0,
): Item[] {
  const counts = new Map<string, number>();
  const turns = items.map((item) => {
    const turn = counts.get(ownerOf(item)) ?? 0;
    counts.set(ownerOf(item), turn + 1);
    return { item, turn };
  });
  return turns
    .toSorted((a, b) => a.turn - b.turn || compare(a.item, b.item))
    .map(({ item }) => item);
}
