// JSON-RPC between this service and a chain's endpoints: calls, answers, and the form that an
// answer must have before it is believed.

import type { Hex } from "executable-address";
import { executionReverted, fromQuantity, lowerHex, toQuantity } from "executable-address/status";

export type Call = { method: string; params: unknown[] };

/** A node's error in place of a result. */
export type CallError = { code: number; message: string; data?: unknown };

export type Answer = { result: unknown } | { error: CallError };

/** The chain cannot be read now: nothing is said of it. The message names no URL. */
export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
  /**
   * A node or gateway answered and refused, or was too slow: a smaller question may be answered.
   */
  readonly isReached: boolean;

  constructor(message: string, options: { isReached?: boolean; cause?: unknown } = {}) {
    super(message, options);
    this.isReached = options.isReached ?? false;
  }
}

/** The calls of this minute are used up; no node was asked. */
export class CallsSpent extends ChainUnavailable {}

/** A node answered a call with an error. */
export class CallRefused extends Error {
  override name = "CallRefused";
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: CallError) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * Whether a node was reached and did not answer the question. Nodes word that in many ways under
 * many codes, and their gateways time out, so every error that was answered counts.
 */
export function isRefusal(error: unknown): error is CallRefused | ChainUnavailable {
  return error instanceof CallRefused || (error instanceof ChainUnavailable && error.isReached);
}

/** The call ran on chain state and reverted, as opposed to not having been run at all. */
export function isRevert(error: CallError): boolean {
  if (error.code === executionReverted) return true;
  if (typeof error.data === "string" && /^0x([0-9a-f]{2})+$/i.test(error.data)) return true;
  return /revert|out of gas|invalid opcode|stack (under|over)flow/i.test(error.message);
}

/**
 * How a call reverted that a node was asked to run; undefined where the node did not say.
 *
 * @throws `error` where it is no refusal
 */
export function revertOf(error: unknown): CallError | undefined {
  if (!isRefusal(error)) throw error;
  if (!(error instanceof CallRefused)) return undefined;
  const { code, message, data } = error;
  return isRevert({ code, message, data }) ? { code, message, data } : undefined;
}

/** The endpoint has this transaction already, so sending it again has succeeded. */
export function isAlreadyKnown(error: CallError): boolean {
  return /already (known|imported|exists)|known transaction|alreadyknown/i.test(error.message);
}

/** The endpoint's chain has used the nonce; settling finds out by which transaction. */
export function isNonceUsed(error: CallError): boolean {
  return /nonce too low|nonce is too low|nonce has already been used/i.test(error.message);
}

/** The pool has another transaction at this nonce that pays about as much. */
export function isUnderpriced(error: CallError): boolean {
  return /underpriced|fee too low to replace|replacement fee/i.test(error.message);
}

/** No block of this chain can ever hold the transaction: it takes more gas than a block has. */
export function isOverBlockGas(error: CallError): boolean {
  const texts =
    /exceeds (the )?(block|transaction|max.*) ?gas|gas limit (is )?too high|exceeds block/i;
  return (
    texts.test(error.message) || /gas limit too high|intrinsic gas too high/i.test(error.message)
  );
}

/** The provider asks for fewer calls a second. What was asked may be asked again, later. */
export function isLimited({ code, message }: CallError): boolean {
  if (code === 429) return true;
  return /too many requests|rate.?limit|(requests?|calls?) per second|throttl/i.test(message);
}

/** A fault of the node's own, which the same call may well not meet again. */
export function isTransient(error: CallError): boolean {
  if (isRevert(error)) return false;
  if (/internal (json-?rpc |server )?error|temporar|try again|overload/i.test(error.message)) {
    return true;
  }
  return error.code === -32603 && error.message.length < 40;
}

/** @throws {ChainUnavailable} where there is no answer, or an error */
export function resultOf(answer: Answer | undefined): unknown {
  if (answer && "result" in answer) return answer.result;
  throw new ChainUnavailable(answer ? answer.error.message : "no answer");
}

/** A JSON-RPC quantity. @throws {ChainUnavailable} on anything else */
export function quantity(value: unknown): bigint {
  const found = fromQuantity(value);
  if (found !== undefined) return found;
  throw unlike("a quantity", value);
}

/** Hex of any even length, lower case. @throws {ChainUnavailable} on anything else */
export function hexData(value: unknown): Hex {
  const found = lowerHex(value);
  if (found) return found;
  throw unlike("hex", value);
}

/** An answer is not what was asked for. */
export const unlike = (wanted: string, value: unknown) =>
  new ChainUnavailable(`wanted ${wanted}, found ${JSON.stringify(value)?.slice(0, 80)}`);

/** `timestamp` in Unix seconds, fees in wei. */
export type Block = {
  number: number;
  hash: Hex;
  parentHash: Hex;
  timestamp: number;
  baseFee: bigint;
  gasLimit: bigint;
};

/** @throws {ChainUnavailable} when it is not a block, null included */
export function blockOf(value: unknown): Block {
  if (typeof value !== "object" || value === null) throw unlike("a block", value);
  const block = value as Record<string, unknown>;
  return {
    number: Number(quantity(block.number)),
    hash: hexData(block.hash),
    parentHash: hexData(block.parentHash),
    timestamp: Number(quantity(block.timestamp)),
    baseFee: block.baseFeePerGas == null ? 0n : quantity(block.baseFeePerGas),
    gasLimit: block.gasLimit == null ? 30_000_000n : quantity(block.gasLimit),
  };
}

/** Parameters of a block by number. */
export function blockCall(number: number | "latest" | "finalized"): Call {
  const tag = typeof number === "string" ? number : toQuantity(number);
  return { method: "eth_getBlockByNumber", params: [tag, false] };
}

/** Any error of a read as the one that readers expect. @throws {ChainUnavailable} always */
export function unread(error: unknown): never {
  if (error instanceof ChainUnavailable) throw error;
  const message = error instanceof Error ? error.message : String(error);
  throw new ChainUnavailable(message, { cause: error });
}
