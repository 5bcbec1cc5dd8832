// The rule that tells the status of an address: a pure function of its intent, of what it holds
// at one block and of the factory's events up to there. The library and the service read these
// facts in their own ways and both ask this; service/testing/chain/oracle.ts is a second
// rule, written apart, that random histories hold it to.

import { parseAddress } from "../abi/checksum.ts";
import { zeroAddress } from "../abi/token.ts";
import { vaultCodeBytes } from "../deployment.ts";
import type { Hex, Intent } from "../intent/intent.ts";
import { inconsistent, StatusError } from "./rpc.ts";
import {
  type AddressState,
  type AddressStatus,
  type BlockReference,
  isOpenState,
  type Recovery,
} from "./shape.ts";
import type { VaultEvent } from "./vault-events.ts";

/** Whose status: an address in EIP-55 case and the intent it was derived from. */
export type StatusSubject = { readonly address: Hex; readonly intent: Intent };

/** The holdings of an address at one block: bytes of code, wei, base units of its token. */
export type Holding = {
  codeBytes: number;
  /** Besides the token's balance: 0 where the token is the native coin itself. */
  native: bigint;
  /** Undefined where the token does not answer `balanceOf` with a word. */
  balance: bigint | undefined;
};

/** The past of an address, as a status tells it. */
export type Past = Pick<AddressStatus, "execution" | "recoveries">;

export const noPast: Past = { execution: null, recoveries: [] };

/**
 * @param holding at `block`
 * @param past all of it up to `block`
 * @throws {StatusError} `rpc_inconsistent` when the facts contradict each other, `token_unreadable`
 */
export function statusOf(
  { address, intent }: StatusSubject,
  block: BlockReference,
  holding: Holding,
  { execution, recoveries }: Past,
): AddressStatus {
  const state = stateOf({ address, intent }, block, holding);
  // Events are but the evidence: a node that lost or made up some cannot change the state.
  if ((state === "executed") !== (execution !== null)) {
    const found = execution ? "an Executed event" : "no Executed event";
    throw inconsistent(`${address}: ${state} by its code, and there is ${found}`);
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
 * The state alone, by code, clock and money. No event has a say in it.
 *
 * @throws {StatusError} `token_unreadable`; `rpc_inconsistent` on code that the factory never
 *   leaves, or leaves only after the expiry
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
    if (!isExpired) throw inconsistent(`${address}: closed before its expiry`);
    return "recovered";
  }
  if (codeBytes > 0) {
    throw inconsistent(`code: wanted none, ${executed} or ${closed} bytes, found ${codeBytes}`);
  }
  if (isExpired) return "expired";
  if (balance >= BigInt(intent.amount)) return "funded";
  return balance > 0n ? "partially_funded" : "unfunded";
}

/**
 * `past` and the events since.
 *
 * @param events of this vault, oldest first
 * @throws {StatusError} `rpc_inconsistent` where an execution is not the vault's first event or ran
 *   with another token
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
      recoveries.push(toRecovery(event));
      continue;
    }
    if (execution || recoveries.length > 0) {
      throw inconsistent(`${address} executed in block ${event.blockNumber}, but not first`);
    }
    if (event.token !== intent.token.toLowerCase()) {
      throw inconsistent(`${address} executed with token ${event.token}, not ${intent.token}`);
    }
    const [held, left] = event.values;
    execution = { ...placeOf(event), held: String(held), left: String(left) };
  }
  return { execution, recoveries };
}

const toRecovery = (event: VaultEvent): Recovery => ({
  ...placeOf(event),
  token: parseAddress(event.token),
  amount: String(event.values[0]),
});

const placeOf = ({ transactionHash, blockNumber, blockHash, logIndex }: VaultEvent) => ({
  transactionHash,
  blockNumber,
  blockHash,
  logIndex,
});
