// Compares a chain with the operator's chains file. Checks the chain ID, the factory's code, and
// the decimals of each token. Also checks that the chain supports MCOPY, an EVM instruction that
// the factory needs.

import type { Hex } from "executable-address";
import { periphery } from "executable-address-contracts";
import { keccak256, numberToHex } from "viem/utils";
import type { Chain } from "./chains.ts";
import type { ChainRpc } from "./rpc/chain-rpc.ts";
import { encodeViewCall } from "./rpc/chain-rpc.ts";
import { CallRefused, hexData, quantity } from "./rpc/json-rpc.ts";

export type Verdict =
  | { kind: "right" }
  /** The chain does not match the chains file. */
  | { kind: "wrong"; faults: string[] }
  /**
   * No endpoint responded, so the result is unknown. `reason` contains no URL, because a URL can
   * contain an API key.
   */
  | { kind: "unknown"; reason: string };

/** `codeHash` is keccak-256 of the factory's deployed code. */
export type Factory = { address: Hex; codeHash: Hex };

/** @param factory undefined if the factory is not required */
export async function checkChain(
  chain: Chain,
  rpc: ChainRpc,
  factory: Factory | undefined,
): Promise<Verdict> {
  try {
    const chainId = Number(quantity(await rpc.request("eth_chainId", [])));
    if (chainId !== chain.chainId) {
      return wrong([`expected an RPC endpoint of chain ${chain.chainId}, found chain ${chainId}`]);
    }
    const found = await Promise.all([
      forkFault(rpc),
      factory && factoryFault(rpc, factory),
      ...chain.tokens.map((token) => tokenFault(rpc, token)),
    ]);
    const faults = found.filter((fault) => fault !== undefined);
    return faults.length > 0 ? wrong(faults) : { kind: "right" };
  } catch (error) {
    return { kind: "unknown", reason: (error as Error).message };
  }
}

const wrong = (faults: string[]): Verdict => ({ kind: "wrong", faults });

/**
 * Returns an error message if the chain does not support the instruction MCOPY (EIP-5656, Cancun).
 * Without MCOPY, the factory cannot be deployed. If a chain without MCOPY had the factory anyway,
 * executions would succeed, but recoveries would fail.
 */
export async function forkFault(rpc: ChainRpc): Promise<string | undefined> {
  // If the node cannot run even trivial code, its answer for MCOPY is meaningless.
  if ((await runs(rpc, copyNothing)) || !(await runs(rpc, doNothing))) return undefined;
  return "the chain does not support MCOPY (EIP-5656), which Ethereum's Cancun fork added";
}

/**
 * Init code. `copyNothing` runs MCOPY (PUSH0 PUSH0 PUSH0 MCOPY). `doNothing` contains only
 * instructions that every fork supports (PUSH1 0 POP).
 */
const [copyNothing, doNothing] = ["0x5f5f5f5e", "0x600050"] as const;

async function runs(rpc: ChainRpc, data: Hex): Promise<boolean> {
  try {
    await rpc.request("eth_call", [{ data }, "latest"]);
    return true;
  } catch (error) {
    if (error instanceof CallRefused) return false;
    throw error;
  }
}

async function factoryFault(rpc: ChainRpc, factory: Factory): Promise<string | undefined> {
  const { address } = factory;
  const code = hexData(await rpc.request("eth_getCode", [address, "latest"]));
  if (code === "0x") return `there is no factory at ${address}: deploy it with admin chain bring`;
  return codeFault(factory, code);
}

/** Returns an error message if `code`, the code at the factory's address, is not the factory's. */
export function codeFault({ address, codeHash }: Factory, code: Hex): string | undefined {
  const found = code === "0x" ? "no code" : keccak256(code);
  if (found === codeHash) return undefined;
  return `${address}: expected the factory's code with the hash ${codeHash}, found ${found}`;
}

export const peripheryNames = Object.keys(periphery) as (keyof typeof periphery)[];

/**
 * Returns the periphery contracts that are missing on the chain. Only intents that call these
 * contracts need them.
 */
export async function missingPeriphery(rpc: ChainRpc): Promise<(keyof typeof periphery)[]> {
  const isThere = await Promise.all(
    peripheryNames.map(async (name) => {
      const { address, codeHash } = periphery[name];
      return keccak256(hexData(await rpc.request("eth_getCode", [address, "latest"]))) === codeHash;
    }),
  );
  return peripheryNames.filter((_, index) => !isThere[index]);
}

async function tokenFault(
  rpc: ChainRpc,
  { symbol, address, decimals }: Chain["tokens"][number],
): Promise<string | undefined> {
  try {
    const call = encodeViewCall(address, "decimals()");
    const found = hexData(await rpc.request("eth_call", [call, "latest"]));
    if (found === numberToHex(decimals, { size: 32 })) return undefined;
    if (found.length !== 66) throw new CallRefused({ code: 3, message: "not a word" });
    return `${symbol} ${address}: expected ${decimals} decimals, found ${BigInt(found)}`;
  } catch (error) {
    if (!(error instanceof CallRefused)) throw error;
    return `${symbol} ${address} does not return decimals(): check that it is an ERC-20 token`;
  }
}
