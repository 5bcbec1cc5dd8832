// Reads what happened at an address. A chain's past can be long, and a node may answer for few
// blocks at a time. So events that lie deep enough are kept, with the hash of the last block they
// cover: after a deeper reorganisation that block is gone, and the past is read again.

import type { Hex } from "executable-address";
import { type BlockReference, findFirstBlock, type VaultEvent } from "executable-address/status";
import { LRUCache } from "lru-cache";
import { ChainUnavailable } from "../rpc/json-rpc.ts";
import type { ChainView } from "./view.ts";

/** The events of one vault, up to and including the block `upTo`. */
type KnownPast = { logs: VaultEvent[]; upTo: BlockReference };

/** One chain's reads keep this for the next. It is bounded, and may be lost at any moment. */
export type PastCache = {
  known: LRUCache<Hex, KnownPast>;
  /** Whether a token is the native coin, as far as it was asked. As many as the chain lists. */
  nativeTokens: Map<Hex, boolean>;
  /** Blocks to ask for at once, since the node refused more. */
  spanBlocks: number;
};

export const newPastCache = (): PastCache => ({
  known: new LRUCache({ max: knownMax }),
  nativeTokens: new Map(),
  spanBlocks: spanBlocksMax,
});

/** Most nodes that have a bound answer for so many. */
const spanBlocksMax = 10_000;
const knownMax = 20_000;
/** Only what lies this deep is kept, so that an ordinary reorganisation invalidates nothing. */
const settledBlocks = 64;
/** Calls of one read, when a node answers span by span; the next read goes on where it ended. */
const spansMax = 64;

/**
 * All events of `vault`, which has code at the view's block, oldest first.
 *
 * One call for all that is not known yet. Where the node refuses so much, the first block with code
 * is looked up by old state, and the blocks since are read span by span.
 *
 * @throws {ChainUnavailable} when more spans remain than one read may ask for
 */
export async function readPast(
  view: ChainView,
  cache: PastCache,
  vault: Hex,
): Promise<VaultEvent[]> {
  const known = await recall(view, cache, vault);
  const to = view.block.number;
  const from = known.upTo ? known.upTo.number + 1 : 0;
  const rest = from > to ? [] : await view.logs(vault, { from, to });
  if ("refused" in rest) {
    const hasCodeAt = (number: number) => view.hasCodeAt(vault, number);
    const first = known.upTo ? from : await findFirstBlock({ from, to }, hasCodeAt);
    return readSpans(view, cache, vault, { from: first, logs: known.logs });
  }
  const logs = [...known.logs, ...rest];
  const unsettled = to - settledBlocks - from;
  if (unsettled >= settledBlocks) await remember(view, cache, vault, logs, to - settledBlocks);
  return logs;
}

type PastWalk = { from: number; logs: VaultEvent[] };

async function readSpans(view: ChainView, cache: PastCache, vault: Hex, { from, logs }: PastWalk) {
  const to = view.block.number;
  let next = from;
  for (let span = 0; span < spansMax && next <= to; span++) {
    const end = Math.min(to, next + cache.spanBlocks - 1);
    const found = await view.logs(vault, { from: next, to: end });
    if ("refused" in found) {
      if (end === next) throw new ChainUnavailable(`no logs of block ${next}: ${found.refused}`);
      cache.spanBlocks = Math.max(1, Math.floor((end - next + 1) / 2));
      continue;
    }
    logs = [...logs, ...found];
    next = end + 1;
    // A refusal may have been a bad moment, so the span grows again, slowly.
    cache.spanBlocks = Math.min(spanBlocksMax, Math.ceil(cache.spanBlocks * 1.1));
  }
  const settled = Math.min(next - 1, to - settledBlocks);
  if (settled >= from) await remember(view, cache, vault, logs, settled);
  if (next <= to)
    throw new ChainUnavailable(`${to - next + 1} blocks of ${vault} are still unread`);
  return logs;
}

async function recall(view: ChainView, cache: PastCache, vault: Hex) {
  const known = cache.known.get(vault);
  if (known && known.upTo.number <= view.block.number) {
    const there = await view.blockAt(known.upTo.number);
    if (there?.hash === known.upTo.hash) return known;
  }
  return { logs: [], upTo: undefined };
}

async function remember(
  view: ChainView,
  cache: PastCache,
  vault: Hex,
  logs: VaultEvent[],
  number: number,
) {
  const upTo = await view.blockAt(number);
  if (!upTo) return;
  cache.known.set(vault, { logs: logs.filter((log) => log.blockNumber <= number), upTo });
}
