// The JSON-RPC calls that are needed to read a status. These functions check every response, so a
// malformed response causes an error.

import { countBytes, fromQuantity, type Hex, lowerHex } from "../abi/hex.ts";
import { describeValue } from "../errors.ts";
import type { BlockReference } from "./shape.ts";

/**
 * Sends one JSON-RPC call. Resolves with `result`. Rejects with an {@link RpcError} if the node
 * returned an error. If the node did not respond, rejects with another error.
 */
export type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

/**
 * - `rpc_unavailable`: no response, or an unexpected error from the node.
 * - `rpc_inconsistent`: a malformed response, or responses that contradict each other.
 * - `wrong_chain`: the node does not serve the intent's chain.
 * - `block_unknown`: the node's chain does not contain the requested block.
 * - `reorganized`: the chain reorganized during every attempt.
 * - `token_unreadable`: the token does not answer `balanceOf`.
 * - `evidence_unavailable`: the node does not return all necessary events.
 */
export type StatusErrorCode =
  | "rpc_unavailable"
  | "rpc_inconsistent"
  | "wrong_chain"
  | "block_unknown"
  | "reorganized"
  | "token_unreadable"
  | "evidence_unavailable";

/** The status cannot be read now. The error describes the node, and never the address. */
export class StatusError extends Error {
  readonly code: StatusErrorCode;

  constructor(code: StatusErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = "StatusError";
    this.code = code;
  }
}

/**
 * The node returned an error. `rpcCode` is a JSON-RPC code, such as {@link invalidParameters}, or a
 * gateway's HTTP status.
 */
export class RpcError extends Error {
  readonly rpcCode: number;

  constructor(rpcCode: number, message: string) {
    super(message);
    this.name = "RpcError";
    this.rpcCode = rpcCode;
  }
}

/** JSON-RPC's code for invalid parameters. */
export const invalidParameters = -32602;
/** The code that nodes return for a call that reverted. */
export const executionReverted = 3;

type Reply = { ok: boolean; status: number; json(): Promise<unknown> };
type Signal = { readonly aborted: boolean };
type Post = { method: "POST"; headers: Record<string, string>; body: string; signal: Signal };

/** The part of the platform's `fetch` that the library uses. */
type Fetch = (url: string, init: Post) => Promise<Reply>;

const platform = globalThis as unknown as {
  fetch: Fetch;
  AbortSignal: { timeout(milliseconds: number): Signal };
};

/**
 * Returns a function that sends JSON-RPC requests by HTTP POST. A call fails if there is no
 * response within `timeoutMs` (10 s). If the connection fails, for example because it was idle, a
 * read is retried once. Transactions are not retried.
 */
export function httpRpc(url: string, options: { fetch?: Fetch; timeoutMs?: number } = {}): Rpc {
  const fetch = options.fetch ?? ((to, init) => platform.fetch(to, init));
  return async (method, params) => {
    const signal = platform.AbortSignal.timeout(options.timeoutMs ?? 10_000);
    const post = () =>
      fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
        signal,
      });
    const reply = await post().catch((error: unknown) => {
      if (/send/i.test(method) || signal.aborted) throw error;
      return post();
    });
    const body = (await reply.json().catch(() => undefined)) as Partial<Envelope> | undefined;
    if (body?.error) {
      const { code, message } = body.error;
      throw new RpcError(Number(code), String(message).slice(0, messageLengthMax));
    }
    if (!reply.ok) throw new RpcError(reply.status, `${method}: HTTP ${reply.status}`);
    if (!body || !("result" in body))
      throw new Error(`${method}: expected a result or an error, found neither`);
    return body.result;
  };
}

/** The maximum length of a node's message in an error, in characters. */
const messageLengthMax = 1_000;

type Envelope = { result: unknown; error: { code: unknown; message: unknown } };

/**
 * Parses hex. If `bytes` is given, the hex must have exactly that number of bytes.
 * @throws {StatusError} `rpc_inconsistent`
 */
export function parseHex(value: unknown, what: string, bytes?: number): Hex {
  const hex = lowerHex(value);
  if (hex && countBytes(hex) === (bytes ?? countBytes(hex))) return hex;
  throw inconsistent(
    `${what}: expected ${bytes ?? "some"} bytes of hex, found ${describeValue(value)}`,
  );
}

/**
 * Parses a quantity such as `0x1b4`.
 * @throws {StatusError} `rpc_inconsistent`
 */
export function parseQuantity(value: unknown, what: string): bigint {
  const quantity = fromQuantity(value);
  if (quantity !== undefined) return quantity;
  throw inconsistent(`${what}: expected a hex quantity, found ${describeValue(value)}`);
}

/**
 * Parses a quantity below 2^53.
 * @throws {StatusError} `rpc_inconsistent`
 */
export function parseNumber(value: unknown, what: string): number {
  const count = Number(parseQuantity(value, what));
  if (Number.isSafeInteger(count)) return count;
  throw inconsistent(`${what}: expected at most 2^53 - 1, found ${count}`);
}

/** Reads a block by its hash or name. Returns undefined if the node does not have the block. */
export async function findBlock(
  rpc: Rpc,
  by: Hex | "latest" | "finalized",
): Promise<BlockReference | undefined> {
  const isHash = by.length === 66;
  const method = isHash ? "eth_getBlockByHash" : "eth_getBlockByNumber";
  const block = (await rpc(method, [by, false])) as Record<string, unknown> | null;
  if (block === null || block === undefined) return undefined;
  return {
    number: parseNumber(block.number, "block number"),
    hash: parseHex(block.hash, "block hash", 32),
    timestamp: parseNumber(block.timestamp, "block timestamp"),
  };
}

export const inconsistent = (message: string) => new StatusError("rpc_inconsistent", message);
