// An address's past, from the factory's events. Nodes differ in how much past they let be asked for
// at once (all of it, 10,000 blocks, 500) and in whether they remember old code, so the search asks
// for everything first and narrows itself only where a node refuses.

import type { Hex } from "../intent/intent.ts";
import {
  countOf,
  hexOf,
  inconsistent,
  quantityOf,
  type Rpc,
  RpcError,
  StatusError,
  toQuantity,
} from "./rpc.ts";
import type { EventReference } from "./shape.ts";

/** `Executed(address indexed vault, address indexed token, uint256 held, uint256 left)` */
export const executedTopic: Hex =
  "0xe953ae62f4f69be1c6d943cb68d93d288f23ffae7332b84196d46e9e778b23b2";
/** `Recovered(address indexed vault, address indexed token, uint256 amount)` */
export const recoveredTopic: Hex =
  "0xfff3b3844276f57024e0b42afec1a37f75db36511e43819a4f2a63ab7862b648";

/** One event of a vault. `token` is lower case; `values` are the uint256 of its data, in order. */
export type VaultEvent = EventReference & {
  name: "Executed" | "Recovered";
  token: Hex;
  values: bigint[];
};

/** Whose events, and between which blocks, both inclusive. */
export type Search = { factory: Hex; vault: Hex; from: number; to: number };

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
export async function findEvents(rpc: Rpc, search: Search): Promise<VaultEvent[]> {
  const whole = await readRange(rpc, search);
  if (!(whole instanceof RpcError)) return whole;
  const from = await findFirstCode(rpc, search);
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

/** The first block at which the vault has code, or `search.from` if the node forgot old state. */
async function findFirstCode(rpc: Rpc, { vault, from, to }: Search): Promise<number> {
  let without = from - 1;
  let having = to;
  for (let step = 1; without + 1 < having; step *= 4) {
    const middle = without + Math.ceil((having - without) / 2);
    const block = Math.max(having - step, middle);
    let code: unknown;
    try {
      code = await rpc("eth_getCode", [vault, toQuantity(block)]);
    } catch (error) {
      if (error instanceof RpcError) return from;
      throw error;
    }
    if (hexOf(code, "code") === "0x") without = block;
    else having = block;
  }
  return having;
}

/** The events in a range, or the node's refusal to answer for it. */
async function readRange(rpc: Rpc, search: Search): Promise<VaultEvent[] | RpcError> {
  const filter = {
    address: search.factory,
    topics: [[executedTopic, recoveredTopic], word(search.vault)],
    fromBlock: toQuantity(search.from),
    toBlock: toQuantity(search.to),
  };
  let logs: unknown;
  try {
    logs = await rpc("eth_getLogs", [filter]);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
  if (!Array.isArray(logs)) throw inconsistent("eth_getLogs: wanted a list");
  const events = logs.map((log) => parseEvent(log, search));
  return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

function parseEvent(log: Record<string, unknown>, search: Search): VaultEvent {
  const topics = Array.isArray(log.topics) ? log.topics.map((t) => hexOf(t, "topic", 32)) : [];
  const isExecuted = topics[0] === executedTopic;
  const data = hexOf(log.data, "log data", isExecuted ? 64 : 32);
  const event: VaultEvent = {
    name: isExecuted ? "Executed" : "Recovered",
    token: `0x${(topics[2] ?? "").slice(26)}`,
    values: isExecuted ? [wordAt(data, 0), wordAt(data, 1)] : [wordAt(data, 0)],
    transactionHash: hexOf(log.transactionHash, "transaction hash", 32),
    blockNumber: countOf(log.blockNumber, "log's block number"),
    blockHash: hexOf(log.blockHash, "log's block hash", 32),
    logIndex: countOf(log.logIndex, "log index"),
  };
  const asked =
    (isExecuted || topics[0] === recoveredTopic) &&
    topics.length === 3 &&
    hexOf(log.address, "log's address", 20) === search.factory.toLowerCase() &&
    topics[1] === word(search.vault) &&
    event.blockNumber >= search.from &&
    event.blockNumber <= search.to &&
    log.removed !== true;
  if (!asked) throw inconsistent(`eth_getLogs: a log of block ${event.blockNumber} not asked for`);
  return event;
}

const word = (address: Hex): Hex => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;

const wordAt = (data: Hex, index: number) =>
  quantityOf(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`, "log data");

const unavailable = (message: string, cause: RpcError) =>
  new StatusError("evidence_unavailable", `past events: ${message}: ${cause.message}`, { cause });
