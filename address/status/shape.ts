// The shape of a status: what an address is and has done, as its chain shows it at one block.

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
 * - `unfunded`, `partially_funded`, `funded`: open, with no balance, some, or enough to execute now
 * - `executed`: the calls were executed; permanent, regardless of later payments and recoveries
 * - `expired`: past `expirationTimestamp`, not executed, and not yet closed by a recovery
 * - `recovered`: closed by a recovery after it expired; the calls can never be executed
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
  /** The zero address means the native coin. */
  token: address,
  /** Base units. */
  amount: uint256,
});
export type TokenAmount = TypeOf<typeof tokenAmount>;

/** The position of an event on the chain. */
const eventReference = object({
  transactionHash: hash,
  blockNumber: count,
  blockHash: hash,
  /** Counted within the block. */
  logIndex: count,
});
export type EventReference = TypeOf<typeof eventReference>;

/** The execution of the calls, with the balances of the intent's token in base units. */
export const execution = object({
  ...eventReference.properties,
  /** The vault's balance before the calls. */
  held: uint256,
  /** The vault's balance after the calls. */
  left: uint256,
});
export type Execution = TypeOf<typeof execution>;

/** One token that was sent to the intent's `recovery`, in the amount that the factory measured. */
export const recovery = object({
  ...eventReference.properties,
  ...tokenAmount.properties,
});
export type Recovery = TypeOf<typeof recovery>;

/**
 * The status of an address: a pure function of the record and the chain's state at `block`, so that
 * every reader of that block gets the same answer. Amounts are decimal strings in base units.
 */
export const addressStatus = object({
  address,
  state,
  chainId,
  /** The block at which the chain was read. */
  block: blockReference,
  /** The intent's token. */
  token: address,
  /** The address's balance of `token` at `block`. */
  balance: uint256,
  /** The amount that the intent asks for, in base units of `token`. */
  amount: uint256,
  /** Unix seconds, inclusive: the calls can be executed in a block of this very second. */
  expirationTimestamp: count,
  /**
   * The amounts of `token` and the native coin that `recover` would return now; empty while open.
   */
  recoverable: list(tokenAmount),
  /** Null until the calls were executed. */
  execution: orNull(execution),
  /** Oldest first, of every token. */
  recoveries: list(recovery),
});
export type AddressStatus = TypeOf<typeof addressStatus>;

/** The executor's work for an address: information from the service, not evidence. */
export const executorProgress = object({
  /** Null until it is decided. */
  purpose: orNull(among("execute", "recover")),
  /** `waiting` for its turn or its next attempt, `sent` and not yet deep enough, or `given_up`. */
  phase: among("waiting", "sent", "given_up"),
  /** The transaction that was sent last. */
  transactionHash: orNull(hash),
  /** The number of attempts that failed. */
  attempts: count,
  /** Why it waits, or why the last attempt failed. */
  reason: orNull(text),
});
export type ExecutorProgress = TypeOf<typeof executorProgress>;

/** A token at an address that its payer probably took for one that the service lists. */
export const wrongToken = object({
  ...tokenAmount.properties,
  symbol: text,
  /** What people call the token, such as "Bridged USDC". */
  name: text,
  decimals: integer(0, 255),
  /** The symbol of the listed token that the payer probably meant. */
  looksLike: text,
  /** The newest transfer of the token to the address. Null if a reorganization undid it. */
  transactionHash: orNull(hash),
  /** The sender of that transfer. */
  payer: orNull(address),
});
export type WrongToken = TypeOf<typeof wrongToken>;

/** Money that arrived at the address on another chain than the intent's. It pays for nothing. */
export const elsewhere = object({
  chainId,
  ...tokenAmount.properties,
  /** `held`: still there. `returned`: sent to `recovery` on that chain. */
  state: among("held", "returned"),
  /**
   * The newest transfer, or the recovery: null while its receipt is not final, or if somebody else
   * sent it.
   */
  transactionHash: orNull(hash),
});
export type Elsewhere = TypeOf<typeof elsewhere>;

/**
 * The status of an address at one block, and what this service knows beside it (`executor`,
 * `settledAt`, `explorer`, `strays`, `wrongTokens`, and `elsewhere`).
 */
export const serviceStatus = object({
  ...addressStatus.properties,
  /** The work of this service's own executor for the address: information, never evidence. */
  executor: orNull(executorProgress),
  /**
   * When it was executed, or else first sent money to `recovery`: Unix seconds by the chain's
   * clock, or null while unknown.
   */
  settledAt: orNull(count),
  /**
   * The base URL of the chain's block explorer, as the operator names it; EIP-3091 paths follow.
   */
  explorer: orNull(matching(/^https?:\/\//)),
  /**
   * Amounts of the chain's coin and of other listed tokens at the address while it is open. They
   * pay for nothing and go to `recovery` later. Null if the chain did not show them.
   */
  strays: orNull(list(tokenAmount)),
  /**
   * Look-alikes of listed tokens, such as bridged USDC, that lie at the address in any state. They
   * pay for nothing and go to `recovery` after the execution or the expiry. Null if the chain did
   * not show them.
   */
  wrongTokens: orNull(list(wrongToken)),
  /** Listed tokens and look-alikes that arrived at the address on other chains. */
  elsewhere: list(elsewhere),
});
export type ServiceStatus = TypeOf<typeof serviceStatus>;
