// The shape of a simulation, the response of `GET /v1/address/{address}/simulation`: the result
// that one node computed at one block. It proves nothing, unlike a record, and it is not evidence,
// unlike a status.

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
   * What the account is to the intent; `named` is an address among the arguments of its calls.
   * Empty for an account that only the run itself led to.
   */
  roles: list(role),
  /** The zero address means the native coin. */
  token: address,
  /** Null for the native coin and for tokens that the service does not list. */
  symbol: orNull(text),
  /** Null for the native coin and for tokens that the service does not list. */
  decimals: orNull(integer(0, 255)),
  /** Base units, decimal, with the sign if negative: `-25000000`. Never zero. */
  change: matching(/^-?[1-9][0-9]{0,77}$/),
});
export type BalanceChange = TypeOf<typeof balanceChange>;

/** What executing an address would do now, as computed by one node: information, never evidence. */
export const simulation = object({
  address,
  chainId,
  /** Everything was computed on top of this block. */
  block: blockReference,
  /** The address's state at `block`. */
  state,
  /**
   * `impossible`: in this `state` nothing can be executed anymore. `unknown`: the node could not
   * run it. There are changes only with `succeeds`.
   */
  outcome: among("succeeds", "fails", "impossible", "unknown"),
  /**
   * Why it does not succeed; null if it does. A contract may have chosen the words: at most 200
   * characters of printable ASCII.
   */
  reason: orNull(text),
  /** The index of the call that failed, if the failure names one. */
  failedCall: orNull(integer(0, 31)),
  /** The address holds less than `amount`, and was run as if it held exactly `amount`. */
  fundingAssumed: flag,
  /** Gas of one execution on its own, or null if the node does not report it. */
  gasUsed: orNull(count),
  /**
   * Measured by asking each token before and after, regardless of its logs.
   *
   * @maxItems 100
   */
  changes: list(balanceChange),
  /**
   * The accounts whose balances were measured: all accounts in the run's transfers and all accounts
   * that the intent names, or, if the node does not return logs, only the accounts that the intent
   * names.
   */
  scope: orNull(among("transfers", "intent")),
  /** The number of balances that were not measured: too many, or the token did not answer. */
  unmeasured: count,
});
export type Simulation = TypeOf<typeof simulation>;
