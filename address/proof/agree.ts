// Which block of a chain to trust: one that enough endpoints name by the same hash. A caller that
// has a better source, such as a light client or an L1 oracle, brings the hash from there.

import { toQuantity } from "../abi/hex.ts";
import { describeType, refuseUnknown } from "../errors.ts";
import type { Hex } from "../intent/intent.ts";
import { findBlock, httpRpc, parseNumber, type Rpc } from "../status/rpc.ts";
import { ProofError } from "./error.ts";

/** Nodes of one chain, kept by operators apart: URLs, or how to call them. */
export type Rpcs = readonly (string | Rpc)[];

export type AgreementOptions = {
  /** How many must name the same hash; more than half of them where nothing is said. */
  readonly quorum?: number;
  /** How many blocks must stand upon the block. Default 0: the newest that they agree on. */
  readonly confirmations?: number;
};

/** `head`: the number of the newest block that `quorum` endpoints have. */
export type AgreedBlock = {
  readonly chainId: number;
  readonly hash: Hex;
  readonly number: number;
  readonly timestamp: number;
  readonly head: number;
};

/** Endpoints stand at different blocks for a moment, and a chain may reorganise between answers. */
const attemptsMax = 3;

/**
 * The newest block of `chainId` under `confirmations` others on which `quorum` of `rpcs` agree.
 *
 * @throws {ProofError} `no_quorum`, with what each endpoint said
 * @throws {TypeError} for options that no endpoints could meet
 */
export async function blockHashOf(
  rpcs: Rpcs,
  { chainId, ...options }: AgreementOptions & { readonly chainId: number },
): Promise<AgreedBlock> {
  const { quorum, confirmations } = parseAgreement(rpcs, options);
  const calls = rpcs.map(callOf);
  let found = "";
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const heads = await Promise.all(calls.map((rpc) => headOf(rpc, chainId)));
    const numbers = heads.filter((head) => typeof head === "number").sort((a, b) => b - a);
    const head = numbers[quorum - 1];
    found = heads.map((each, index) => `${index}: ${each}`).join(", ");
    if (head === undefined || head < confirmations) continue;
    const block = await agree(calls, head - confirmations, quorum);
    if (block) return { chainId, ...block, head };
  }
  const message = `${quorum} of ${rpcs.length} endpoints agree on no block (heads ${found})`;
  throw new ProofError("no_quorum", message);
}

/**
 * The block at `number` as `quorum` of `rpcs` have it, undefined where not so many agree. Each was
 * found to be of the chain by {@link blockHashOf}, or cannot say a hash that others do.
 */
export async function agree(rpcs: Rpcs, number: number, quorum: number) {
  const blocks = await Promise.all(
    rpcs.map((rpc) => findBlock(callOf(rpc), toQuantity(number)).catch(() => undefined)),
  );
  return blocks.find(
    (block) =>
      block?.number === number &&
      blocks.filter((other) => other && JSON.stringify(other) === JSON.stringify(block)).length >=
        quorum,
  );
}

/** Its newest block's number, or why it has no say. */
async function headOf(rpc: Rpc, chainId: number): Promise<number | string> {
  try {
    const [chain, head] = await Promise.all([rpc("eth_chainId", []), rpc("eth_blockNumber", [])]);
    const found = parseNumber(chain, "chain id");
    return found === chainId ? parseNumber(head, "block number") : `of chain ${found}`;
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 200) : "no answer";
  }
}

export const callOf = (rpc: string | Rpc): Rpc => (typeof rpc === "string" ? httpRpc(rpc) : rpc);

const gatherOptions = "rpcs, quorum, confirmations, factory, keccak";

/**
 * Refuses unknown options, because a misspelled `quorum` would trust fewer nodes than intended.
 *
 * @throws {TypeError} that names the first unknown option
 */
export function refuseUnknownOptions(options: object): void {
  refuseUnknown(options, gatherOptions, "option");
}

/** @throws {TypeError} for unknown options, or values that no endpoints could meet */
export function parseAgreement(rpcs: Rpcs, options: AgreementOptions) {
  refuseUnknownOptions(options);
  const { quorum, confirmations = 0 } = options;
  if (!Array.isArray(rpcs))
    throw new TypeError(`rpcs: expected a list, found ${describeType(rpcs)}`);
  if (rpcs.length === 0) throw new TypeError("rpcs: expected one or more, found none");
  // Told by its place: the URL of a node may hold a key.
  const twice = rpcs.findIndex((rpc, place) => rpcs.indexOf(rpc) < place);
  if (twice > 0) throw new TypeError(`rpcs.${twice}: is rpcs.${rpcs.indexOf(rpcs[twice])} again`);
  const wanted = quorum ?? Math.floor(rpcs.length / 2) + 1;
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > rpcs.length)
    throw new TypeError(`quorum: expected an integer from 1 to ${rpcs.length}, found ${wanted}`);
  if (!Number.isSafeInteger(confirmations) || confirmations < 0)
    throw new TypeError(`confirmations: expected an integer from 0, found ${confirmations}`);
  return { quorum: wanted, confirmations };
}
