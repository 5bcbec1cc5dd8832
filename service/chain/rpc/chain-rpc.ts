// Makes the calls for which the answer of a single endpoint is sufficient. Calls the endpoints in
// order until one answers. Waits for a rate-limited endpoint only if no other endpoint is left. A
// call that reads the state at a block contains the block's hash, so a node without the block
// returns an error. For nodes that do not support hashes, the call contains the block's number.

import { encodeCall, factoryAddress, type Hex, toHex } from "executable-address";
import { type BlockReference, invalidParameters, toQuantity } from "executable-address/status";
import { type Endpoint, type EndpointChain, openEndpoints } from "./endpoint.ts";
import {
  type EndpointRecord,
  openRecord,
  recordFailedAt,
  recordHealthy,
} from "./endpoint-record.ts";
import { type Heads, openHeads } from "./heads.ts";
import {
  type Answer,
  type Call,
  type CallError,
  CallRefused,
  hexData,
  isRefusal,
} from "./json-rpc.ts";
import { classifyError } from "./node-errors.ts";
import type { Usable } from "./view.ts";

export type ChainRpc = {
  /**
   * @throws {CallRefused} if a node returned an error, and no other node returned a result
   * @throws {ChainUnavailable} if no endpoint answered
   */
  request(method: string, params: unknown[]): Promise<unknown>;
  heads: Heads;
};

/** The timeout of each request to an endpoint. */
export const requestTimeoutMs = 10_000;
/** For this time after a failure, an endpoint is called last. */
const standBackMs = 15_000;

/**
 * @param urls in the order in which they are called
 * @param now milliseconds of a monotonic clock
 * @param chain the chain of the URLs; if given, all clients of a URL in this process share the
 *   provider's limits
 */
export function openChainRpc(
  urls: readonly string[],
  now = () => performance.now(),
  chain?: EndpointChain,
): ChainRpc {
  const endpoints = openEndpoints(chain, urls, { timeoutMs: requestTimeoutMs });
  const names = endpoints.map(({ name }) => name).join(" or ");
  const source = `${chain ? `chain ${chain.chainId}` : "the chain"} (${names})`;
  const heads = openHeads((method, params) => rpc.request(method, params), now, source);
  const rpc: ChainRpc = { request: requester(endpoints, now), heads };
  return rpc;
}

function requester(endpoints: readonly Endpoint[], now: () => number): ChainRpc["request"] {
  const records = endpoints.map(openRecord);
  const isBack = ({ failedAtMs }: EndpointRecord) =>
    failedAtMs !== undefined && now() - failedAtMs < standBackMs;
  return async (method, params) => {
    let refusal: CallError | undefined;
    let failure: unknown;
    const order = records.toSorted((a, b) => Number(isBack(a)) - Number(isBack(b)));
    for (const [place, record] of order.entries()) {
      const mayWait = () => place === order.length - 1;
      try {
        const [answer] = await record.endpoint.ask([{ method, params }], undefined, mayWait);
        recordHealthy(record);
        if ("result" in answer!) return answer.result;
        refusal = answer!.error;
        // The call reverted or has invalid parameters, so other nodes would return the same error.
        const kind = classifyError(method, refusal);
        if (kind === "reverted" || refusal.code === invalidParameters) break;
      } catch (error) {
        recordFailedAt(record, now());
        failure = error;
      }
    }
    if (refusal) throw new CallRefused(refusal);
    throw failure;
  };
}

/**
 * Builds a call. `at` is the block parameter, in the form that the node supports: a hash or a
 * number.
 */
type Question = (at: unknown) => Call;

/** A block, and a function that calls endpoints at this block. */
export type AtBlock = {
  chainId: number;
  timestamp: number;
  /**
   * Returns the answers of each endpoint that was called.
   * @param isUsable if it returns false for an answer, the next endpoint is called
   */
  ask(questions: Question[], isUsable: Usable): Promise<Answer[][]>;
};

/** Calls one endpoint at `block`. An error from the endpoint is returned as the call's answer. */
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

/**
 * State overrides by address. `stateDiff` contains values by storage slot, and `balance` is in wei.
 */
export type StateOverrides = Record<Hex, { stateDiff?: Record<Hex, Hex>; balance?: Hex }>;

/**
 * Runs a call on a node at `block`, with the state overrides.
 * @param call if `to` is missing, the node runs `data` as init code and creates no contract
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

/**
 * Makes a call at a block. Names the block by its hash (EIP-1898), or by its number if the node
 * refuses hashes.
 */
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
 * Encodes a call of the contract `to`. The notation of the function is the same as in an intent.
 * Unlike the target of an intent's call, `to` can be any address.
 *
 * @param text such as `allowance(address owner, address spender)`
 * @param args as in an intent
 */
export function encodeViewCall(to: Hex, text: string, args: string[] = []): { to: Hex; data: Hex } {
  return { to, data: toHex(encodeCall({ target: factoryAddress, function: text, args })) };
}
