// The shape of a report about tokens that were sent to an address by mistake. The report lists each
// token and its fate.

import {
  address,
  among,
  chainId,
  count,
  integer,
  list,
  object,
  orNull,
  type TypeOf,
  text,
  uint256,
} from "../shape.ts";
import { blockReference } from "./shape.ts";

/** A token at an address, and what happens to it. */
export const sentToken = object({
  /** The zero address means the native coin. */
  token: address,
  /** The balance of the address in base units, at `block`. */
  amount: uint256,
  /**
   * The symbol that the contract claims. Anyone can deploy a token with any symbol. Show the symbol
   * in quotes and with the contract's address. Null if the contract claims no symbol, or if the
   * symbol is too long or contains invisible characters.
   *
   * @maxLength symbolMax
   */
  symbol: orNull(text),
  /** The decimals that the contract claims. Null if the contract claims no decimals. */
  decimals: orNull(integer(0, 255)),
  /**
   * - `queued`: the executor will return the token to `recovery`.
   * - `automatic`: no report is needed. The executor automatically returns native coin, the
   *   intent's token, listed tokens, and look-alikes of listed tokens.
   * - `payment`: the token is the intent's token and the address is open, so the balance counts
   *   toward the requested amount.
   * - `empty`: the address has no balance of the token, for example after a return.
   * - `unmovable`: the token's contract refuses the transfer, needs too much gas, or moves nothing.
   * - `failed`: the executor tried to return the token, but the token's contract moved nothing.
   * - `over_limit`: the address has too many queued tokens, or its account reached the daily limit.
   * - `left_to_owner`: this service does not return the token.
   *
   * Anyone can return a token with the factory's `recover`.
   */
  fate: among(
    "queued",
    "automatic",
    "payment",
    "empty",
    "unmovable",
    "failed",
    "over_limit",
    "left_to_owner",
  ),
  /**
   * The earliest time of the return, in Unix seconds by the chain's clock. Null if the return is
   * possible now.
   */
  notBefore: orNull(count),
});
export type SentToken = TypeOf<typeof sentToken>;

/** The tokens that a report named, or that a reported transaction moved to the address. */
export const sentMoney = object({
  address,
  chainId,
  /** The block at which balances were read. */
  block: blockReference,
  /** The intent's `recovery` address, which receives the returns. */
  recovery: address,
  /**
   * The reason why `tokens` is empty:
   *
   * - `unknown_transaction`: the intent's chain does not contain the transaction. The transaction
   *   is not mined yet, or it is on a different chain.
   * - `failed_transaction`: the transaction was mined but failed, so it moved nothing.
   * - `pays_nothing_here`: the transaction moves no ERC-20 token and no coin to this address. NFTs
   *   do not count.
   */
  problem: orNull(among("unknown_transaction", "failed_transaction", "pays_nothing_here")),
  /** @maxItems tokensPerTransactionMax */
  tokens: list(sentToken),
  /** The number of moved tokens that are missing in `tokens`. */
  omitted: count,
});
export type SentMoney = TypeOf<typeof sentMoney>;
