// Decodes the factory's events, and finds the events of vaults. A node can return wrong logs. A log
// that has a different layout or was not requested is an error.

import { countBytes, toQuantity } from "../abi/hex.ts";
import { topicOf } from "../abi/token.ts";
import { describeValue } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import { inconsistent, parseHex, parseNumber, parseQuantity } from "./rpc.ts";
import type { EventReference } from "./shape.ts";

/** `Executed(address indexed vault, address indexed token, uint256 held, uint256 left)` */
export const executedTopic: Hex =
  "0xe953ae62f4f69be1c6d943cb68d93d288f23ffae7332b84196d46e9e778b23b2";
/** `Recovered(address indexed vault, address indexed token, uint256 amount)` */
export const recoveredTopic: Hex =
  "0xfff3b3844276f57024e0b42afec1a37f75db36511e43819a4f2a63ab7862b648";
/** `RecoveryFailed(address indexed vault, address indexed token, bytes reason)` */
const recoveryFailedTopic: Hex =
  "0x8756f1c5a5fed5cc44b49c6085ce0ede69d0cafd2c1fbc037d9fdbc433424679";
/** `ItemFailed(address indexed caller, uint256 indexed index, bytes reason)` */
const itemFailedTopic: Hex = "0xd84a289bf8189242911f42ccf1332fc68f85c9bc413a8e0ce9b044c99f6c8057";

/**
 * Addresses and `reason` are lowercase, amounts are base units of `token`, and `index` begins at 0.
 */
export type FactoryEvent =
  | { name: "Executed"; vault: Hex; token: Hex; held: bigint; left: bigint }
  | { name: "Recovered"; vault: Hex; token: Hex; amount: bigint }
  | { name: "RecoveryFailed"; vault: Hex; token: Hex; reason: Hex }
  | { name: "ItemFailed"; caller: Hex; index: number; reason: Hex };

/**
 * Decodes an event of the factory from the topics and data of a log. The caller must check the
 * log's address, because any contract can emit the same event.
 *
 * @returns undefined if the first topic is not an event of the factory
 * @throws {StatusError} `rpc_inconsistent` if the other topics or the data do not match the event
 */
export function decodeFactoryEvent(log: {
  topics: unknown;
  data: unknown;
}): FactoryEvent | undefined {
  const topics = Array.isArray(log.topics) ? log.topics.map((t) => parseHex(t, "topic", 32)) : [];
  const [topic, first, second] = topics;
  const names = { vault: first!, token: second! };
  const data = (bytes?: number) => parseHex(log.data, "log data", bytes);
  switch (topic) {
    case executedTopic: {
      const values = data(64);
      const [held, left] = [decodeWord(values, 0), decodeWord(values, 1)];
      return { name: "Executed", ...decodeAddresses(topics, names), held, left };
    }
    case recoveredTopic:
      return {
        name: "Recovered",
        ...decodeAddresses(topics, names),
        amount: decodeWord(data(32), 0),
      };
    case recoveryFailedTopic:
      return {
        name: "RecoveryFailed",
        ...decodeAddresses(topics, names),
        reason: decodeBytes(data()),
      };
    case itemFailedTopic: {
      const caller = decodeAddresses(topics, { caller: first! });
      return {
        name: "ItemFailed",
        ...caller,
        index: parseNumber(second, "index"),
        reason: decodeBytes(data()),
      };
    }
    default:
      return undefined;
  }
}

function decodeAddresses<Name extends string>(
  topics: readonly Hex[],
  words: Record<Name, Hex>,
): Record<Name, Hex> {
  if (topics.length !== 3) throw inconsistent(`log: expected 3 topics, found ${topics.length}`);
  const entries = Object.entries<Hex>(words).map(([name, word]) => {
    if (!word.startsWith(zeros)) throw inconsistent(`${name}: expected an address, found ${word}`);
    return [name, `0x${word.slice(zeros.length)}`];
  });
  return Object.fromEntries(entries);
}

const zeros = `0x${"00".repeat(12)}`;

/** Decodes the `bytes` value that `data` encodes. */
function decodeBytes(data: Hex): Hex {
  const size = countBytes(data);
  const isLong = size >= 64 && decodeWord(data, 0) === 32n;
  const length = isLong ? decodeWord(data, 1) : -1n;
  if (length < 0n || length > BigInt(size - 64))
    throw inconsistent(`log data: expected bytes, found ${describeValue(data)}`);
  return `0x${data.slice(130, 130 + 2 * Number(length))}`;
}

const decodeWord = (data: Hex, index: number) =>
  parseQuantity(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`, "log data");

/**
 * One event of a vault. `vault` and `token` are lowercase. `values` contains the uint256 values of
 * the event's data: `held` and `left` for an execution, and the amount for a recovery.
 */
export type VaultEvent = EventReference & {
  name: "Executed" | "Recovered";
  vault: Hex;
  token: Hex;
  values: bigint[];
};

/** Addresses in any letter case, and an inclusive range of blocks. */
export type VaultEventSearch = { factory: Hex; vaults: readonly Hex[]; from: number; to: number };

/** Returns the parameter of `eth_getLogs` for a search. */
export function vaultEventFilter({ factory, vaults, from, to }: VaultEventSearch) {
  return {
    address: factory,
    topics: [[executedTopic, recoveredTopic], vaults.map(topicOf)],
    fromBlock: toQuantity(from),
    toBlock: toQuantity(to),
  };
}

/**
 * Parses the response to {@link vaultEventFilter}, and sorts the events from oldest to newest.
 *
 * @throws {StatusError} `rpc_inconsistent` unless `logs` is a list of events that match `search`
 */
export function parseVaultEvents(logs: unknown, search: VaultEventSearch): VaultEvent[] {
  if (!Array.isArray(logs))
    throw inconsistent(`eth_getLogs: expected a list, found ${describeValue(logs)}`);
  const vaults = new Set(search.vaults.map((vault) => vault.toLowerCase()));
  const events = logs.map((log) => parseVaultEvent(log, search.factory));
  for (const { vault, blockNumber } of events) {
    if (!vaults.has(vault) || blockNumber < search.from || blockNumber > search.to) {
      throw notRequested(blockNumber);
    }
  }
  return events.sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

/**
 * @throws {StatusError} `rpc_inconsistent` unless `log` is an `Executed` or `Recovered` event that
 * `factory` emitted
 */
function parseVaultEvent(log: Record<string, unknown>, factory: Hex): VaultEvent {
  const blockNumber = parseNumber(log.blockNumber, "log's block number");
  const isOurs =
    parseHex(log.address, "log's address", 20) === factory.toLowerCase() && log.removed !== true;
  const event = decodeFactoryEvent({ topics: log.topics, data: log.data });
  const isOfVault = event?.name === "Executed" || event?.name === "Recovered";
  if (!isOurs || !isOfVault) throw notRequested(blockNumber);
  const { name, vault, token } = event;
  return {
    name,
    vault,
    token,
    values: name === "Executed" ? [event.held, event.left] : [event.amount],
    transactionHash: parseHex(log.transactionHash, "transaction hash", 32),
    blockNumber,
    blockHash: parseHex(log.blockHash, "log's block hash", 32),
    logIndex: parseNumber(log.logIndex, "log index"),
  };
}

const notRequested = (blockNumber: number) =>
  inconsistent(
    "eth_getLogs: expected only logs that match the filter, found a different log in " +
      `block ${blockNumber}`,
  );
