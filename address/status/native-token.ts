// Determines whether a token contract shows the native coin, so that the same money is not counted
// twice.

import { encodeBalanceOf } from "../abi/token.ts";
import type { Hex } from "../intent/intent.ts";

/**
 * Returns the parameters of an `eth_call` that reads the vault's balance of `token`. The call
 * overrides the vault's native balance with zero. The override affects only the vault, so money in
 * other accounts cannot change the result.
 *
 * @param block as in the parameters of `eth_call`
 */
export function withoutCoinParams(token: Hex, vault: Hex, block: unknown): unknown[] {
  const call = { to: token, data: encodeBalanceOf(vault) };
  return [call, block, { [vault]: { balance: "0x0" } }];
}

/**
 * Returns whether the token is the native coin. If it is, overriding the vault's native balance
 * with zero lowers the token balance.
 *
 * @param answer the response to {@link withoutCoinParams}
 */
export function isNativeToken(balance: bigint, answer: unknown): boolean {
  if (typeof answer !== "string" || !/^0x[0-9a-f]{64}/i.test(answer)) return false;
  return BigInt(answer.slice(0, 66)) < balance;
}
