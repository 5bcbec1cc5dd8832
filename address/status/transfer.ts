// ERC-20's `Transfer` event: what a node is asked for it, and how to read a log of it.

import type { Hex } from "../hex.ts";

/** `Transfer(address indexed from, address indexed to, uint256 value)` */
export const transferTopic: Hex =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** A log has an indexed address in this form, lower case. @param address in any letter case */
export const topicOf = (address: Hex): Hex =>
  `0x${address.slice(2).toLowerCase().padStart(64, "0")}`;

type Transfer = { from: Hex; to: Hex; amount: bigint };

/**
 * The transfer that `log` tells of, in its letter case, whichever contract wrote it. Undefined for
 * another event: an ERC-721's has the same topic and no data.
 */
export function transferOf({ topics, data }: TransferLog): Transfer | undefined {
  const [topic, from, to] = topics;
  if (topic !== transferTopic || topics.length !== 3 || data.length !== 66) return undefined;
  return { from: `0x${from!.slice(26)}`, to: `0x${to!.slice(26)}`, amount: BigInt(data) };
}

type TransferLog = { readonly topics: readonly Hex[]; readonly data: Hex };
