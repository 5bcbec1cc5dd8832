// Encodes a call of a contract's function, which is named in the text form that intents have.

import { encodeCall, type Hex, toHex } from "executable-address";

/** @param text such as `allowance(address owner, address spender)`; @param args as an intent's */
export function viewCall(to: Hex, text: string, args: string[] = []): { to: Hex; data: Hex } {
  return { to, data: toHex(encodeCall({ target: to, function: text, args })) };
}
