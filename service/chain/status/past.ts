// Reads the events of an address. Some nodes return logs of only a few blocks per request. So old
// events are cached, with the hash of the last block that was read. If a reorganization replaces
// that block, the history is read again.

import type { Hex } from "executable-address";
import {
  type BlockReference,
  findFirstBlock,
  parseVaultEvents,
  toQuantity,
  type VaultEvent,
  vaultEventFilter,
} from "executable-address/status";
import { LRUCache } from "lru-cache";
import { groupsOf } from "../../flow/groups.ts";
import { togetherBy } from "../../flow/together.ts";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { findBlockAt } from "../rpc/heads.ts";
import { ChainUnavailable, hexData, isRefusal } from "../rpc/json-rpc.ts";

/** A chain to read from, and the factory whose events are read. */
export type ChainAccess = { chainId: number; factory: Hex; rpc: ChainRpc };

/** Both blocks are inclusive. */
type Range = { from: number; to: number };

/** The node refused to return the logs. `refused` is its error message. */
type Refused = { refused: string };

/** All events of an address (`vault`) up to and including the block `upTo`. */
type KnownPast = { logs: VaultEvent[]; upTo: BlockReference };

/**
 * The cache of past events on one chain. The cache is bounded, so any entry can be evicted. If the
 * events of an address are cached, only later events are read. Otherwise, all events of the address
 * are read. If the node limits the range, a long read may need more than {@link spansMax} calls.
 * The read then fails.
 */
export type PastCache = {
  known: LRUCache<Hex, KnownPast>;
  /**
   * The number of blocks per request. This limit is used only if the node refuses the whole range.
   */
  spanBlocks: number;
};

export const newPastCache = (): PastCache => ({
  known: new LRUCache({ max: knownMax }),
  spanBlocks: spanBlocksMax,
});

/**
 * The initial number of blocks per request. Most nodes that limit the range allow this number of
 * blocks.
 */
const spanBlocksMax = 10_000;
const knownMax = 20_000;
/**
 * An event is cached only after this number of later blocks. Ordinary reorganizations are shorter.
 */
const settledBlocks = 64;
/**
 * If a node returns only short ranges, one read makes at most this number of calls. The next read
 * continues where this one stopped.
 */
const spansMax = 64;

/**
 * Returns all events of the address `vault`, oldest first. The address must have code at the view's
 * block.
 *
 * First makes one call that requests the logs of all uncached blocks. If the node refuses the call,
 * reads the logs in shorter ranges. If no events are cached, starts at the first block at which the
 * address has code.
 *
 * @throws {ChainUnavailable} if more than {@link spansMax} ranges are necessary
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
      if (end === next)
        throw new ChainUnavailable(
          `no endpoint returns the logs of block ${next}: ${found.refused}`,
        );
      cache.spanBlocks = Math.max(1, Math.floor((end - next + 1) / 2));
      continue;
    }
    logs = [...logs, ...found];
    next = end + 1;
    // Requests a slightly longer range next, because an earlier refusal may have been temporary.
    cache.spanBlocks = Math.min(spanBlocksMax, Math.ceil(cache.spanBlocks * 1.1));
  }
  const settled = Math.min(next - 1, to - settledBlocks);
  if (settled >= from) await remember(view, cache, vault, logs, settled);
  if (next <= to)
    throw new ChainUnavailable(
      `the logs of ${vault} are incomplete: ${to - next + 1} blocks were not searched yet`,
    );
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

/**
 * A chain at one block. Each block is read once. One request reads the logs of the same blocks for
 * several addresses.
 */
export type ChainView = {
  block: BlockReference;
  /** Returns the chain's block with this number, or undefined if it is above the head. */
  blockAt(number: number): Promise<BlockReference | undefined>;
  /**
   * Returns undefined if the node refuses the call, for example because it lacks that block's
   * state.
   */
  hasCodeAt(vault: Hex, number: number): Promise<boolean | undefined>;
  logs(vault: Hex, range: Range): Promise<VaultEvent[] | Refused>;
};

/**
 * The maximum number of addresses per log filter. Nodes accept more addresses, but some gateways
 * may not.
 */
const vaultsPerFilter = 200;
/**
 * The maximum number of addresses per read. Reading their balances takes 100 calls, and reading
 * their logs takes 75.
 */
export const addressesPerReadMax = 15_000;

export function viewAt(chain: ChainAccess, block: BlockReference): ChainView {
  const blocks = new Map<number, Promise<BlockReference | undefined>>();
  return {
    block,
    blockAt(number) {
      const known = blocks.get(number) ?? findBlockAt(chain.rpc, number);
      blocks.set(number, known);
      return known;
    },
    async hasCodeAt(address, number) {
      try {
        const params = [address, toQuantity(number)];
        return hexData(await chain.rpc.request("eth_getCode", params)) !== "0x";
      } catch (error) {
        if (isRefusal(error)) return undefined;
        throw error;
      }
    },
    logs: logsTogether(chain),
  };
}

type Wanted = { vault: Hex; range: Range };

/** Returns a function that reads logs. Simultaneous requests for the same blocks share a filter. */
function logsTogether(chain: ChainAccess): ChainView["logs"] {
  const readAll = async (wanted: Wanted[]) => {
    const answers = [...groupsOf(wanted, vaultsPerFilter)].map(async (part) => {
      const vaults = part.map(({ vault }) => vault);
      const logs = await readLogs(chain, vaults, part[0]!.range).catch(asError);
      return part.map((each) => (Array.isArray(logs) ? ofVault(logs, each) : logs));
    });
    return (await Promise.all(answers)).flat();
  };
  const rangeOf = ({ range }: Wanted) => `${range.from}-${range.to}`;
  const ask = togetherBy<Wanted, VaultEvent[] | Refused>(rangeOf, readAll, addressesPerReadMax);
  return (vault, range) => ask({ vault, range });
}

const ofVault = (logs: VaultEvent[], { vault }: Wanted) =>
  logs.filter((log) => log.vault === vault.toLowerCase());

const asError = (error: unknown) => (error instanceof Error ? error : new Error(String(error)));

/**
 * Reads the factory's events for some addresses in a range of blocks.
 *
 * @param vaults at most a few hundred, because they share a filter
 * @returns the events, oldest first, or the node's refusal
 * @throws {StatusError} `rpc_inconsistent` for a log that was not requested
 */
async function readLogs(
  { rpc, factory }: ChainAccess,
  vaults: Hex[],
  range: Range,
): Promise<VaultEvent[] | Refused> {
  const search = { factory, vaults, ...range };
  let logs: unknown;
  try {
    logs = await rpc.request("eth_getLogs", [vaultEventFilter(search)]);
  } catch (error) {
    if (isRefusal(error)) return { refused: error.message };
    throw error;
  }
  return parseVaultEvents(logs, search);
}
