// Encodes a call of a contract's function, which is named in the text form that intents have.

import { encodeCall, factoryAddress, type Hex, toHex } from "executable-address";

/**
 * Any address can be asked, also one that an intent could not call.
 *
 * @param text such as `allowance(address owner, address spender)`; @param args as an intent's
 */
export function viewCall(to: Hex, text: string, args: string[] = []): { to: Hex; data: Hex } {
  return { to, data: toHex(encodeCall({ target: factoryAddress, function: text, args })) };
}
