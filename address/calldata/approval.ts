// Recognizes calls that let another account spend a token:
// - `approve` and `increaseAllowance` of the token itself
// - `approve` of Permit2
// - `setApprovalForAll` of an NFT collection

import { typesOf } from "../abi/function.ts";
import { isSame } from "../abi/hex.ts";
import { collectorAddress } from "../deployment.ts";
import type { Call, Hex } from "../intent/intent.ts";

/**
 * The token allowance that a call sets or increases. The addresses have the same letter case as in
 * the call.
 */
export type Approval = {
  /**
   * - `sets`: replaces the allowance in the token.
   * - `adds`: increases the allowance in the token.
   * - `permit2`: sets an allowance in a Permit2 contract. To move the tokens, this contract itself
   *   also needs an allowance in the token.
   * - `collection`: gives or revokes access to all tokens of a collection.
   */
  kind: "sets" | "adds" | "permit2" | "collection";
  token: Hex;
  spender: Hex;
  /**
   * In base units. For a whole collection, the amount is 2^256 - 1, or 0 if the call revokes
   * access.
   */
  amount: bigint;
  /** The index of the amount in the call's `args`. */
  amountAt: number;
  /** Whether the amount is so high that it means no limit. */
  isUnlimited: boolean;
  /**
   * Whether an account other than the caller can move tokens with the allowance. False if the
   * spender is the Collector. A call to the Collector moves only the tokens of the call's sender.
   */
  isUsable: boolean;
};

/** An amount of this many base units or more means no limit. */
export const unlimitedFrom = 2n ** 255n;

const kinds: ReadonlyMap<string, Approval["kind"]> = new Map([
  ["approve(address, uint256)", "sets"],
  ["increaseAllowance(address, uint256)", "adds"],
  ["approve(address, address, uint160, uint48)", "permit2"],
  ["setApprovalForAll(address, bool)", "collection"],
]);

/**
 * Returns the allowance that a call sets or increases; an amount of 0 revokes the allowance.
 * Returns undefined for any other call. Parameter names do not matter, and neither does the target.
 */
export function approvalOf({ target, function: text, args }: Call): Approval | undefined {
  const kind = kinds.get(typesOf(text));
  if (!kind) return undefined;
  const isPermit2 = kind === "permit2";
  const [token, spender] = (isPermit2 ? args : [target, ...args]) as [Hex, Hex];
  const amountAt = isPermit2 ? 2 : 1;
  const given = args[amountAt]!;
  const amount = kind !== "collection" ? BigInt(given) : given === "true" ? 2n ** 256n - 1n : 0n;
  return {
    ...{ kind, token, spender, amount, amountAt },
    // Permit2's amounts are uint160, and the maximum means no limit.
    isUnlimited: amount >= (isPermit2 ? 2n ** 159n : unlimitedFrom),
    isUsable: !isSame(spender, collectorAddress),
  };
}
