// The few words of JSON-RPC that reading a status needs. What a node answers is checked before it
// is believed: a wrong shape is an error here, not a zero further up.

import { countBytes, fromQuantity, type Hex, lowerHex } from "../abi/hex.ts";
import { describeValue } from "../errors.ts";
import type { BlockReference } from "./shape.ts";

/**
 * One JSON-RPC call. Resolves with `result`; rejects with {@link RpcError} where the node answered
 * an error, with anything else where it did not answer.
 */
export type Rpc = (method: string, params: readonly unknown[]) => Promise<unknown>;

/**
 * - `rpc_unavailable`: no answer, or an error where there must be an answer
 * - `rpc_inconsistent`: an answer of the wrong shape, or two that cannot both be true
 * - `wrong_chain`: the node serves another chain than the intent names
 * - `block_unknown`: the block asked for is not in the node's chain
 * - `reorganized`: the chain changed under every attempt to read it
 * - `token_unreadable`: the token does not answer `balanceOf`
 * - `evidence_unavailable`: the node does not let its past events be read far enough back
 */
export type StatusErrorCode =
  | "rpc_unavailable"
  | "rpc_inconsistent"
  | "wrong_chain"
  | "block_unknown"
  | "reorganized"
  | "token_unreadable"
  | "evidence_unavailable";

/** The status cannot be told now. None of them says anything about the address. */
export class StatusError extends Error {
  readonly code: StatusErrorCode;

  constructor(code: StatusErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = "StatusError";
    this.code = code;
  }
}

/**
 * The node answered, with an error. `rpcCode` is JSON-RPC's, such as {@link invalidParameters}, or
 * the HTTP status of a gateway that did not let it speak.
 */
export class RpcError extends Error {
  readonly rpcCode: number;

  constructor(rpcCode: number, message: string) {
    super(message);
    this.name = "RpcError";
    this.rpcCode = rpcCode;
  }
}

/** The code for parameters that a node refuses. */
export const invalidParameters = -32602;
/** Nodes' code for a call that ran and reverted. */
export const executionReverted = 3;

type Reply = { ok: boolean; status: number; json(): Promise<unknown> };
type Signal = { readonly aborted: boolean };
type Post = { method: "POST"; headers: Record<string, string>; body: string; signal: Signal };

/** The part of the platform's `fetch` that is used. */
type Fetch = (url: string, init: Post) => Promise<Reply>;

const platform = globalThis as unknown as {
  fetch: Fetch;
  AbortSignal: { timeout(milliseconds: number): Signal };
};

/**
 * JSON-RPC over HTTP POST. A call without an answer after `timeoutMs` (10 s) fails. If the
 * connection breaks off, for example because the node closed a kept one, a read is repeated once
 * and a transaction never.
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
    if (body?.error) throw new RpcError(Number(body.error.code), String(body.error.message));
    if (!reply.ok) throw new RpcError(reply.status, `${method}: HTTP ${reply.status}`);
    if (!body || !("result" in body)) throw new Error(`${method}: neither result nor error`);
    return body.result;
  };
}

type Envelope = { result: unknown; error: { code: unknown; message: unknown } };

/** @throws {StatusError} `rpc_inconsistent` unless it is `0x` hex, of `bytes` bytes if given */
export function parseHex(value: unknown, what: string, bytes?: number): Hex {
  const hex = lowerHex(value);
  if (hex && countBytes(hex) === (bytes ?? countBytes(hex))) return hex;
  throw inconsistent(
    `${what}: expected ${bytes ?? "some"} bytes of hex, found ${describeValue(value)}`,
  );
}

/** @throws {StatusError} `rpc_inconsistent` unless `value` is a quantity such as `0x1b4` */
export function parseQuantity(value: unknown, what: string): bigint {
  const quantity = fromQuantity(value);
  if (quantity !== undefined) return quantity;
  throw inconsistent(`${what}: expected a hex quantity, found ${describeValue(value)}`);
}

/** Like {@link parseQuantity}, for what must fit a number without loss. */
export function parseNumber(value: unknown, what: string): number {
  const count = Number(parseQuantity(value, what));
  if (Number.isSafeInteger(count)) return count;
  throw inconsistent(`${what}: ${count} is past 2^53`);
}

/** The block `by` names in the node's chain, or undefined where it has none such. */
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
