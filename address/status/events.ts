// An address's past, from the factory's events. Nodes differ in how much past they let be asked for
// at once (all of it, 10,000 blocks, 500) and in whether they remember old code, so the search asks
// for everything first and narrows itself only where a node refuses.

import { toQuantity } from "../abi/hex.ts";
import type { Hex } from "../intent/intent.ts";
import { parseVaultEvents, type VaultEvent, vaultEventFilter } from "./factory-events.ts";
import { parseHex, type Rpc, RpcError, StatusError } from "./rpc.ts";

/** Whose events, and between which blocks, both inclusive. */
type Search = { factory: Hex; vault: Hex; from: number; to: number };

/** More calls than this for one search and it is given up: 64 ranges of 10,000 blocks and room. */
const callsMax = 96;
const firstRangeBlocks = 10_000;

/**
 * The events of `search.vault`, oldest first. Its code must exist at block `to`.
 *
 * One call where the node answers for the whole range. Else the first block with code is looked up
 * by halving, which needs a node that remembers old state, and only what follows it is walked, from
 * the newest block back; nothing can stand before `Executed`, so the walk ends there.
 *
 * @throws {StatusError} `evidence_unavailable` when {@link callsMax} calls do not cover the range
 */
export async function readEvents(rpc: Rpc, search: Search): Promise<VaultEvent[]> {
  const whole = await readRange(rpc, search);
  if (!(whole instanceof RpcError)) return whole;
  const from = await readFirstCode(rpc, search);
  return walkBack(rpc, { ...search, from }, whole);
}

async function walkBack(rpc: Rpc, search: Search, refusal: RpcError): Promise<VaultEvent[]> {
  const found: VaultEvent[] = [];
  let to = search.to;
  let blocks = firstRangeBlocks;
  let blocksMax = Number.POSITIVE_INFINITY;
  for (let calls = 0; calls < callsMax; calls++) {
    const from = Math.max(search.from, to - blocks + 1);
    const events = await readRange(rpc, { ...search, from, to });
    if (events instanceof RpcError) {
      if (from === to) throw unavailable(`block ${to} alone is refused`, events);
      blocksMax = to - from;
      blocks = Math.max(1, Math.floor((to - from + 1) / 2));
      continue;
    }
    found.unshift(...events);
    if (from === search.from || events.some((event) => event.name === "Executed")) return found;
    to = from - 1;
    blocks = Math.min(blocks * 2, blocksMax);
  }
  throw unavailable(`${callsMax} ranges from block ${search.to} back to ${to} do not do`, refusal);
}

const readFirstCode = (rpc: Rpc, { vault, from, to }: Search): Promise<number> =>
  findFirstBlock({ from, to }, async (block) => {
    try {
      return parseHex(await rpc("eth_getCode", [vault, toQuantity(block)]), "code") !== "0x";
    } catch (error) {
      if (error instanceof RpcError) return undefined;
      throw error;
    }
  });

/**
 * Finds the first block of what is there at block `to` and stays, such as a vault's code. Steps
 * back in growing strides, as most vaults asked for are young, and by no more than halves.
 *
 * @param isThereAt undefined where the node forgot that block's state: `from` is answered then
 */
export async function findFirstBlock(
  { from, to }: { readonly from: number; readonly to: number },
  isThereAt: (block: number) => Promise<boolean | undefined>,
): Promise<number> {
  let without = from - 1;
  let having = to;
  for (let stride = 1; without + 1 < having; stride *= 4) {
    const middle = without + Math.ceil((having - without) / 2);
    const block = Math.max(having - stride, middle);
    const isThere = await isThereAt(block);
    if (isThere === undefined) return from;
    if (isThere) having = block;
    else without = block;
  }
  return having;
}

/** The events in a range, or the node's refusal to answer for it. */
async function readRange(rpc: Rpc, search: Search): Promise<VaultEvent[] | RpcError> {
  const wanted = { ...search, vaults: [search.vault] };
  let logs: unknown;
  try {
    logs = await rpc("eth_getLogs", [vaultEventFilter(wanted)]);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  return parseVaultEvents(logs, wanted);
}

const unavailable = (message: string, cause: RpcError) =>
  new StatusError("evidence_unavailable", `past events: ${message}: ${cause.message}`, { cause });
