// JSON-RPC between this service and a chain's endpoints: types of calls and answers, and functions
// that validate an answer before it is used.

import type { Hex } from "executable-address";
import { executionReverted, fromQuantity, lowerHex, toQuantity } from "executable-address/status";

export type Call = { method: string; params: unknown[] };

/** The error that a node returned instead of a result. */
export type CallError = { code: number; message: string; data?: unknown };

export type Answer = { result: unknown } | { error: CallError };

/** The chain cannot be read now, so its state is unknown. The message contains no URL. */
export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
  /** A node or gateway refused the call or was too slow. A smaller call may succeed. */
  readonly isReached: boolean;

  constructor(message: string, options: { isReached?: boolean; cause?: unknown } = {}) {
    super(message, options);
    this.isReached = options.isReached ?? false;
  }
}

/** The limit of calls for this minute is reached. No node was called. */
export class CallsSpent extends ChainUnavailable {}

/** A node returned an error for a call. */
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
 * Returns whether a node was reached but did not answer the call. Nodes use many codes and texts
 * for a refusal, and gateways return timeouts, so every error in a response counts as a refusal.
 */
export function isRefusal(error: unknown): error is CallRefused | ChainUnavailable {
  return error instanceof CallRefused || (error instanceof ChainUnavailable && error.isReached);
}

/**
 * The error code with which OpenEthereum and Nethermind report a revert. EIP-1474 defines no such
 * code.
 */
const executionError = -32015;

/**
 * Returns whether the node ran the call and the call reverted. The error's code and data have
 * priority over its text, because a contract chooses the text of its revert reason.
 */
export function isRevert({ code, message, data }: CallError): boolean {
  if (code === executionReverted || code === executionError || isRevertData(data)) return true;
  return /revert|VM execution error|out of gas|invalid opcode|stack (under|over)flow/i.test(
    message,
  );
}

/** Accepts plain data, data after "Reverted" (Nethermind), and data in an object (Hardhat). */
function isRevertData(data: unknown): boolean {
  if (typeof data === "string") return /^(reverted )?0x([0-9a-f]{2})+$/i.test(data.trim());
  if (typeof data !== "object" || data === null) return false;
  return "data" in data && isRevertData(data.data);
}

/**
 * Returns the error if a node ran the call and the call reverted; undefined for other refusals.
 *
 * @throws `error` if the node did not answer
 */
export function revertOf(error: unknown): CallError | undefined {
  if (!isRefusal(error)) throw error;
  if (!(error instanceof CallRefused)) return undefined;
  const { code, message, data } = error;
  return isRevert({ code, message, data }) ? { code, message, data } : undefined;
}

/** @throws {ChainUnavailable} if there is no answer, or an error */
export function resultOf(answer: Answer | undefined): unknown {
  if (answer && "result" in answer) return answer.result;
  throw new ChainUnavailable(answer ? answer.error.message : "no answer");
}

/**
 * Parses a JSON-RPC quantity.
 * @throws {ChainUnavailable} for any other value
 */
export function quantity(value: unknown): bigint {
  const found = fromQuantity(value);
  if (found !== undefined) return found;
  throw unlike("a quantity", value);
}

/**
 * Parses hex with an even number of digits, and returns it in lowercase.
 *
 * @throws {ChainUnavailable} for any other value
 */
export function hexData(value: unknown): Hex {
  const found = lowerHex(value);
  if (found) return found;
  throw unlike("hex", value);
}

/** Returns the error to throw if an answer does not have the wanted form. */
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

/** @throws {ChainUnavailable} if `value` is not a block, for example null */
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

/** Returns the call that requests a block by its number or tag. */
export function blockCall(number: number | "latest" | "finalized"): Call {
  const tag = typeof number === "string" ? number : toQuantity(number);
  return { method: "eth_getBlockByNumber", params: [tag, false] };
}

/**
 * Rethrows any error of a read as a ChainUnavailable error, which callers expect.
 * @throws {ChainUnavailable} always
 */
export function unread(error: unknown): never {
  if (error instanceof ChainUnavailable) throw error;
  const message = error instanceof Error ? error.message : String(error);
  throw new ChainUnavailable(message, { cause: error });
}

/** A log of eth_getLogs or of a receipt. All hex is lowercase. */
export type Log = { address: Hex; topics: Hex[]; data: Hex };

/** @throws {ChainUnavailable} if `value` is not a log */
export function parseLog(value: Record<string, unknown>): Log {
  const topics = Array.isArray(value.topics) ? value.topics.map(hexData) : [];
  return { address: hexData(value.address), topics, data: hexData(value.data) };
}
