// Asks a node about one block, by the block's hash: a node that has another block there refuses.

import type { Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import type { ChainRpc } from "./chain-rpc.ts";
import { CallRefused, hexData, invalidParams, toQuantity } from "./json-rpc.ts";

/** State that a question assumes, by address: words of storage by slot, and `balance` in wei. */
export type StateOverrides = Record<Hex, { stateDiff?: Record<Hex, Hex>; balance?: Hex }>;

/**
 * Calls a node at `block`, with the state changed by `overrides`.
 * @param call without `to`: `data` is init code, which runs and is not kept
 */
export async function callAt(
  rpc: ChainRpc,
  block: BlockReference,
  call: { to?: Hex; data: Hex },
  overrides?: StateOverrides,
): Promise<Hex> {
  const rest = overrides ? [overrides] : [];
  const answer = askAt(rpc, block, (at) => ({
    method: "eth_call",
    params: [call, at, ...rest],
  }));
  return hexData(await answer);
}

/** Names the block by hash (EIP-1898), or by number if the node does not know that form. */
export async function askAt(
  rpc: ChainRpc,
  block: BlockReference,
  question: (at: unknown) => { method: string; params: unknown[] },
): Promise<unknown> {
  const ask = (at: unknown) => {
    const { method, params } = question(at);
    return rpc.request(method, params);
  };
  try {
    return await ask({ blockHash: block.hash, requireCanonical: true });
  } catch (error) {
    if (!(error instanceof CallRefused && error.code === invalidParams)) throw error;
    return ask(toQuantity(block.number));
  }
}
