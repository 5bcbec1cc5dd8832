// Reads the events of an address. Some nodes limit the range of one request, for example to 10,000
// or 500 blocks. Some nodes do not have old state. The search therefore begins with the whole
// range, and narrows the range only after a refusal.

import { toQuantity } from "../abi/hex.ts";
import type { Hex } from "../intent/intent.ts";
import { parseVaultEvents, type VaultEvent, vaultEventFilter } from "./factory-events.ts";
import { findFirstBlock } from "./first-block.ts";
import { parseHex, type Rpc, RpcError, StatusError } from "./rpc.ts";

/** The vault whose events are searched, and an inclusive range of blocks. */
type Search = { factory: Hex; vault: Hex; from: number; to: number };

/**
 * The maximum number of log requests after a node refuses a request for the whole range. The limit
 * is high enough for 64 ranges of 10,000 blocks and some retries.
 */
const callsMax = 96;
const firstRangeBlocks = 10_000;

/**
 * Reads the events of `search.vault`, oldest first. The vault's code must exist at block `to`.
 *
 * If the node refuses the whole range, finds the first block with the vault's code. Then reads
 * shorter ranges backward, from block `to` to this first block. If the node does not have old
 * state, reads back to block `from` instead. Stops at an `Executed` event, because no other event
 * of the vault can precede it.
 *
 * @throws {StatusError} `evidence_unavailable` if {@link callsMax} calls do not cover the range
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
      if (from === to)
        throw unavailable(`the node refuses a query for the logs of block ${to}`, events);
      blocksMax = to - from;
      blocks = Math.max(1, Math.floor((to - from + 1) / 2));
      continue;
    }
    found.unshift(...events);
    if (from === search.from || events.some((event) => event.name === "Executed")) return found;
    to = from - 1;
    blocks = Math.min(blocks * 2, blocksMax);
  }
  throw unavailable(`${callsMax} requests searched only blocks ${search.to} to ${to}`, refusal);
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

/** Reads the events in a range. Returns the error if the node refuses the range. */
async function readRange(rpc: Rpc, search: Search): Promise<VaultEvent[] | RpcError> {
  const query = { ...search, vaults: [search.vault] };
  let logs: unknown;
  try {
    logs = await rpc("eth_getLogs", [vaultEventFilter(query)]);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  return parseVaultEvents(logs, query);
}

const unavailable = (message: string, cause: RpcError) =>
  new StatusError("evidence_unavailable", `past events: ${message}: ${cause.message}`, { cause });
