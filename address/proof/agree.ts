// Finds a block that a caller can trust: a quorum of endpoints reports the same hash. A caller can
// instead use a hash from a better source, such as a light client.

import { toQuantity } from "../abi/hex.ts";
import { describeType, type NamesOf, refuseUnknown } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import { findBlock, httpRpc, parseNumber, type Rpc } from "../status/rpc.ts";
import { ProofError } from "./error.ts";
import type { ProofOptions } from "./outcome.ts";

/** Nodes of one chain, from independent operators: URLs or functions. */
export type Rpcs = readonly (string | Rpc)[];

export type AgreementOptions = {
  /** The number of nodes that must report the same hash. Default: more than half. */
  readonly quorum?: number;
  /**
   * The number of blocks that must follow the returned block. Default: 0, which returns the newest
   * agreed block.
   */
  readonly confirmations?: number;
};

export type GatherOptions = ProofOptions & AgreementOptions & { readonly rpcs: Rpcs };

/** `head` is the highest block number that a quorum of endpoints has reached. */
export type AgreedBlock = {
  readonly chainId: number;
  readonly hash: Hex;
  readonly number: number;
  readonly timestamp: number;
  readonly head: number;
};

/**
 * The number of attempts to agree on a block. An attempt fails if the endpoints are at different
 * blocks, or if the chain reorganizes meanwhile.
 */
const attemptsMax = 3;

/**
 * Returns the newest block of `chainId` on which a quorum of `rpcs` agrees. The block must be
 * followed by `confirmations` blocks.
 *
 * @throws {ProofError} `no_quorum`, with the response of each endpoint
 * @throws {TypeError} for impossible options, such as a quorum above the number of endpoints
 */
export async function blockHashOf(
  rpcs: Rpcs,
  { chainId, ...options }: AgreementOptions & { readonly chainId: number },
): Promise<AgreedBlock> {
  const { quorum, confirmations } = parseAgreement(rpcs, options);
  const calls = rpcs.map(toRpc);
  let found = "";
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const heads = await Promise.all(calls.map((rpc) => readHead(rpc, chainId)));
    const numbers = heads.filter((head) => typeof head === "number").sort((a, b) => b - a);
    const head = numbers[quorum - 1];
    found = `newest blocks: ${listAnswers(heads)}`;
    if (head === undefined || head < confirmations) continue;
    const number = head - confirmations;
    const { block, answers } = await agree(calls, number, quorum);
    if (block) return { chainId, ...block, head };
    found = `block ${number}: ${answers}`;
  }
  const wanted = `${quorum} of ${rpcs.length} endpoints to agree on a block`;
  throw new ProofError("no_quorum", `expected ${wanted}; ${found}`);
}

/**
 * Returns the block at `number` if a quorum of `rpcs` agrees on it. The chain ID is not checked
 * again, because a different chain has no block with this hash.
 *
 * @returns the agreed block, if any, and `answers`, which lists each node's answer for error
 *   messages
 */
export async function agree(rpcs: Rpcs, number: number, quorum: number) {
  const found = await Promise.all(
    rpcs.map((rpc) => findBlock(toRpc(rpc), toQuantity(number)).catch(reasonOf)),
  );
  const blocks = found.filter((each) => typeof each === "object");
  const atNumber = blocks.filter((each) => each.number === number);
  const answers = found.map((each) => {
    if (typeof each !== "object") return each ?? "no block";
    return each.number === number ? each.hash : `block ${each.number}`;
  });
  return { block: pickAgreed(atNumber, quorum), answers: listAnswers(answers) };
}

/**
 * Returns the first answer that occurs at least `quorum` times in `answers`. Returns undefined if
 * there is none. `answers` must contain at most one answer from each node.
 *
 * @param keyOf returns the text to compare; an answer without a text does not count
 */
export function pickAgreed<Answer>(
  answers: readonly Answer[],
  quorum: number,
  keyOf: (answer: Answer) => string | undefined = (answer) => JSON.stringify(answer),
): Answer | undefined {
  const keys = answers.map(keyOf);
  return answers.find((_, index) => {
    const key = keys[index];
    return key && keys.filter((other) => other === key).length >= quorum;
  });
}

/** Returns the number of the newest block, or the reason why the endpoint is ignored. */
async function readHead(rpc: Rpc, chainId: number): Promise<number | string> {
  try {
    const [chain, head] = await Promise.all([rpc("eth_chainId", []), rpc("eth_blockNumber", [])]);
    const found = parseNumber(chain, "chain id");
    return found === chainId ? parseNumber(head, "block number") : `of chain ${found}`;
  } catch (error) {
    return reasonOf(error);
  }
}

/** Returns the reason for a missing answer, as text for {@link listAnswers}. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message.slice(0, 200) : "no answer";

/** Lists the answer of each node. Nodes are named by index, because a URL may contain a key. */
export const listAnswers = (answers: readonly (string | number)[]): string =>
  answers.map((each, index) => `rpcs[${index}]: ${each}`).join(", ");

export const toRpc = (rpc: string | Rpc): Rpc => (typeof rpc === "string" ? httpRpc(rpc) : rpc);

const gatherOptions: NamesOf<GatherOptions> = {
  rpcs: 1,
  quorum: 1,
  confirmations: 1,
  factory: 1,
  keccak: 1,
};

/**
 * Refuses unknown options, because a caller who misspells `quorum` would trust fewer nodes than
 * intended.
 *
 * @throws {TypeError} that names the first unknown option
 */
export function refuseUnknownOptions(options: object): void {
  refuseUnknown(options, gatherOptions, "option");
}

/** @throws {TypeError} for unknown options, invalid values, and a repeated node */
export function parseAgreement(rpcs: Rpcs, options: AgreementOptions) {
  refuseUnknownOptions(options);
  const { quorum, confirmations = 0 } = options;
  if (!Array.isArray(rpcs))
    throw new TypeError(`rpcs: expected a list, found ${describeType(rpcs)}`);
  if (rpcs.length === 0) throw new TypeError("rpcs: expected at least one, found none");
  // The message contains the node's index, because the node's URL may contain a key.
  const twice = rpcs.findIndex((rpc, place) => rpcs.indexOf(rpc) < place);
  if (twice > 0)
    throw new TypeError(`rpcs[${twice}]: is the same as rpcs[${rpcs.indexOf(rpcs[twice])}]`);
  const needed = quorum ?? Math.floor(rpcs.length / 2) + 1;
  if (!Number.isInteger(needed) || needed < 1 || needed > rpcs.length)
    throw new TypeError(`quorum: expected an integer from 1 to ${rpcs.length}, found ${needed}`);
  if (!Number.isSafeInteger(confirmations) || confirmations < 0)
    throw new TypeError(`confirmations: expected an integer of at least 0, found ${confirmations}`);
  return { quorum: needed, confirmations };
}
