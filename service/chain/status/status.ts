// The status of addresses as their chain shows it: a pure function of the intent and the chain's
// state at one block. The library has its own (address/status/status.ts), written apart from this
// one and held against it on random histories in status.test.ts.

import type { Hex, Intent } from "executable-address";
import type {
  AddressState,
  AddressStatus,
  BlockReference,
  Execution,
  TokenAmount,
} from "executable-address/status";
import { vaultCodeBytes } from "executable-address-contracts";
import { zeroAddress } from "viem";
import { ChainUnavailable } from "../rpc/json-rpc.ts";
import type { ChainAccess, VaultLog } from "./logs.ts";
import { type PastMemory, readPast } from "./past.ts";
import { type Holding, probeHoldings } from "./probe.ts";
import { type ChainView, viewAt } from "./view.ts";

/** Whose status: an address in EIP-55 case and the intent it was derived from. */
export type Subject = { address: Hex; intent: Intent };

/**
 * The statuses of `subjects`, in their order, all at `block`: 3 calls for up to 150 of them, and
 * the calls that the past of those with code takes. An error stands for one that cannot be told.
 *
 * @throws {ChainUnavailable} when the chain cannot be read or left `block` meanwhile
 */
export async function readStatuses(
  chain: ChainAccess,
  memory: PastMemory,
  block: BlockReference,
  subjects: Subject[],
): Promise<(AddressStatus | Error)[]> {
  const probes = subjects.map(({ address, intent }) => ({ vault: address, token: intent.token }));
  const holdings = await probeHoldings(chain, block, probes);
  const view = viewAt(chain, block);
  const statuses = await Promise.all(
    subjects.map((subject, index) =>
      readOne(view, memory, subject, holdings[index]!).catch((error: Error) => error),
    ),
  );
  // Logs are asked for by number, so only a chain that still has this block vouches for them.
  const there = await viewAt(chain, block).blockAt(block.number);
  if (there?.hash !== block.hash) {
    throw new ChainUnavailable(`block ${block.number} ${block.hash} left chain ${chain.chainId}`);
  }
  return statuses;
}

async function readOne(view: ChainView, memory: PastMemory, subject: Subject, holding: Holding) {
  const logs = holding.codeBytes > 0 ? await readPast(view, memory, subject.address) : [];
  try {
    return statusOf(subject, view.block, holding, logs);
  } catch (error) {
    // A past that the code contradicts was not all of it: the next read must not build on it.
    memory.known.delete(subject.address);
    throw error;
  }
}

/**
 * The state follows from the code at the address; logs add the evidence, and may not contradict it.
 *
 * @param logs of this vault, all up to `block`, oldest first
 * @throws {ChainUnavailable} when the facts contradict each other
 */
export function statusOf(
  { address, intent }: Subject,
  block: BlockReference,
  { codeBytes, native, balance }: Holding,
  logs: VaultLog[],
): AddressStatus {
  if (balance === undefined) {
    throw new ChainUnavailable(`${intent.token} does not answer balanceOf`);
  }
  const isExpired = block.timestamp > intent.expirationTimestamp;
  const state = stateOf(codeBytes, isExpired, balance, BigInt(intent.amount));
  if (state === "recovered" && !isExpired) {
    throw new ChainUnavailable(`${address}: closed before its expiry`);
  }
  const execution = executionOf({ address, intent }, logs);
  if ((state === "executed") !== (execution !== null)) {
    const found = execution ? "an Executed event" : "no Executed event";
    throw new ChainUnavailable(`${address}: ${state} by its code, and there is ${found}`);
  }
  return {
    address,
    state,
    chainId: intent.chainId,
    block,
    token: intent.token,
    balance: String(balance),
    amount: intent.amount,
    expirationTimestamp: intent.expirationTimestamp,
    recoverable: codeBytes > 0 || isExpired ? amounts(intent.token, balance, native) : [],
    execution,
    recoveries: logs.flatMap((log) => (log.name === "Recovered" ? [log.entry] : [])),
  };
}

/** From code, clock and money alone: a node that lost or made up logs has no say in it. */
export function stateOf(
  codeBytes: number,
  isExpired: boolean,
  balance: bigint,
  amount: bigint,
): AddressState {
  if (codeBytes === vaultCodeBytes.executed) return "executed";
  if (codeBytes === vaultCodeBytes.closed) return "recovered";
  if (codeBytes > 0) throw new ChainUnavailable(`${codeBytes} bytes of code are no vault's`);
  if (isExpired) return "expired";
  if (balance === 0n) return "unfunded";
  return balance < amount ? "partially_funded" : "funded";
}

function executionOf({ address, intent }: Subject, logs: VaultLog[]): Execution | null {
  const [first, ...later] = logs;
  if (later.some((log) => log.name === "Executed")) {
    throw new ChainUnavailable(`${address}: an Executed event that is not its first event`);
  }
  if (first?.name !== "Executed") return null;
  if (first.token !== intent.token) {
    throw new ChainUnavailable(`${address}: wanted token ${intent.token}, found ${first.token}`);
  }
  return first.entry;
}

function amounts(token: Hex, balance: bigint, native: bigint): TokenAmount[] {
  const held: TokenAmount[] = [];
  if (balance > 0n) held.push({ token, amount: String(balance) });
  if (native > 0n) held.push({ token: zeroAddress, amount: String(native) });
  return held;
}
