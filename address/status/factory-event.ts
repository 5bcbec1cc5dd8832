// The factory's events as a log carries them, decoded here alone: for statuses and for executors.

import { hexBytes } from "../abi/hex.ts";
import { plainOf } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import { countOf, hexOf, inconsistent, quantityOf } from "./rpc.ts";

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

/** Addresses and `reason` in lower case, amounts in base units of `token`, `index` from 0. */
export type FactoryEvent =
  | { name: "Executed"; vault: Hex; token: Hex; held: bigint; left: bigint }
  | { name: "Recovered"; vault: Hex; token: Hex; amount: bigint }
  | { name: "RecoveryFailed"; vault: Hex; token: Hex; reason: Hex }
  | { name: "ItemFailed"; caller: Hex; index: number; reason: Hex };

/**
 * The event that a log's topics and data spell. Whose log it is the caller has to check: any
 * contract can emit the same.
 *
 * @returns undefined where the first topic is none of the factory's
 * @throws {StatusError} `rpc_inconsistent` where the rest is not as that event has it
 */
export function decodeFactoryEvent(log: {
  topics: unknown;
  data: unknown;
}): FactoryEvent | undefined {
  const topics = Array.isArray(log.topics) ? log.topics.map((t) => hexOf(t, "topic", 32)) : [];
  const [topic, first, second] = topics;
  const names = { vault: first!, token: second! };
  const data = (bytes?: number) => hexOf(log.data, "log data", bytes);
  switch (topic) {
    case executedTopic: {
      const values = data(64);
      const [held, left] = [wordAt(values, 0), wordAt(values, 1)];
      return { name: "Executed", ...addressesOf(topics, names), held, left };
    }
    case recoveredTopic:
      return { name: "Recovered", ...addressesOf(topics, names), amount: wordAt(data(32), 0) };
    case recoveryFailedTopic:
      return { name: "RecoveryFailed", ...addressesOf(topics, names), reason: bytesIn(data()) };
    case itemFailedTopic: {
      const caller = addressesOf(topics, { caller: first! });
      return {
        name: "ItemFailed",
        ...caller,
        index: countOf(second, "index"),
        reason: bytesIn(data()),
      };
    }
    default:
      return undefined;
  }
}

function addressesOf<Name extends string>(
  topics: readonly Hex[],
  words: Record<Name, Hex>,
): Record<Name, Hex> {
  if (topics.length !== 3) throw inconsistent(`log: wanted 3 topics, found ${topics.length}`);
  const entries = Object.entries<Hex>(words).map(([name, word]) => {
    if (!word.startsWith(zeros)) throw inconsistent(`${name}: wanted an address, found ${word}`);
    return [name, `0x${word.slice(zeros.length)}`];
  });
  return Object.fromEntries(entries);
}

const zeros = `0x${"00".repeat(12)}`;

/** The one `bytes` value that `data` is the encoding of. */
function bytesIn(data: Hex): Hex {
  const size = hexBytes(data);
  const isLong = size >= 64 && wordAt(data, 0) === 32n;
  const length = isLong ? wordAt(data, 1) : -1n;
  if (length < 0n || length > BigInt(size - 64))
    throw inconsistent(`log data: wanted bytes, found ${plainOf(data)}`);
  return `0x${data.slice(130, 130 + 2 * Number(length))}`;
}

const wordAt = (data: Hex, index: number) =>
  quantityOf(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`, "log data");
