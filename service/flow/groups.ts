// Many items, a few at a time, so that other work goes on between the groups.

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
