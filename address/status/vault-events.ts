// The factory's events of vaults: which to ask a node for, and how to read what it answers. A log
// that was not asked for, or has another form, is an error: a node may be wrong, or lie.

import type { Hex } from "../intent/intent.ts";
import { countOf, hexOf, inconsistent, quantityOf, toQuantity } from "./rpc.ts";
import type { EventReference } from "./shape.ts";

/** `Executed(address indexed vault, address indexed token, uint256 held, uint256 left)` */
export const executedTopic: Hex =
  "0xe953ae62f4f69be1c6d943cb68d93d288f23ffae7332b84196d46e9e778b23b2";
/** `Recovered(address indexed vault, address indexed token, uint256 amount)` */
export const recoveredTopic: Hex =
  "0xfff3b3844276f57024e0b42afec1a37f75db36511e43819a4f2a63ab7862b648";

/**
 * One event of a vault. `vault` and `token` are lower case; `values` are the uint256 of its data,
 * in order: held and left of an execution, the amount of a recovery.
 */
export type VaultEvent = EventReference & {
  name: "Executed" | "Recovered";
  vault: Hex;
  token: Hex;
  values: bigint[];
};

/** Whose events, in any letter case, and between which blocks, both inclusive. */
export type VaultEventSearch = { factory: Hex; vaults: readonly Hex[]; from: number; to: number };

/** The parameter of `eth_getLogs` for a search. */
export function vaultEventFilter({ factory, vaults, from, to }: VaultEventSearch) {
  return {
    address: factory,
    topics: [[executedTopic, recoveredTopic], vaults.map(word)],
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
  };
}

/**
 * What a node answered to {@link vaultEventFilter}, oldest first.
 *
 * @throws {StatusError} `rpc_inconsistent` on anything but logs of that search
 */
export function parseVaultEvents(logs: unknown, search: VaultEventSearch): VaultEvent[] {
  if (!Array.isArray(logs)) throw inconsistent("eth_getLogs: wanted a list");
  const asked = new Set(search.vaults.map((vault) => vault.toLowerCase()));
  const events = logs.map((log) => parseVaultEvent(log, search.factory));
  for (const { vault, blockNumber } of events) {
    if (!asked.has(vault) || blockNumber < search.from || blockNumber > search.to) {
      throw notAskedFor(blockNumber);
    }
  }
  return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

/** @throws {StatusError} `rpc_inconsistent` unless `log` is one of these events, of `factory` */
function parseVaultEvent(log: Record<string, unknown>, factory: Hex): VaultEvent {
  const topics = Array.isArray(log.topics) ? log.topics.map((t) => hexOf(t, "topic", 32)) : [];
  const isExecuted = topics[0] === executedTopic;
  const blockNumber = countOf(log.blockNumber, "log's block number");
  const isOurs =
    (isExecuted || topics[0] === recoveredTopic) &&
    topics.length === 3 &&
    hexOf(log.address, "log's address", 20) === factory.toLowerCase() &&
    log.removed !== true;
  if (!isOurs) throw notAskedFor(blockNumber);
  const data = hexOf(log.data, "log data", isExecuted ? 64 : 32);
  return {
    name: isExecuted ? "Executed" : "Recovered",
    vault: `0x${topics[1]!.slice(26)}`,
    token: `0x${topics[2]!.slice(26)}`,
    values: isExecuted ? [wordAt(data, 0), wordAt(data, 1)] : [wordAt(data, 0)],
    transactionHash: hexOf(log.transactionHash, "transaction hash", 32),
    blockNumber,
    blockHash: hexOf(log.blockHash, "log's block hash", 32),
    logIndex: countOf(log.logIndex, "log index"),
  };
}

const notAskedFor = (blockNumber: number) =>
  inconsistent(`eth_getLogs: a log of block ${blockNumber} not asked for`);

const word = (address: Hex): Hex => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;

const wordAt = (data: Hex, index: number) =>
  quantityOf(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`, "log data");
