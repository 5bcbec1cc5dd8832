// The shape of a simulation, which is the response of `GET /v1/address/{address}/simulation`. A
// simulation is the result of one node at one block. Unlike a record or a status, a simulation is
// neither a proof nor evidence.

import { callsMax } from "../intent/write.ts";
import {
  address,
  among,
  chainId,
  count,
  flag,
  integer,
  list,
  matching,
  object,
  orNull,
  type TypeOf,
  text,
} from "../shape.ts";
import { blockReference, state } from "../status/shape.ts";

const role = among("vault", "recovery", "target", "named");
export type Role = TypeOf<typeof role>;

/** The change of one account's balance of one token. */
export const balanceChange = object({
  account: address,
  /**
   * The roles of the account in the intent. `named` means that the account is an argument of a
   * call. The list is empty if the account appears only in the transfers of the simulation.
   */
  roles: list(role),
  /** The token contract. The zero address means the native coin. */
  token: address,
  /** The token's symbol. Null for the native coin and for tokens that the service does not list. */
  symbol: orNull(text),
  /** The token's decimals. Null for the native coin and for tokens that are not listed. */
  decimals: orNull(integer(0, 255)),
  /**
   * The change in base units, as a decimal string. A negative change starts with `-`: `-25000000`.
   * Never zero.
   */
  change: matching(/^-?[1-9][0-9]{0,77}$/),
});
export type BalanceChange = TypeOf<typeof balanceChange>;

/**
 * The maximum number of balances that a simulation measures. The service measures all balances
 * with one `eth_call` of init code, which can return at most 24,576 bytes. Reading the balances
 * takes up to 10 million gas.
 */
export const measuredBalancesMax = 100;

/**
 * The effects that an execution would have now, as computed by one node. The result is an estimate
 * and not evidence.
 */
export const simulation = object({
  address,
  chainId,
  /** The block on whose state the simulation ran. */
  block: blockReference,
  /** The address's state at `block`. */
  state,
  /**
   * The result. `impossible`: an address in this `state` can no longer be executed. `unknown`: the
   * node could not run the simulation. `changes` is empty unless the outcome is `succeeds`.
   */
  outcome: among("succeeds", "fails", "impossible", "unknown"),
  /**
   * The reason if the outcome is not `succeeds`, otherwise null. The reason consists of printable
   * ASCII. It can contain text that a contract returned.
   *
   * @maxLength reasonCharactersMax
   */
  reason: orNull(text),
  /**
   * The index in `calls` of the call that failed. Null if no call failed or if the failing call is
   * unknown.
   */
  failedCall: orNull(integer(0, callsMax - 1)),
  /**
   * True if the balance is less than the intent's `amount`. If true, the simulation replaced the
   * balance with the amount that payers are asked for.
   */
  fundingAssumed: flag,
  /**
   * The gas of a transaction that executes only this address. Null if the node does not report the
   * gas.
   */
  gasUsed: orNull(count),
  /**
   * The difference between each balance before and after the calls, as reported by the token
   * contract.
   *
   * @maxItems measuredBalancesMax
   */
  changes: list(balanceChange),
  /**
   * The accounts whose balances were measured:
   *
   * - `transfers`: the accounts in the intent and in the transfers of the simulation.
   * - `intent`: only the accounts in the intent, because the node does not return logs.
   */
  scope: orNull(among("transfers", "intent")),
  /**
   * The number of balances that were not measured. At most {@link measuredBalancesMax}
   * balances are measured, and only if the token returns a balance.
   */
  unmeasured: count,
});
export type Simulation = TypeOf<typeof simulation>;
