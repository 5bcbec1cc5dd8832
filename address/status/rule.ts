// Derives the status of an address. The only inputs are the intent, the holdings at one block, and
// the events up to that block. The library and the service read these inputs in different ways, but
// both use this rule. An independent implementation of the rule is in
// service/testing/chain/oracle.ts. A test compares the two implementations on random histories.

import { parseAddress } from "../abi/checksum.ts";
import { zeroAddress } from "../abi/token.ts";
import { vaultCodeBytes } from "../deployment.ts";
import type { Hex, Intent } from "../intent/intent.ts";
import type { VaultEvent } from "./factory-events.ts";
import { inconsistent, StatusError } from "./rpc.ts";
import type { AddressState, AddressStatus, BlockReference, Recovery } from "./shape.ts";

/** An address in EIP-55 case, and its intent. */
export type StatusSubject = { readonly address: Hex; readonly intent: Intent };

/** The code size and the balances of an address at one block. */
export type Holding = {
  codeBytes: number;
  /** The native balance in wei; 0 if the token is the native coin itself. */
  native: bigint;
  /**
   * The token balance in base units. Undefined if `balanceOf` reverts or returns fewer than 32
   * bytes.
   */
  balance: bigint | undefined;
};

/** Returns whether the calls can still be executed. */
export const isOpenState = (state: AddressState): boolean =>
  state === "unfunded" || state === "partially_funded" || state === "funded";

/**
 * Returns whether the calls could run now if the address had enough money. On the intent's chain,
 * the result is true exactly if {@link stateOf} returns an open state. Unlike {@link stateOf},
 * `isOpenAt` needs neither the balance nor the size of the code.
 */
export const isOpenAt = (
  intent: Pick<Intent, "chainId" | "expirationTimestamp">,
  chain: { readonly chainId: number; readonly timestamp: number },
  hasCode: boolean,
): boolean =>
  !hasCode && chain.chainId === intent.chainId && chain.timestamp <= intent.expirationTimestamp;

/** The execution and recoveries of an address, as a status reports them. */
export type Past = Pick<AddressStatus, "execution" | "recoveries">;

export const noPast: Past = { execution: null, recoveries: [] };

/**
 * Derives the status of an address at `block`.
 *
 * @param holding the vault's state at `block`
 * @param past all events of the vault up to `block`
 * @throws {StatusError} `rpc_inconsistent` if the code and the events contradict each other
 * @throws {StatusError} `token_unreadable` if the token does not answer `balanceOf`
 */
export function statusOf(
  { address, intent }: StatusSubject,
  block: BlockReference,
  holding: Holding,
  { execution, recoveries }: Past,
): AddressStatus {
  const state = stateOf({ address, intent }, block, holding);
  // The vault's code determines the state. Events that a node omits or invents cannot change the
  // state.
  if ((state === "executed") !== (execution !== null)) {
    const found = execution ? "an Executed event" : "no Executed event";
    throw inconsistent(`${address}: its code shows ${state}, but the node reports ${found}`);
  }
  const balance = holding.balance!;
  const held = [
    { token: intent.token, amount: balance },
    { token: zeroAddress, amount: holding.native },
  ].filter(({ amount }) => amount > 0n && !isOpenState(state));
  return {
    address,
    state,
    chainId: intent.chainId,
    block,
    token: intent.token,
    balance: String(balance),
    amount: intent.amount,
    expirationTimestamp: intent.expirationTimestamp,
    recoverable: held.map(({ token, amount }) => ({ token, amount: String(amount) })),
    execution,
    recoveries: [...recoveries],
  };
}

/**
 * Derives the state from the code, the time, and the balance, without events.
 *
 * @throws {StatusError} `token_unreadable`
 * @throws {StatusError} `rpc_inconsistent` if the code is not a vault's, or the vault is closed
 *   before the expiry
 */
export function stateOf(
  { address, intent }: StatusSubject,
  block: BlockReference,
  { codeBytes, balance }: Holding,
): AddressState {
  if (balance === undefined) {
    throw new StatusError("token_unreadable", `${intent.token} does not answer balanceOf`);
  }
  const isExpired = block.timestamp > intent.expirationTimestamp;
  const { executed, closed } = vaultCodeBytes;
  if (codeBytes === executed) return "executed";
  if (codeBytes === closed) {
    if (!isExpired) {
      throw inconsistent(
        `${address}: the vault is closed, but the block time ${block.timestamp} is not after the ` +
          `expiry ${intent.expirationTimestamp}`,
      );
    }
    return "recovered";
  }
  if (codeBytes > 0) {
    throw inconsistent(`code: expected 0, ${executed}, or ${closed} bytes, found ${codeBytes}`);
  }
  if (isExpired) return "expired";
  if (balance >= BigInt(intent.amount)) return "funded";
  return balance > 0n ? "partially_funded" : "unfunded";
}

/**
 * Adds later events to `past`.
 *
 * @param events of this vault, oldest first
 * @throws {StatusError} `rpc_inconsistent` if an execution is not the first event, or if its token
 *   is not the intent's token
 */
export function addEvents(
  { address, intent }: StatusSubject,
  past: Past,
  events: readonly VaultEvent[],
): Past {
  let { execution } = past;
  const recoveries = [...past.recoveries];
  for (const event of events) {
    if (event.name === "Recovered") {
      recoveries.push(formatRecovery(event));
      continue;
    }
    if (execution || recoveries.length > 0) {
      throw inconsistent(
        `${address}: expected no execution in block ${event.blockNumber}, because the vault was ` +
          "already executed or recovered",
      );
    }
    if (event.token !== intent.token.toLowerCase()) {
      throw inconsistent(
        `${address}: expected an execution with token ${intent.token}, found ${event.token}`,
      );
    }
    const [held, left] = event.values;
    execution = { ...pickReference(event), held: String(held), left: String(left) };
  }
  return { execution, recoveries };
}

const formatRecovery = (event: VaultEvent): Recovery => ({
  ...pickReference(event),
  token: parseAddress(event.token),
  amount: String(event.values[0]),
});

const pickReference = ({ transactionHash, blockNumber, blockHash, logIndex }: VaultEvent) => ({
  transactionHash,
  blockNumber,
  blockHash,
  logIndex,
});
