// Takes items of several owners in turn, so that one owner's many items do not delay another's
// first.

/**
 * The first item of each owner, then the second of each, and so on; otherwise in their order.
 *
 * @param whose an item is
 * @param among the order within a turn, where it is another than that of `items`
 */
export function inTurn<Item>(
  items: readonly Item[],
  whose: (item: Item) => string,
  among: (a: Item, b: Item) => number = () => 0,
): Item[] {
  const counts = new Map<string, number>();
  const turns = items.map((item) => {
    const turn = counts.get(whose(item)) ?? 0;
    counts.set(whose(item), turn + 1);
    return { item, turn };
  });
  return turns.toSorted((a, b) => a.turn - b.turn || among(a.item, b.item)).map(({ item }) => item);
}
