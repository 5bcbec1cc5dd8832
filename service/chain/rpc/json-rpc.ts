// JSON-RPC between this service and the endpoints of chains. Answers are validated before they are
// used.

import type { Hex } from "executable-address";
import { executionReverted, fromQuantity, lowerHex, toQuantity } from "executable-address/status";

export type Call = { method: string; params: unknown[] };

export type CallError = { code: number; message: string; data?: unknown };

export type Answer = { result: unknown } | { error: CallError };

/** The chain cannot be read now. The message contains no URL. */
export class ChainUnavailable extends Error {
  override name = "ChainUnavailable";
  /**
   * Whether a node or gateway refused the call or was too slow. If so, a smaller call may succeed.
   */
  readonly isReached: boolean;

  constructor(message: string, options: { isReached?: boolean; cause?: unknown } = {}) {
    super(message, options);
    this.isReached = options.isReached ?? false;
  }
}

/**
 * No node was called, because all clients together have used up a limit of this service. The
 * message is the limit, such as "expected at most 120 reports", and is shown to the client.
 */
export class CallsSpent extends ChainUnavailable {
  override name = "CallsSpent";
  /** The time until the next call is admitted. */
  readonly retryMs: number;

  constructor(limit: string, retryMs: number) {
    super(limit);
    this.retryMs = retryMs;
  }
}

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
 * Returns whether the error means that a node or gateway was reached but returned no result. The
 * error's code and text do not matter, because they differ between nodes. For example, a gateway
 * returns a JSON-RPC error if its node times out.
 */
export function isRefusal(error: unknown): error is CallRefused | ChainUnavailable {
  return error instanceof CallRefused || (error instanceof ChainUnavailable && error.isReached);
}

/**
 * OpenEthereum and Nethermind report a revert with this error code, which EIP-1474 does not define.
 */
const executionError = -32015;

/**
 * Returns whether the call ran and reverted. Checks the error's code and data first. The text is
 * less reliable, because it can contain a revert reason that the contract chose.
 */
export function isRevert({ code, message, data }: CallError): boolean {
  if (code === executionReverted || code === executionError || isRevertData(data)) return true;
  return /revert|VM execution error|out of gas|invalid opcode|stack (under|over)flow/i.test(
    message,
  );
}

/** Nethermind writes "Reverted" before the data, and Hardhat returns the data in an object. */
function isRevertData(data: unknown): boolean {
  if (typeof data === "string") return /^(reverted )?0x([0-9a-f]{2})+$/i.test(data.trim());
  if (typeof data !== "object" || data === null) return false;
  return "data" in data && isRevertData(data.data);
}

/**
 * Returns the error if the call reverted, or undefined if the node refused the call.
 *
 * @throws `error` if the node did not answer
 */
export function revertOf(error: unknown): CallError | undefined {
  if (!isRefusal(error)) throw error;
  if (!(error instanceof CallRefused)) return undefined;
  const { code, message, data } = error;
  return isRevert({ code, message, data }) ? { code, message, data } : undefined;
}

/**
 * Returns the result of a call of `method`.
 * @throws {ChainUnavailable} if the answer is missing or an error; the error names the method
 */
export function resultOf(answer: Answer | undefined, method: string): unknown {
  if (answer && "result" in answer) return answer.result;
  throw new ChainUnavailable(`${method}: ${answer ? answer.error.message : "no answer"}`);
}

/**
 * Parses a "quantity", which is a hexadecimal number in JSON-RPC. The error's message starts with
 * `place`.
 * @throws {ChainUnavailable} if `value` is not a quantity
 */
export function quantity(value: unknown, place?: string): bigint {
  const found = fromQuantity(value);
  if (found !== undefined) return found;
  throw unlike("a quantity", value, place);
}

/**
 * Parses hex with an even number of digits, and returns it in lowercase. The error's message starts
 * with `place`.
 *
 * @throws {ChainUnavailable} if `value` is not hex with an even number of digits
 */
export function hexData(value: unknown, place?: string): Hex {
  const found = lowerHex(value);
  if (found) return found;
  throw unlike("hex", value, place);
}

/** Returns an error that says what was expected instead of `value`. */
export const unlike = (wanted: string, value: unknown, place?: string) =>
  new ChainUnavailable(
    `${place ? `${place}: ` : ""}expected ${wanted}, found ${JSON.stringify(value)?.slice(0, 80)}`,
  );

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
    number: Number(quantity(block.number, "block.number")),
    hash: hexData(block.hash, "block.hash"),
    parentHash: hexData(block.parentHash, "block.parentHash"),
    timestamp: Number(quantity(block.timestamp, "block.timestamp")),
    baseFee:
      block.baseFeePerGas == null ? 0n : quantity(block.baseFeePerGas, "block.baseFeePerGas"),
    gasLimit: block.gasLimit == null ? 30_000_000n : quantity(block.gasLimit, "block.gasLimit"),
  };
}

/**
 * Reads the answer to {@link blockCall}.
 * @throws {ChainUnavailable} if the answer is not a block
 */
export const parseBlock = (answer: Answer | undefined): Block =>
  blockOf(resultOf(answer, "eth_getBlockByNumber"));

export function blockCall(number: number | "latest" | "finalized"): Call {
  const tag = typeof number === "string" ? number : toQuantity(number);
  return { method: "eth_getBlockByNumber", params: [tag, false] };
}

/**
 * Converts any error of a read to a ChainUnavailable error, which callers expect.
 * @throws {ChainUnavailable} always
 */
export function unread(error: unknown): never {
  if (error instanceof ChainUnavailable) throw error;
  const message = error instanceof Error ? error.message : String(error);
  throw new ChainUnavailable(message, { cause: error });
}

/** A log from eth_getLogs or from a receipt. All hex is lowercase. */
export type Log = { address: Hex; topics: Hex[]; data: Hex };

/** @throws {ChainUnavailable} if `value` is not a log */
export function parseLog(value: Record<string, unknown>): Log {
  const topics = Array.isArray(value.topics) ? value.topics : [];
  return {
    address: hexData(value.address, "log.address"),
    topics: topics.map((topic) => hexData(topic, "log.topics")),
    data: hexData(value.data, "log.data"),
  };
}
