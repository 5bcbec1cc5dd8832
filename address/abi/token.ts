// The questions to a token, and the address that stands where there is none.

import type { Hex } from "../hex.ts";

/** No contract and nobody's account. Beside tokens it stands for the chain's native coin. */
export const zeroAddress: Hex = "0x0000000000000000000000000000000000000000";

/** Calldata of `balanceOf(address)` (ERC-20), lower case. @param owner 20 bytes, in any case */
export const encodeBalanceOf = (owner: Hex): Hex =>
  `0x70a08231${wordOf(owner.slice(2).toLowerCase())}`;

/**
 * Calldata of `transfer(address to, uint256 amount)` (ERC-20), lower case.
 *
 * @param to 20 bytes, in any case
 * @param amount base units
 */
export const encodeTransfer = (to: Hex, amount: bigint): Hex =>
  `0xa9059cbb${wordOf(to.slice(2).toLowerCase())}${wordOf(amount.toString(16))}`;

const wordOf = (digits: string): string => digits.padStart(64, "0");
