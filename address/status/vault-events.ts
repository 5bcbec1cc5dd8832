// The factory's events of vaults: which to ask a node for, and how to read what it answers. A log
// that was not asked for, or has another form, is an error: a node may be wrong, or lie.

import { plainOf } from "../errors.ts";
import { toQuantity } from "../hex.ts";
import type { Hex } from "../intent/intent.ts";
import { decodeFactoryEvent, executedTopic, recoveredTopic } from "./factory-event.ts";
import { countOf, hexOf, inconsistent } from "./rpc.ts";
import type { EventReference } from "./shape.ts";
import { topicOf } from "./transfer.ts";

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
    topics: [[executedTopic, recoveredTopic], vaults.map(topicOf)],
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
  };
}

/**
 * Reads what a node answered to {@link vaultEventFilter}, oldest first.
 *
 * @throws {StatusError} `rpc_inconsistent` on anything but logs of that search
 */
export function parseVaultEvents(logs: unknown, search: VaultEventSearch): VaultEvent[] {
  if (!Array.isArray(logs))
    throw inconsistent(`eth_getLogs: wanted a list, found ${plainOf(logs)}`);
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
  const blockNumber = countOf(log.blockNumber, "log's block number");
  const isOurs =
    hexOf(log.address, "log's address", 20) === factory.toLowerCase() && log.removed !== true;
  const event = decodeFactoryEvent({ topics: log.topics, data: log.data });
  const isWanted = event?.name === "Executed" || event?.name === "Recovered";
  if (!isOurs || !isWanted) throw notAskedFor(blockNumber);
  const { name, vault, token } = event;
  return {
    name,
    vault,
    token,
    values: name === "Executed" ? [event.held, event.left] : [event.amount],
    transactionHash: hexOf(log.transactionHash, "transaction hash", 32),
    blockNumber,
    blockHash: hexOf(log.blockHash, "log's block hash", 32),
    logIndex: countOf(log.logIndex, "log index"),
  };
}

const notAskedFor = (blockNumber: number) =>
  inconsistent(`eth_getLogs: a log of block ${blockNumber} not asked for`);
