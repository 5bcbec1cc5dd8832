// The status of an address, from nothing but a node of its chain: no service is asked, so it can be
// held against what a service says. spec/service.md, "Status", has the states.

import { parseAddress } from "../abi/checksum.ts";
import { hexBytes } from "../abi/hex.ts";
import { vaultCodeBytes } from "../deployment.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { findEvents, type VaultEvent } from "./events.ts";
import {
  countOf,
  findBlock,
  hexOf,
  httpRpc,
  inconsistent,
  quantityOf,
  type Rpc,
  RpcError,
  StatusError,
  toQuantity,
} from "./rpc.ts";
import type { AddressState, AddressStatus, BlockReference, Recovery } from "./shape.ts";

export { httpRpc, type Rpc, RpcError, StatusError, type StatusErrorCode } from "./rpc.ts";
export type * from "./shape.ts";

export type StatusOptions = {
  /** A node of the intent's chain: its URL, or how to call it. */
  rpc: string | Rpc;
  /** Reads at this block and no other, for holding somebody's answer against the chain. */
  blockHash?: Hex;
  /** An earlier answer about this record: the past it holds is not asked for again. */
  previous?: AddressStatus;
};

const attemptsMax = 3;
const zeroAddress: Hex = "0x0000000000000000000000000000000000000000";

/**
 * Reads everything at one block, by its hash, and reads again when the chain changed meanwhile.
 *
 * @param record as `verifyRecord` answered it: nothing about it is checked again here
 * @throws {StatusError} when it cannot be told; nothing is ever guessed
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
  const found = countOf(await rpc("eth_chainId", []), "chain id");
  if (found !== wanted) {
    throw new StatusError("wrong_chain", `wanted a node of chain ${wanted}, found ${found}`);
  }
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const block = await findBlock(rpc, blockHash ?? "latest");
    if (!block) throw new StatusError("block_unknown", `no block ${blockHash ?? "latest"}`);
    const reading = await readAt(record, { rpc, block, previous }).catch((error) => ({ error }));
    // Logs are asked for by number, so only a chain that still has this block vouches for them.
    if (await isCanonical(rpc, block)) {
      if ("error" in reading) throw reading.error;
      return reading;
    }
    if (blockHash) throw new StatusError("block_unknown", `${blockHash} is not in the chain`);
  }
  throw new StatusError("reorganized", `the chain changed under ${attemptsMax} readings`);
}

type At = { rpc: Rpc; block: BlockReference; previous: AddressStatus | undefined };

async function readAt(record: AddressRecord, at: At): Promise<AddressStatus> {
  const { address, intent } = record;
  const { code, native, balance } = await readHoldings(record, at);
  const past = code === "none" ? { execution: null, recoveries: [] } : await readPast(record, at);
  const isExpired = at.block.timestamp > intent.expirationTimestamp;
  const isOpen = code === "none" && !isExpired;
  if (code === "closed" && !isExpired) throw inconsistent(`${address} closed before it expired`);
  // Events are but the evidence: a node that lost or made up some cannot change the state.
  if ((code === "executed") !== (past.execution !== null)) {
    const found = past.execution ? "an Executed event" : "no Executed event";
    throw inconsistent(`${address}: its code says ${code}, and there is ${found}`);
  }
  const held = [
    { token: intent.token, amount: balance },
    { token: zeroAddress, amount: native },
  ].filter(({ amount }) => amount > 0n && !isOpen);
  return {
    address,
    state: stateOf(code, isExpired, balance, BigInt(intent.amount)),
    chainId: intent.chainId,
    block: at.block,
    token: intent.token,
    balance: String(balance),
    amount: intent.amount,
    expirationTimestamp: intent.expirationTimestamp,
    recoverable: held.map(({ token, amount }) => ({ token, amount: String(amount) })),
    ...past,
  };
}

/** What stands at the address: nothing yet, or what the factory left of it. */
type Code = "none" | "executed" | "closed";

function stateOf(code: Code, isExpired: boolean, balance: bigint, amount: bigint): AddressState {
  if (code !== "none") return code === "executed" ? "executed" : "recovered";
  if (isExpired) return "expired";
  if (balance >= amount) return "funded";
  return balance > 0n ? "partially_funded" : "unfunded";
}

function codeOf(answer: unknown): Code {
  const bytes = hexBytes(hexOf(answer, "code"));
  if (bytes === 0) return "none";
  if (bytes === vaultCodeBytes.executed) return "executed";
  if (bytes === vaultCodeBytes.closed) return "closed";
  const { executed, closed } = vaultCodeBytes;
  throw inconsistent(`code: wanted none, ${executed} or ${closed} bytes, found ${bytes}`);
}

async function readHoldings({ address, intent }: AddressRecord, { rpc, block }: At) {
  const byHash = { blockHash: block.hash, requireCanonical: true };
  let at: unknown = byHash;
  const code = await rpc("eth_getCode", [address, byHash]).catch((error: unknown) => {
    // A node without EIP-1898 refuses the object; by number, isCanonical is what tells a reorg.
    if (!(error instanceof RpcError) || error.rpcCode !== invalidParameters) throw error;
    at = toQuantity(block.number);
    return rpc("eth_getCode", [address, at]);
  });
  const call = { to: intent.token, data: `0x70a08231${address.slice(2).padStart(64, "0")}` };
  const [native, balance] = await Promise.all([
    rpc("eth_getBalance", [address, at]),
    rpc("eth_call", [call, at]).catch((error: unknown) => {
      if (error instanceof RpcError && error.rpcCode === executionReverted) return "0x";
      throw error;
    }),
  ]);
  const word = hexOf(balance, "balanceOf").slice(0, 66);
  if (word.length < 66) {
    throw new StatusError("token_unreadable", `${intent.token} answers balanceOf with ${word}`);
  }
  return {
    code: codeOf(code),
    native: quantityOf(native, "native balance"),
    balance: quantityOf(word, "balanceOf"),
  };
}

const invalidParameters = -32602;
const executionReverted = 3;

type Past = Pick<AddressStatus, "execution" | "recoveries">;

async function readPast(record: AddressRecord, { rpc, block, previous }: At): Promise<Past> {
  const known = await stillTrue(record, rpc, block, previous);
  const from = known ? known.block.number + 1 : 0;
  const search = { factory: record.factory, vault: record.address, from, to: block.number };
  const events = from > block.number ? [] : await findEvents(rpc, search);
  const execution = known?.execution ?? null;
  const recoveries = known?.recoveries ?? [];
  const past: Past = { execution, recoveries: [...recoveries] };
  for (const event of events) {
    if (event.name === "Recovered") past.recoveries.push(toRecovery(event));
    else if (past.execution || past.recoveries.length > 0) {
      throw inconsistent(`${record.address} executed in block ${event.blockNumber}, but not first`);
    } else past.execution = toExecution(event, record);
  }
  return past;
}

/** The earlier answer, if it is about this address and a block still below the one now read. */
async function stillTrue(
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

const placeOf = ({ transactionHash, blockNumber, blockHash, logIndex }: VaultEvent) => ({
  transactionHash,
  blockNumber,
  blockHash,
  logIndex,
});

function toExecution(event: VaultEvent, { address, intent }: AddressRecord) {
  if (event.token !== intent.token.toLowerCase()) {
    throw inconsistent(`${address} executed with token ${event.token}, not ${intent.token}`);
  }
  return { ...placeOf(event), held: String(event.values[0]), left: String(event.values[1]) };
}

function toRecovery(event: VaultEvent): Recovery {
  return { ...placeOf(event), token: parseAddress(event.token), amount: String(event.values[0]) };
}
