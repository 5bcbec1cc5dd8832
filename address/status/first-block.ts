// Searches for the block of a permanent change, such as a vault's code or a used nonce.

/**
 * Finds the first block from `from` to `to` at which a permanent condition is true. The condition
 * must be true at block `to`. The search steps back from `to` in strides that double, because most
 * changes are recent and many nodes have only the state of the last 128 blocks. A stride is never
 * longer than the step that a bisection would make.
 *
 * @param isTrueAt returns whether the condition is true at a block, or undefined if the node does
 *   not have the state of that block, which ends the search with the result `from`
 */
export async function findFirstBlock(
  { from, to }: { readonly from: number; readonly to: number },
  isTrueAt: (block: number) => Promise<boolean | undefined>,
): Promise<number> {
  let before = from - 1;
  let first = to;
  for (let stride = 1; before + 1 < first; stride *= 2) {
    const middle = before + Math.ceil((first - before) / 2);
    const block = Math.max(first - stride, middle);
    const isTrue = await isTrueAt(block);
    if (isTrue === undefined) return from;
    if (isTrue) first = block;
    else before = block;
  }
  return first;
}
