// Encodes calldata for the ERC-20 functions `balanceOf` and `transfer`, and decodes `Transfer`
// events.

import type { Hex } from "./hex.ts";

/** The zero address represents the native coin where a token's address is expected. */
export const zeroAddress: Hex = "0x0000000000000000000000000000000000000000";

/**
 * Encodes calldata for `balanceOf(address)`, in lowercase.
 * @param owner 20 bytes, in any letter case
 */
export const encodeBalanceOf = (owner: Hex): Hex =>
  `0x70a08231${padWord(owner.slice(2).toLowerCase())}`;

/**
 * Encodes calldata for `transfer(address to, uint256 amount)`, in lowercase.
 *
 * @param to 20 bytes, in any letter case
 * @param amount base units
 */
export const encodeTransfer = (to: Hex, amount: bigint): Hex =>
  `0xa9059cbb${padWord(to.slice(2).toLowerCase())}${padWord(amount.toString(16))}`;

const padWord = (digits: string): string => digits.padStart(64, "0");

/** `Transfer(address indexed from, address indexed to, uint256 value)` */
export const transferTopic: Hex =
  "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/**
 * Encodes an indexed address as a topic, in lowercase.
 * @param address in any letter case
 */
export const topicOf = (address: Hex): Hex => `0x${padWord(address.slice(2).toLowerCase())}`;

type Transfer = { from: Hex; to: Hex; amount: bigint };

/**
 * Decodes an ERC-20 `Transfer` log of any contract, and keeps the case of the addresses. Returns
 * undefined for other logs. For example, ERC-721's `Transfer` has the same topic but no data.
 */
export function transferOf({ topics, data }: TransferLog): Transfer | undefined {
  const [topic, from, to] = topics;
  if (topic !== transferTopic || topics.length !== 3 || data.length !== 66) return undefined;
  return { from: `0x${from!.slice(26)}`, to: `0x${to!.slice(26)}`, amount: BigInt(data) };
}

export type TransferLog = { readonly topics: readonly Hex[]; readonly data: Hex };
