// A log as eth_getLogs and receipts carry it.

import type { Hex } from "executable-address";
import { hexData } from "./json-rpc.ts";

/** Lower case. */
export type Log = { address: Hex; topics: Hex[]; data: Hex };

/** @throws {ChainUnavailable} when it is no log */
export function logOf(value: Record<string, unknown>): Log {
  const topics = Array.isArray(value.topics) ? value.topics.map(hexData) : [];
  return { address: hexData(value.address), topics, data: hexData(value.data) };
}
