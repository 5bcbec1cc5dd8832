// The factory's events of some vaults in a range of blocks, as a node answers eth_getLogs, told
// apart from a node's refusal to answer for so much at once.

import type { Hex } from "executable-address";
import { parseVaultEvents, type VaultEvent, vaultEventFilter } from "executable-address/status";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { isRefusal } from "../rpc/json-rpc.ts";

/** A chain to read from, and whose events count there. */
export type ChainAccess = { chainId: number; factory: Hex; rpc: ChainRpc };

/** Blocks, both inclusive. */
export type Range = { from: number; to: number };

/** The node was reached and did not answer for so much; `refused` says how it put that. */
export type Refused = { refused: string };

/**
 * @param vaults at most a few hundred, as one filter takes them
 * @returns oldest first, or the node's refusal
 * @throws {StatusError} `rpc_inconsistent` on a log that was not asked for
 */
export async function readLogs(
  { rpc, factory }: ChainAccess,
  vaults: Hex[],
  range: Range,
): Promise<VaultEvent[] | Refused> {
  const search = { factory, vaults, ...range };
  let logs: unknown;
  try {
    logs = await rpc.request("eth_getLogs", [vaultEventFilter(search)]);
  } catch (error) {
    if (isRefusal(error)) return { refused: error.message };
    throw error;
  }
  return parseVaultEvents(logs, search);
}
