// The status of addresses as their chain shows it: a pure function of the intent and the chain's
// state at one block. The library has its own (address/status.ts), written apart from this one and
// held against it on random histories in status.test.ts.

import type { Hex, Intent } from "executable-address";
import type {
  AddressState,
  AddressStatus,
  BlockReference,
  TokenAmount,
} from "executable-address/status";
import { zeroAddress } from "viem";
import type { ChainAccess, VaultLog } from "./status-logs.ts";
import { type PastMemory, readPast } from "./status-past.ts";
import { type Holding, probeHoldings } from "./status-probe.ts";
import { StatusUnavailable } from "./status-unavailable.ts";
import { viewAt } from "./status-view.ts";

/** Whose status: an address in EIP-55 case and the intent it was derived from. */
export type Subject = { address: Hex; intent: Intent };

/**
 * The statuses of `subjects`, in their order, all at `block`: 3 calls for up to 150 of them, and
 * the calls that the past of those with code takes. An error stands for one that cannot be told.
 *
 * @throws {StatusUnavailable} when the chain cannot be read or left `block` meanwhile
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
    subjects.map(async (subject, index) => {
      const holding = holdings[index]!;
      try {
        const logs = holding.hasCode ? await readPast(view, memory, subject.address) : [];
        return statusOf(subject, block, holding, logs);
      } catch (error) {
        return error as Error;
      }
    }),
  );
  // Logs are asked for by number, so only a chain that still has this block vouches for them.
  const there = await viewAt(chain, block).blockAt(block.number);
  if (there?.hash !== block.hash) {
    throw new StatusUnavailable(`block ${block.number} ${block.hash} left chain ${chain.chainId}`);
  }
  return statuses;
}

/**
 * @param logs of this vault, all up to `block`, oldest first
 * @throws {StatusUnavailable} when the facts contradict each other
 */
export function statusOf(
  { address, intent }: Subject,
  block: BlockReference,
  { hasCode, native, balance }: Holding,
  logs: VaultLog[],
): AddressStatus {
  if (balance === undefined) {
    throw new StatusUnavailable(`${intent.token} does not answer balanceOf`);
  }
  const [first, ...later] = logs;
  const executed = first?.name === "Executed" ? first : undefined;
  const isExpired = block.timestamp > intent.expirationTimestamp;
  if (later.some((log) => log.name === "Executed")) {
    throw new StatusUnavailable(`${address}: an Executed event that is not its first event`);
  }
  if (executed && executed.token !== intent.token) {
    throw new StatusUnavailable(
      `${address}: wanted token ${intent.token}, found ${executed.token}`,
    );
  }
  if (hasCode && !executed && !isExpired) {
    throw new StatusUnavailable(`${address}: code before its expiry and no Executed event`);
  }
  return {
    address,
    state: hasCode
      ? executed
        ? "executed"
        : "recovered"
      : openState(isExpired, balance, BigInt(intent.amount)),
    chainId: intent.chainId,
    block,
    token: intent.token,
    balance: String(balance),
    amount: intent.amount,
    expirationTimestamp: intent.expirationTimestamp,
    recoverable: hasCode || isExpired ? amounts(intent.token, balance, native) : [],
    execution: executed?.entry ?? null,
    recoveries: logs.flatMap((log) => (log.name === "Recovered" ? [log.entry] : [])),
  };
}

function openState(isExpired: boolean, balance: bigint, amount: bigint): AddressState {
  if (isExpired) return "expired";
  if (balance === 0n) return "unfunded";
  return balance < amount ? "partially_funded" : "funded";
}

function amounts(token: Hex, balance: bigint, native: bigint): TokenAmount[] {
  const held: TokenAmount[] = [];
  if (balance > 0n) held.push({ token, amount: String(balance) });
  if (native > 0n) held.push({ token: zeroAddress, amount: String(native) });
  return held;
}
