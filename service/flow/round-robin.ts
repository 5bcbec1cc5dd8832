// Interleaves the items of several owners, so that no owner delays the others.

/**
 * Returns the first item of each owner, then the second item of each owner, and so on. So an owner
 * with many items does not delay the others.
 *
 * @param ownerOf returns the owner of an item
 * @param among compares two items with the same position; by default, such items keep their order
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
