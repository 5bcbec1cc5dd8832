// The shape of a report about tokens that a payer sent to an address by mistake: each token, and
// what happens to it.

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
   * What the contract calls the token. Anyone can deploy a token with any name, so show it in
   * quotes with the contract's address. Null if it is missing or contains hidden characters.
   *
   * @maxLength 32
   */
  symbol: orNull(text),
  /** The decimals that the contract claims. Null if it claims none. */
  decimals: orNull(integer(0, 255)),
  /**
   * - `queued`: the executor returns it to `recovery`
   * - `automatic`: the same, and it does not need to be reported: native coin, a listed token, or a
   *   look-alike of one
   * - `asked`: the intent's token, which counts as a payment while the address is open
   * - `empty`: the address has none, for example because it was returned already
   * - `unmovable`: its contract refuses the transfer, needs too much gas, or moves nothing
   * - `failed`: the executor tried to return it, and its contract moved nothing
   * - `over_limit`: too many tokens of the address wait, or too many of the account were reported
   *   today
   * - `left_to_owner`: this service does not return it
   *
   * Anyone can return a token with `recover` of the factory.
   */
  fate: among(
    "queued",
    "automatic",
    "asked",
    "empty",
    "unmovable",
    "failed",
    "over_limit",
    "left_to_owner",
  ),
  /** When it can be returned at the earliest, in Unix seconds by the chain's clock. Null: now. */
  notBefore: orNull(count),
});
export type SentToken = TypeOf<typeof sentToken>;

/** The tokens at an address that a report named or that a reported transaction moved there. */
export const sentMoney = object({
  address,
  chainId,
  /** The block at which balances were read. */
  block: blockReference,
  /** The intent's return address, on the same chain. */
  recovery: address,
  /**
   * Why a transaction shows no token:
   *
   * - `unknown_transaction`: the chain of the intent does not have it: it is not mined yet, or it
   *   is on another chain
   * - `failed_transaction`: it was mined and moved nothing
   * - `pays_nothing_here`: it moves no ERC-20 token and no coin to this address; NFTs do not count
   */
  problem: orNull(among("unknown_transaction", "failed_transaction", "pays_nothing_here")),
  /** @maxItems 4 */
  tokens: list(sentToken),
  /** The number of further tokens that the transaction moved to the address. */
  omitted: count,
});
export type SentMoney = TypeOf<typeof sentMoney>;
