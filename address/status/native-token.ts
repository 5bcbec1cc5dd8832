// Chains whose token is the native coin seen another way: Celo's CELO, Arc's USDC. There one
// balance shows twice, and is counted once: as the token's.

import { encodeBalanceOf } from "../abi/token.ts";
import type { Hex } from "../intent/intent.ts";

/**
 * Parameters of an `eth_call` that asks `token` what `vault` would hold if it held no native coin.
 * Nobody can make a token answer otherwise by sending something, since the vault itself is asked.
 *
 * @param at a block, as `eth_call` takes it
 */
export function withoutCoinParams(token: Hex, vault: Hex, at: unknown): unknown[] {
  const call = { to: token, data: encodeBalanceOf(vault) };
  return [call, at, { [vault]: { balance: "0x0" } }];
}

/** @param answer to {@link withoutCoinParams}. A token that holds less without coin is the coin. */
export function isNativeToken(balance: bigint, answer: unknown): boolean {
  if (typeof answer !== "string" || !/^0x[0-9a-f]{64}/i.test(answer)) return false;
  return BigInt(answer.slice(0, 66)) < balance;
}
