// Compares the endpoints of a chain, for the operator. Calls the methods that the executor relies
// on, at a block that every endpoint has. Reports wrong answers, refused methods, limits, and
// optional features of each endpoint.

import type { Hex } from "executable-address";
import { toQuantity, transferTopic } from "executable-address/status";
import { numberToHex } from "viem/utils";
import { requestTimeoutMs } from "./rpc/chain-rpc.ts";
import { type Endpoint, type EndpointChain, openEndpoints } from "./rpc/endpoint.ts";
import {
  type Answer,
  type Block,
  blockCall,
  blockOf,
  type Call,
  parseLog,
} from "./rpc/json-rpc.ts";
import { quorumOf } from "./rpc/network.ts";
import { agreed, comparableText, readAnswers } from "./rpc/view.ts";

/**
 * - `finalizedBlock`: null if the endpoint does not support the block tag `finalized`
 * - `differsOn`: the methods for which the endpoint's answer differs from a quorum's answer
 * - `refuses`: the refused methods, each followed by the error message
 * - `logBlocks`: the longest tested range for which the endpoint returned logs, in blocks
 * - `callsPerSecond`: null if the limit is unknown
 */
type Comparison = {
  headBlock: number | null;
  finalizedBlock: number | null;
  answeredMs: number | null;
  differsOn: string[];
  refuses: string[];
  logBlocks: number | null;
  callsPerSecond: number | null;
} & Abilities;

type Compared = EndpointChain & {
  rpcUrls: readonly string[];
  tokens: readonly { address: Hex }[];
};

/**
 * The endpoints are compared at a block that every endpoint has. This block is `depth` blocks below
 * the newest block of the endpoint that is farthest behind.
 */
const depth = 5;

/**
 * Returns one result per URL, in order.
 *
 * @param factory the contract whose code, balance, and nonce are compared
 */
export async function compareEndpoints(
  { rpcUrls: urls, tokens, ...chain }: Compared,
  factory: Hex,
): Promise<Comparison[]> {
  const endpoints = openEndpoints(chain, urls, { timeoutMs: requestTimeoutMs });
  const ask = (calls: Call[]) =>
    Promise.all(endpoints.map((each) => each.ask(calls).catch(() => undefined)));
  const heads = await Promise.all(
    endpoints.map(async (endpoint) => {
      const beganMs = performance.now();
      const calls = [blockCall("latest"), blockCall("finalized")];
      const answers = await endpoint.ask(calls).catch(() => undefined);
      return { answers, answeredMs: Math.round(performance.now() - beganMs) };
    }),
  );
  const blocks = heads.map(({ answers }) => blockIn(answers, 0));
  const numbers = blocks.flatMap((block) => block?.number ?? []);
  const common = Math.max(0, Math.min(...numbers) - depth);
  const ofBlock = numbers.length > 0 ? callsAt(common, factory, tokens) : [];
  const calls = [{ method: "eth_chainId", params: [] }, ...ofBlock];
  const lists = await ask(calls);
  const logBlocks = await Promise.all(
    endpoints.map((endpoint, index) =>
      lists[index] ? readLogBlocks(endpoint, common, tokens) : null,
    ),
  );
  const abilities = await Promise.all(
    endpoints.map((endpoint, index) => readAbilities(endpoint, blocks[index]?.number, factory)),
  );
  const quorum = quorumOf(urls.length);
  const agreements = calls.map(({ method }, place) => {
    const texts = lists.map((list) => list?.[place] && comparable(method, list[place]));
    return { method, texts, places: agreed(texts, quorum) };
  });
  return heads.map(({ answers, answeredMs }, index) => ({
    headBlock: blocks[index]?.number ?? null,
    finalizedBlock: blockIn(answers, 1)?.number ?? null,
    answeredMs: answers ? answeredMs : null,
    // If the answers differ and no answer has a quorum, any endpoint could be wrong. So the method
    // is listed for every endpoint that answered.
    differsOn: agreements.flatMap(({ method, texts, places }) =>
      texts[index] !== undefined && !places?.includes(index) ? [method] : [],
    ),
    refuses: calls.flatMap(({ method }, place) => {
      const answer = lists[index]?.[place];
      const error = answer && "error" in answer ? answer.error : undefined;
      return error && !ofState.has(method) ? [`${method}: ${error.message}`] : [];
    }),
    logBlocks: logBlocks[index]!,
    callsPerSecond: endpoints[index]!.readAllowance?.().callsPerSecond ?? null,
    ...abilities[index]!,
  }));
}

/**
 * Methods that read the factory's state. These methods and eth_call can fail because a node has
 * only the newest state, for example after a restart. Such an error does not mean that the node
 * refuses the method.
 */
const ofFactory = ["eth_getCode", "eth_getBalance", "eth_getTransactionCount"];
const ofState = new Set([...ofFactory, "eth_call"]);
/** `totalSupply()` */
const supply = "0x18160ddd";

function callsAt(number: number, factory: Hex, tokens: Compared["tokens"]): Call[] {
  const at = toQuantity(number);
  const addresses = tokens.map(({ address }) => address);
  const range = { fromBlock: at, toBlock: at, address: addresses };
  const ofTokens = [
    { method: "eth_getLogs", params: [range] },
    { method: "eth_call", params: [{ to: addresses[0], data: supply }, at] },
  ];
  return [
    blockCall(number),
    ...ofFactory.map((method) => ({ method, params: [factory, at] })),
    ...(addresses.length > 0 ? ofTokens : []),
  ];
}

/**
 * The tested numbers of blocks per log query. Some public endpoints allow only 10, and others allow
 * thousands.
 */
const logBlocksTried = [2000, 500, 100, 10, 1];

/**
 * Tries log queries of different lengths ({@link logBlocksTried}). Returns the length of the
 * longest answered query in blocks, or null if all fail.
 */
async function readLogBlocks(
  endpoint: Endpoint,
  to: number,
  tokens: Compared["tokens"],
): Promise<number | null> {
  const address = tokens.map((token) => token.address);
  if (address.length === 0) return null;
  for (const blocks of logBlocksTried) {
    const fromBlock = toQuantity(Math.max(0, to - blocks + 1));
    const filter = { fromBlock, toBlock: toQuantity(to), address, topics: [transferTopic] };
    const answers = await endpoint
      .ask([{ method: "eth_getLogs", params: [filter] }])
      .catch(() => undefined);
    if (answers && "result" in answers[0]!) return blocks;
  }
  return null;
}

/** Returns equal texts for equal answers. Ignores fields that the service does not use. */
function comparable(method: string, answer: Answer): string | undefined {
  if (method !== "eth_getLogs" || !("result" in answer)) return comparableText(method, answer);
  try {
    return JSON.stringify((answer.result as Record<string, unknown>[]).map(parseLog)).toLowerCase();
  } catch {
    return comparableText(method, answer);
  }
}

const blockIn = (answers: Answer[] | undefined, place: number): Block | undefined =>
  readAnswers([answers], place, blockOf)[0];

/**
 * Optional features of an endpoint. The service needs them for proofs, statuses at earlier blocks,
 * and simulations.
 */
type Abilities = {
  /**
   * The age of the oldest state that the endpoint returns, as a number of blocks before the newest
   * block. Only the ages in {@link depthsTried} are tested. Null if the endpoint returns none of
   * the tested states.
   */
  archiveBlocks: number | null;
  proves: boolean;
  /** Whether the endpoint supports state overrides in `eth_call`. */
  overrides: boolean;
};

/**
 * The tests read state at these distances from the newest block, in blocks. A node that is not an
 * archive keeps only recent state: 128 blocks, or about a day.
 */
const depthsTried = [1_000_000, 100_000, 10_000, 1_000, 100];

/** Bytecode that returns 1: PUSH1 1 PUSH0 MSTORE PUSH1 32 PUSH0 RETURN. */
const returnsOne: Hex = "0x60015f5260205ff3";
const emptyAccount: Hex = "0x00000000000000000000000000000000005eed01";

/** @param head the endpoint's newest block, or undefined if it did not answer */
async function readAbilities(
  endpoint: Endpoint,
  head: number | undefined,
  address: Hex,
): Promise<Abilities> {
  const none = { archiveBlocks: null, proves: false, overrides: false };
  if (head === undefined) return none;
  const depths = depthsTried.filter((depth) => depth <= head);
  if (depths.length === 0) depths.push(head);
  const calls: Call[] = [
    { method: "eth_getProof", params: [address, [], "latest"] },
    {
      method: "eth_call",
      params: [{ to: emptyAccount }, "latest", { [emptyAccount]: { code: returnsOne } }],
    },
    ...depths.map((depth) => ({
      method: "eth_getBalance",
      params: [address, toQuantity(head - depth)],
    })),
  ];
  const answers = await endpoint.ask(calls).catch(() => undefined);
  if (!answers) return none;
  const [proof, run, ...old] = answers.map((answer) =>
    "result" in answer ? answer.result : undefined,
  );
  const shown = depths.find((_, index) => typeof old[index] === "string");
  return {
    archiveBlocks: shown ?? null,
    proves: Array.isArray((proof as { accountProof?: unknown } | null | undefined)?.accountProof),
    overrides: run === numberToHex(1, { size: 32 }),
  };
}
