// A log as eth_getLogs and receipts carry it.

import type { Hex } from "executable-address";
import { hexData } from "./json-rpc.ts";

/** Lower case. */
export type Log = { address: Hex; topics: Hex[]; data: Hex };

/** `Transfer(address,address,uint256)`, of ERC-20 and ERC-721. */
export const transferTopic: Hex =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** @throws {ChainUnavailable} when it is no log */
export function logOf(value: Record<string, unknown>): Log {
  const topics = Array.isArray(value.topics) ? value.topics.map(hexData) : [];
  return { address: hexData(value.address), topics, data: hexData(value.data) };
}
