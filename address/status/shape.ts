// The shape of a status: the state and the history of an address at one block.

import {
  address,
  among,
  chainId,
  count,
  hash,
  integer,
  list,
  matching,
  object,
  orNull,
  type TypeOf,
  text,
  uint256,
} from "../shape.ts";

export const addressStates = [
  "unfunded",
  "partially_funded",
  "funded",
  "executed",
  "expired",
  "recovered",
] as const;
/**
 * - `unfunded`: the address is open and has no balance of the token.
 * - `partially_funded`: the address is open, but its balance is below the intent's `amount`.
 * - `funded`: the address is open, and its balance is enough to execute now.
 * - `executed`: the calls were executed. Later payments and recoveries do not change this state.
 * - `expired`: `expirationTimestamp` has passed without an execution or a recovery.
 * - `recovered`: a recovery closed the address after the expiration time. The calls can never be
 *   executed.
 */
export const state = among(...addressStates);
export type AddressState = TypeOf<typeof state>;

/** A block of the chain. */
export const blockReference = object({
  number: count,
  hash,
  /** Unix seconds, by the chain's clock. */
  timestamp: count,
});
export type BlockReference = TypeOf<typeof blockReference>;

/** An amount of one token. */
export const tokenAmount = object({
  /** The token contract. The zero address means the native coin. */
  token: address,
  /** The amount in base units. */
  amount: uint256,
});
export type TokenAmount = TypeOf<typeof tokenAmount>;

/** The position of an event on the chain. */
const eventReference = object({
  transactionHash: hash,
  blockNumber: count,
  blockHash: hash,
  /** The index of the log in the block. */
  logIndex: count,
});
export type EventReference = TypeOf<typeof eventReference>;

/**
 * The execution of the calls. `held` and `left` are balances of the intent's token in base units.
 */
export const execution = object({
  ...eventReference.properties,
  /** The balance of the address before the calls. */
  held: uint256,
  /** The balance of the address after the calls. */
  left: uint256,
});
export type Execution = TypeOf<typeof execution>;

/**
 * A transfer of one token to the intent's `recovery`. `amount` is the amount that the factory
 * measured.
 */
export const recovery = object({
  ...eventReference.properties,
  ...tokenAmount.properties,
});
export type Recovery = TypeOf<typeof recovery>;

/**
 * The status of an address. The status depends only on the record and the chain's state at `block`.
 * Every client that reads this block computes the same status. Amounts are decimal strings in base
 * units.
 */
export const addressStatus = object({
  address,
  state,
  chainId,
  /** The block at which the service read the chain. */
  block: blockReference,
  /** The intent's token. */
  token: address,
  /** The balance of `token` at `block`. */
  balance: uint256,
  /** The requested amount in base units of `token`. */
  amount: uint256,
  /** The last Unix second, by the chain's clock, in which the calls can be executed. */
  expirationTimestamp: count,
  /**
   * The amounts of `token` and of native coin that a call of `recover` would send now. Empty while
   * the address is open.
   */
  recoverable: list(tokenAmount),
  /** The execution. Null if the calls were not executed. */
  execution: orNull(execution),
  /** The recoveries of all tokens, oldest first. */
  recoveries: list(recovery),
});
export type AddressStatus = TypeOf<typeof addressStatus>;

/** The progress of the service's executor, which is information and not evidence. */
export const executorProgress = object({
  /** The action that the executor has chosen. Null until the executor has decided. */
  purpose: orNull(among("execute", "recover")),
  /**
   * - `waiting`: a transaction will be sent later.
   * - `sent`: a transaction was sent and does not have enough confirmations yet.
   * - `given_up`: the executor tries again only if more money arrives or the operator requests it.
   */
  phase: among("waiting", "sent", "given_up"),
  /** The newest transaction that the executor sent. */
  transactionHash: orNull(hash),
  /** The number of failed attempts. */
  attempts: count,
  /** The reason why the executor waits, or why the last attempt failed. */
  reason: orNull(text),
});
export type ExecutorProgress = TypeOf<typeof executorProgress>;

/** A look-alike of a listed token, which a payer probably sent by mistake. */
export const wrongToken = object({
  ...tokenAmount.properties,
  symbol: text,
  /** The name of the token, such as "Bridged USDC". */
  name: text,
  decimals: integer(0, 255),
  /** The symbol of the listed token that the payer probably wanted to send. */
  looksLike: text,
  /**
   * The newest transfer of the token to the address. Null if a reorganization removed the transfer.
   */
  transactionHash: orNull(hash),
  /** The sender of the newest transfer of the token to the address. */
  payer: orNull(address),
});
export type WrongToken = TypeOf<typeof wrongToken>;

/**
 * Money that arrived at the same address on another chain. This money does not count toward the
 * amount.
 */
export const elsewhere = object({
  chainId,
  ...tokenAmount.properties,
  /**
   * `held`: the money is still at the address. `returned`: the money was sent to `recovery` on the
   * chain on which it arrived.
   */
  state: among("held", "returned"),
  /**
   * - `held`: the transaction that sent the money. If several transactions sent money since the
   *   last return, this is the largest transfer that does not exceed `amount`. Null if no log shows
   *   such a transfer.
   * - `returned`: the transaction of the recovery. Null until the recovery is final, or if the
   *   executor did not send the recovery.
   */
  transactionHash: orNull(hash),
});
export type Elsewhere = TypeOf<typeof elsewhere>;

/**
 * The status of an address at one block, and information that only this service has. The additional
 * fields are `executor`, `settledAt`, `explorer`, `strays`, `wrongTokens`, and `elsewhere`.
 */
export const serviceStatus = object({
  ...addressStatus.properties,
  /** The progress of the service's executor, which is information and not evidence. */
  executor: orNull(executorProgress),
  /**
   * The time of the execution, in Unix seconds by the chain's clock. Without an execution, the time
   * of the first recovery. Null if unknown.
   */
  settledAt: orNull(count),
  /**
   * The base URL of the chain's block explorer. The explorer's paths follow EIP-3091. Null if the
   * operator configured none.
   */
  explorer: orNull(matching(/^https?:\/\//)),
  /**
   * Native coin and listed tokens that an open address has in addition to the requested token. Such
   * money does not count toward the amount and can be sent to `recovery` later. Null if the chain
   * could not be read.
   */
  strays: orNull(list(tokenAmount)),
  /**
   * The address's balances of look-alikes of listed tokens, such as bridged USDC. Unlike `strays`,
   * the list does not depend on whether the address is open. These tokens do not count toward the
   * amount. They go to `recovery` after the execution or the expiration time. Null if the chain
   * could not be read.
   */
  wrongTokens: orNull(list(wrongToken)),
  /** Listed tokens, look-alikes, and native coins that arrived at the address on other chains. */
  elsewhere: list(elsewhere),
});
export type ServiceStatus = TypeOf<typeof serviceStatus>;
