// Simulates a series of calls on a node. With eth_simulateV1, one request runs all calls in order.
// Each call sees the changes of the previous calls. On nodes without this method, each call is a
// separate eth_call.

import type { Hex } from "executable-address";
import type { BlockReference } from "executable-address/status";
import { toQuantity } from "executable-address/status";
import type { ChainRpc } from "../rpc/chain-rpc.ts";
import { askAt, type StateOverrides } from "../rpc/chain-rpc.ts";
import { hexData, isRefusal, revertOf } from "../rpc/json-rpc.ts";

/** `value` is in wei. `gas` is {@link questionGas} by default. */
export type Question = { from?: Hex; to: Hex; data: Hex; value?: bigint; gas?: number };

/** The result of a call; undefined if the node could not run the call. */
export type Reply = { succeeded: boolean; data: Hex } | undefined;

/**
 * The default gas limit of a call. A transfer of one of Circle's proxied tokens needs 60,000 gas.
 */
const questionGas = 200_000;

type Replies = {
  /** One reply per question, in the order of the questions. */
  replies: Reply[];
  /** Whether each call saw the changes of the calls before it. */
  isSequence: boolean;
};

/** @throws {ChainUnavailable} if the node cannot be reached */
export async function askAll(
  rpc: ChainRpc,
  block: BlockReference,
  questions: readonly Question[],
  assumed: StateOverrides = {},
): Promise<Replies> {
  if (questions.length === 0) return { replies: [], isSequence: true };
  const calls = questions.map(({ from, to, data, value, gas = questionGas }) => ({
    ...(from && { from }),
    ...(value !== undefined && { value: toQuantity(value) }),
    ...{ to, input: data, gas: toQuantity(gas) },
  }));
  const payload = { blockStateCalls: [{ stateOverrides: assumed, calls }] };
  try {
    const ask = (at: unknown) => ({ method: "eth_simulateV1", params: [payload, at] });
    const answer = (await askAt(rpc, block, ask)) as [{ calls: Done[] }];
    const replies = answer[0].calls.map(({ status, returnData }) => ({
      succeeded: Number(status) === 1,
      data: hexData(returnData),
    }));
    return { replies, isSequence: true };
  } catch (error) {
    // Some nodes without eth_simulateV1 return a malformed answer instead of an error.
    if (!(isRefusal(error) || error instanceof TypeError)) throw error;
  }
  const alone = calls.map((call) => askOne(rpc, block, call, assumed));
  return { replies: await Promise.all(alone), isSequence: false };
}

type Done = { status: Hex; returnData: Hex };

async function askOne(
  rpc: ChainRpc,
  block: BlockReference,
  { input, ...call }: { input: Hex },
  assumed: StateOverrides,
): Promise<Reply> {
  const params = [{ ...call, data: input }];
  try {
    const answer = await askAt(rpc, block, (at) => ({
      method: "eth_call",
      params: [...params, at, assumed],
    }));
    return { succeeded: true, data: hexData(answer) };
  } catch (error) {
    return revertOf(error) && { succeeded: false, data: "0x" };
  }
}
