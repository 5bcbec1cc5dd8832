// Asking a node about one block, by the block's hash: a node that has another block there refuses.

import type { Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import { InvalidParamsRpcError, numberToHex, type PublicClient } from "viem";

/** State as a question assumes it: words of storage, by address and slot. */
export type StateOverrides = Record<Hex, { stateDiff: Record<Hex, Hex> }>;

/** What the init code `data` answers at `block`, on a chain where `overrides` hold. */
export async function runAt(
  client: PublicClient,
  block: BlockReference,
  data: Hex,
  overrides?: StateOverrides,
): Promise<Hex> {
  return callAt(client, block, { data }, overrides);
}

export async function callAt(
  client: PublicClient,
  block: BlockReference,
  call: { to?: Hex; data: Hex },
  overrides?: StateOverrides,
): Promise<Hex> {
  const rest = overrides ? [overrides] : [];
  return askAt(client, block, (at) => ({ method: "eth_call", params: [call, at, ...rest] }));
}

/** By hash (EIP-1898); by number on a node that does not know that form. */
export async function askAt<Answer>(
  client: PublicClient,
  block: BlockReference,
  question: (at: unknown) => { method: string; params: unknown[] },
): Promise<Answer> {
  const ask = (at: unknown) => client.request(question(at) as never) as Promise<Answer>;
  try {
    return await ask({ blockHash: block.hash, requireCanonical: true });
  } catch (error) {
    if (!(error instanceof InvalidParamsRpcError)) throw error;
    return ask(numberToHex(block.number));
  }
}
