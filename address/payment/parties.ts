// Finds the accounts that can receive the money of an intent.

import { isSame } from "../abi/hex.ts";
import type { Intent } from "../intent/intent.ts";

/**
 * Returns, for each call, the lowercase address that can receive the token through the call. For a
 * call to the token, this is the recipient or spender, or undefined if the function is unknown. For
 * any other call, this is the called contract.
 */
export function partiesOf({ token, calls }: Pick<Intent, "token" | "calls">) {
  return calls.map(({ target, function: text, args }) => {
    if (!isSame(target, token)) return target.toLowerCase();
    return givesTo.test(text) ? args[0]!.toLowerCase() : undefined;
  });
}

/** The functions of the token whose arguments show who can receive the token. */
const givesTo = /^(approve|transfer)\(address \w+, uint256 \w+\)$/;
