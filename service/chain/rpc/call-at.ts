// Calls a node at one block, named by its hash: a node that has another block at that height
// returns an error.

import { encodeCall, factoryAddress, type Hex, toHex } from "executable-address";
import { type BlockReference, invalidParameters, toQuantity } from "executable-address/status";
import type { ChainRpc } from "./chain-rpc.ts";
import { type Answer, type Call, CallRefused, hexData, isRefusal } from "./json-rpc.ts";
import type { Usable } from "./view.ts";

/** A call at a block, which is passed in the form that the node supports. */
type Question = (at: unknown) => Call;

/** One block of a chain, at which one endpoint, each in turn, or several endpoints are called. */
export type AtBlock = {
  chainId: number;
  timestamp: number;
  /**
   * Returns the answers of each endpoint that was called.
   * @param isUsable if it returns false, another endpoint is called instead, if there is one
   */
  ask(questions: Question[], isUsable: Usable): Promise<Answer[][]>;
};

/** Calls one endpoint, and returns its refusal as an answer. */
export const oneAt = (
  { chainId, rpc }: { chainId: number; rpc: ChainRpc },
  block: BlockReference,
): AtBlock => ({
  chainId,
  timestamp: block.timestamp,
  ask: async (questions) => [
    await Promise.all(questions.map((question) => answerAt(rpc, block, question))),
  ],
});

async function answerAt(rpc: ChainRpc, block: BlockReference, question: Question): Promise<Answer> {
  try {
    return { result: await askAt(rpc, block, question) };
  } catch (error) {
    if (isRefusal(error)) return { error: { code: 0, message: error.message } };
    throw error;
  }
}

/** State that a call assumes, by address: storage words by slot, and `balance` in wei. */
export type StateOverrides = Record<Hex, { stateDiff?: Record<Hex, Hex>; balance?: Hex }>;

/**
 * Calls a node at `block`, with the state changed by `overrides`.
 * @param call without `to`: `data` is init code, which runs without creating a contract
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
  question: Question,
): Promise<unknown> {
  const ask = (at: unknown) => {
    const { method, params } = question(at);
    return rpc.request(method, params);
  };
  try {
    return await ask({ blockHash: block.hash, requireCanonical: true });
  } catch (error) {
    if (!(error instanceof CallRefused && error.code === invalidParameters)) throw error;
    return ask(toQuantity(block.number));
  }
}

/**
 * Encodes a call of a contract's function, in the text form of intents. Unlike in an intent, every
 * address is allowed.
 *
 * @param text such as `allowance(address owner, address spender)`; @param args as in an intent
 */
export function encodeViewCall(to: Hex, text: string, args: string[] = []): { to: Hex; data: Hex } {
  return { to, data: toHex(encodeCall({ target: factoryAddress, function: text, args })) };
}
