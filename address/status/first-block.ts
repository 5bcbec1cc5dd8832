// Finds the block of a permanent change, such as a vault's code or a used nonce.

/**
 * Finds the first block from `from` to `to` at which a condition is true. From that block on, the
 * condition must be true at every block up to `to`. The search starts at `to` and doubles its
 * stride with each step back. Most changes are recent, and many nodes have only the state of the
 * last 128 blocks. A stride never goes past the middle of the remaining range. The last part of the
 * search is therefore a bisection.
 *
 * @param isTrueAt returns whether the condition is true at a block. Returns undefined if the node
 *   does not have the block's state. The search then ends, and the result is `from`
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
