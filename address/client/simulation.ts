// The form of a simulation, as `GET /v1/address/{address}/simulation` answers it: what one node
// computed at one block. Unlike a status it is no evidence, and unlike a record it proves nothing.

import type { Hex } from "../intent/intent.ts";
import type { AddressState, BlockReference } from "../status/shape.ts";

/** An account is this to the intent; `named`: an address among the arguments of its calls. */
export type Role = "vault" | "recovery" | "target" | "named";

/** By how much the balance that `token` answers for `account` would change. */
export type BalanceChange = {
  account: Hex;
  /** None: an account that only the run itself led to. */
  roles: Role[];
  /** The zero address stands for the native coin. */
  token: Hex;
  /** Null where the service does not list the token, and of the native coin. */
  symbol: string | null;
  decimals: number | null;
  /** Base units, decimal, with its sign: `-25000000`. Never zero. */
  change: string;
};

export type Simulation = {
  address: Hex;
  chainId: number;
  /** Everything here was computed on top of this block. */
  block: BlockReference;
  /** The address's state at `block`. */
  state: AddressState;
  /**
   * `impossible`: in this `state` nothing can execute any more. `unknown`: the node could not run
   * it, so nothing is said. Only with `succeeds` are there changes.
   */
  outcome: "succeeds" | "fails" | "impossible" | "unknown";
  /** Why it does not succeed; null where it does. A contract may have chosen the words. */
  reason: string | null;
  /** The place of the call that failed, from 0, where the failure names one. */
  failedCall: number | null;
  /** The address holds less than `amount`, and the run was given exactly `amount`. */
  fundingAssumed: boolean;
  /** Gas of an execution by itself, or null where the node does not tell. */
  gasUsed: number | null;
  /** Measured by asking each token before and after, whatever its logs claim. */
  changes: BalanceChange[];
  /**
   * Whose balances were asked for: of all accounts in the run's transfers and of those the intent
   * names, or, where the node does not tell the run's logs, of those the intent names alone.
   */
  scope: "transfers" | "intent" | null;
  /** Balances to be measured that were not: too many of them, or the token did not answer. */
  unmeasured: number;
};
