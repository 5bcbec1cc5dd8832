// One JSON-RPC endpoint as the executor sees it: something that may be slow, stale, wrong or gone.

import type { Hex } from "executable-address";

export type RpcCall = { method: string; params: unknown[] };

export type RpcError = { code: number; message: string; data?: unknown };

export type RpcAnswer = { result: unknown } | { error: RpcError };

export type Rpc = {
  /** For logs and metrics; never a URL, which may hold a key. */
  name: string;
  /** One answer per call, in order. Rejects when the endpoint could not be asked. */
  ask(calls: RpcCall[]): Promise<RpcAnswer[]>;
};

/** No endpoint could be asked, or none gave a usable answer. Says nothing about the chain. */
export class RpcUnavailable extends Error {
  override name = "RpcUnavailable";
}

/** The call ran on chain state and reverted, as opposed to not having been run at all. */
export function isRevert(error: RpcError): boolean {
  if (error.code === 3) return true;
  if (typeof error.data === "string" && /^0x([0-9a-f]{2})+$/i.test(error.data)) return true;
  return /revert|out of gas|invalid opcode|stack (under|over)flow/i.test(error.message);
}

/** The endpoint has this very transaction already, so sending it again has succeeded. */
export function isAlreadyKnown(error: RpcError): boolean {
  return /already (known|imported|exists)|known transaction|alreadyknown/i.test(error.message);
}

/** Its nonce is used up on that endpoint's chain: whether by us, settling finds out. */
export function isNonceUsed(error: RpcError): boolean {
  return /nonce too low|nonce is too low|nonce has already been used/i.test(error.message);
}

/** The pool holds another transaction at this nonce that pays about as much. */
export function isUnderpriced(error: RpcError): boolean {
  return /underpriced|fee too low to replace|replacement fee/i.test(error.message);
}

export function resultOf(answer: RpcAnswer | undefined): unknown {
  if (answer && "result" in answer) return answer.result;
  throw new RpcUnavailable(answer ? answer.error.message : "no answer");
}

/** A JSON-RPC quantity. @throws {RpcUnavailable} on anything else */
export function quantity(value: unknown): bigint {
  if (typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value)) return BigInt(value);
  throw new RpcUnavailable(`wanted a quantity, found ${JSON.stringify(value)?.slice(0, 80)}`);
}

/** Hex of any even length, lower case. @throws {RpcUnavailable} on anything else */
export function hexData(value: unknown): Hex {
  if (typeof value === "string" && /^0x([0-9a-f]{2})*$/i.test(value)) {
    return value.toLowerCase() as Hex;
  }
  throw new RpcUnavailable(`wanted hex, found ${JSON.stringify(value)?.slice(0, 80)}`);
}

/** `timestamp` in Unix seconds, fees in wei. */
export type Block = {
  number: number;
  hash: Hex;
  parentHash: Hex;
  timestamp: number;
  baseFee: bigint;
};

/** @throws {RpcUnavailable} when it is not a block, null included */
export function blockOf(value: unknown): Block {
  if (typeof value !== "object" || value === null) throw new RpcUnavailable("no such block");
  const block = value as Record<string, unknown>;
  return {
    number: Number(quantity(block.number)),
    hash: hexData(block.hash),
    parentHash: hexData(block.parentHash),
    timestamp: Number(quantity(block.timestamp)),
    baseFee: block.baseFeePerGas == null ? 0n : quantity(block.baseFeePerGas),
  };
}

export function toQuantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`;
}
