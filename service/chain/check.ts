// Whether a chain is what the file says: its id, the factory's code, and each token's decimals.

import type { Hex } from "executable-address";
import {
  BaseError,
  erc20Abi,
  HttpRequestError,
  keccak256,
  type PublicClient,
  TimeoutError,
} from "viem";
import type { Chain } from "./chains.ts";

export type Verdict =
  | { kind: "right" }
  /** The chain contradicts the file; each fault is one sentence. */
  | { kind: "wrong"; faults: string[] }
  /** No RPC answered, so nothing is known. `reason` names no URL: those may hold keys. */
  | { kind: "unknown"; reason: string };

/** `codeHash` is keccak-256 of the factory's deployed code. */
export type Factory = { address: Hex; codeHash: Hex };

export async function checkChain(
  chain: Chain,
  client: PublicClient,
  factory: Factory,
): Promise<Verdict> {
  try {
    const chainId = await client.getChainId();
    if (chainId !== chain.chainId) {
      return wrong([`the RPC is of chain ${chainId}, wanted ${chain.chainId}`]);
    }
    const found = await Promise.all([
      factoryFault(client, factory),
      ...chain.tokens.map((token) => tokenFault(client, token)),
    ]);
    const faults = found.filter((fault) => fault !== undefined);
    return faults.length > 0 ? wrong(faults) : { kind: "right" };
  } catch (error) {
    return { kind: "unknown", reason: reasonOf(error) };
  }
}

const wrong = (faults: string[]): Verdict => ({ kind: "wrong", faults });

async function factoryFault(client: PublicClient, factory: Factory): Promise<string | undefined> {
  const { address, codeHash } = factory;
  const code = await client.getCode({ address });
  if (code === undefined) return `no factory at ${address} yet: anybody may deploy it there`;
  const found = keccak256(code);
  if (found === codeHash) return undefined;
  return `the code at ${address} hashes to ${found}, wanted the factory's ${codeHash}`;
}

async function tokenFault(
  client: PublicClient,
  { symbol, address, decimals }: Chain["tokens"][number],
): Promise<string | undefined> {
  try {
    const found = await client.readContract({ address, abi: erc20Abi, functionName: "decimals" });
    if (found === decimals) return undefined;
    return `${symbol} ${address} has ${found} decimals, wanted ${decimals}`;
  } catch (error) {
    if (isUnreachable(error)) throw error;
    return `${symbol} ${address} does not answer decimals(): is it an ERC-20 on this chain?`;
  }
}

const isUnreachable = (error: unknown) =>
  error instanceof BaseError &&
  error.walk((cause) => cause instanceof HttpRequestError || cause instanceof TimeoutError) !==
    null;

function reasonOf(error: unknown): string {
  if (!(error instanceof BaseError)) return String(error);
  return error.shortMessage.split("\n")[0] as string;
}
