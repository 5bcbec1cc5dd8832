// Finds the accounts that can receive the money of an intent.

import { isSame } from "../abi/hex.ts";
import type { Intent } from "../intent/intent.ts";

/**
 * For each call, returns the account that can receive the token, as a lowercase address. If the
 * call's target is the token, the account is the recipient or spender, or undefined if the token's
 * function is unknown. For any other call, the account is the call's target.
 */
export function partiesOf({ token, calls }: Pick<Intent, "token" | "calls">) {
  return calls.map(({ target, function: text, args }) => {
    if (!isSame(target, token)) return target.toLowerCase();
    return givesTo.test(text) ? args[0]!.toLowerCase() : undefined;
  });
}

/** The token's functions whose first argument is the account that can receive the token. */
const givesTo = /^(approve|transfer)\(address \w+, uint256 \w+\)$/;
