// Reads the status of an address from a node of its chain. You can compare this status with the
// service's answer. The states are described in spec/service.md, "Status".

import { countBytes, toQuantity } from "../abi/hex.ts";
import { encodeBalanceOf } from "../abi/token.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { readEvents } from "./events.ts";
import { isNativeToken, withoutCoinParams } from "./native-token.ts";
import {
  executionReverted,
  findBlock,
  httpRpc,
  invalidParameters,
  parseHex,
  parseNumber,
  parseQuantity,
  type Rpc,
  RpcError,
  StatusError,
} from "./rpc.ts";
import { addEvents, type Holding, noPast, type Past, statusOf } from "./rule.ts";
import type { AddressStatus, BlockReference } from "./shape.ts";

export type StatusOptions = {
  /** A node of the intent's chain: its URL or a function. */
  rpc: string | Rpc;
  /** The hash of the block at which to read the status. Default: the newest block. */
  blockHash?: Hex;
  /**
   * An earlier status of this record. If its block is still canonical, only later events are
   * requested.
   */
  previous?: AddressStatus;
};

const attemptsMax = 3;

/**
 * Reads the status at one block. Requests name the block by its hash. If the chain reorganizes
 * during the requests, all requests are repeated.
 *
 * @param record from `verifyRecord`; it is not verified again
 * @throws {StatusError} if the status cannot be read
 */
export async function readStatus(
  record: AddressRecord,
  options: StatusOptions,
): Promise<AddressStatus> {
  const rpc = typeof options.rpc === "string" ? httpRpc(options.rpc) : options.rpc;
  try {
    return await readSettled(record, { ...options, rpc });
  } catch (error) {
    if (error instanceof StatusError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new StatusError("rpc_unavailable", message, { cause: error });
  }
}

async function readSettled(record: AddressRecord, options: StatusOptions & { rpc: Rpc }) {
  const { rpc, blockHash, previous } = options;
  const wanted = record.intent.chainId;
  const found = parseNumber(await rpc("eth_chainId", []), "chain id");
  if (found !== wanted) {
    throw new StatusError("wrong_chain", `expected a node of chain ${wanted}, found ${found}`);
  }
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const block = await findBlock(rpc, blockHash ?? "latest");
    if (!block)
      throw new StatusError(
        "block_unknown",
        `expected the block ${blockHash ?? "latest"} from the node, found none`,
      );
    const reading = await readAt(record, { rpc, block, previous }).catch((error) => ({ error }));
    // Logs are requested by block number. The logs are valid only if the chain still contains
    // `block`.
    if (await isCanonical(rpc, block)) {
      if ("error" in reading) throw reading.error;
      return reading;
    }
    if (blockHash)
      throw new StatusError("block_unknown", `the block ${blockHash} is not in the chain`);
  }
  throw new StatusError("reorganized", `the chain reorganized during ${attemptsMax} attempts`);
}

type At = { rpc: Rpc; block: BlockReference; previous: AddressStatus | undefined };

async function readAt(record: AddressRecord, at: At): Promise<AddressStatus> {
  const holding = await readHolding(record, at);
  const past = holding.codeBytes === 0 ? noPast : await readPast(record, at);
  return statusOf(record, at.block, holding, past);
}

async function readHolding(
  { address, intent }: AddressRecord,
  { rpc, block }: At,
): Promise<Holding> {
  const byHash = { blockHash: block.hash, requireCanonical: true };
  let at: unknown = byHash;
  const code = await rpc("eth_getCode", [address, byHash]).catch((error: unknown) => {
    // If the node does not support EIP-1898, it rejects a block hash as a parameter. For such a
    // node, the requests use the block's number, and `isCanonical` detects a reorganization later.
    if (!(error instanceof RpcError) || error.rpcCode !== invalidParameters) throw error;
    at = toQuantity(block.number);
    return rpc("eth_getCode", [address, at]);
  });
  const call = { to: intent.token, data: encodeBalanceOf(address) };
  const [native, balance] = await Promise.all([
    rpc("eth_getBalance", [address, at]),
    rpc("eth_call", [call, at]).catch((error: unknown) => {
      if (error instanceof RpcError && error.rpcCode === executionReverted) return "0x";
      throw error;
    }),
  ]);
  const word = parseHex(balance, "balanceOf").slice(0, 66);
  const held = word.length < 66 ? undefined : parseQuantity(word, "balanceOf");
  const wei = parseQuantity(native, "native balance");
  const isSame = wei > 0n && held !== undefined && held > 0n && (await isOneBalance(held));
  return {
    codeBytes: countBytes(parseHex(code, "code")),
    native: isSame ? 0n : wei,
    balance: held,
  };

  /**
   * Returns whether the token balance and the native balance are the same money. The status must
   * list the same money only once. Returns false if the node does not support state overrides. The
   * status then lists the native balance separately, even if it is the same money.
   */
  async function isOneBalance(balance: bigint) {
    const params = withoutCoinParams(intent.token, address, at);
    const without = await rpc("eth_call", params).catch((error: unknown) => {
      if (error instanceof RpcError) return undefined;
      throw error;
    });
    return isNativeToken(balance, without);
  }
}

async function readPast(record: AddressRecord, { rpc, block, previous }: At): Promise<Past> {
  const known = await reusePrevious(record, rpc, block, previous);
  const from = known ? known.block.number + 1 : 0;
  const search = { factory: record.factory, vault: record.address, from, to: block.number };
  const events = from > block.number ? [] : await readEvents(rpc, search);
  return addEvents(record, known ?? noPast, events);
}

/** Returns the earlier status if it is about this address and its block is still canonical. */
async function reusePrevious(
  record: AddressRecord,
  rpc: Rpc,
  block: BlockReference,
  previous: AddressStatus | undefined,
) {
  if (!previous || previous.address !== record.address) return undefined;
  if (previous.block.number > block.number) return undefined;
  return (await isCanonical(rpc, previous.block)) ? previous : undefined;
}

async function isCanonical(rpc: Rpc, { number, hash }: BlockReference) {
  return (await findBlock(rpc, toQuantity(number)))?.hash === hash;
}
