// Groups what is asked about the same block in one turn of the event loop.

import type { BlockReference } from "executable-address/status";
import { together } from "../../flow/together.ts";

type AtBlock = { block: BlockReference };

/** @param run answers in the order of its items; a rejection fails those of its block alone */
export function togetherAt<Item extends AtBlock, Answer>(
  sizeMax: number,
  run: (block: BlockReference, items: Item[]) => Promise<(Answer | Error)[]>,
): (item: Item) => Promise<Answer> {
  const runAll = async (asked: Item[]) => {
    const found = new Map<Item, Answer | Error>();
    const runOne = async (items: Item[]) => {
      const failed = (error: Error) => items.map(() => error);
      const answers = await run(items[0]!.block, items).catch(failed);
      for (const [index, item] of items.entries()) found.set(item, answers[index]!);
    };
    await Promise.all([...Map.groupBy(asked, ({ block }) => block.hash).values()].map(runOne));
    return asked.map((item) => found.get(item)!);
  };
  return together(runAll, { sizeMax, runningMax: Number.POSITIVE_INFINITY });
}
