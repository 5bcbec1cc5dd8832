// Tips: what an intent pays to its executor, by a call of the Tip contract among its own.

import { tipAddress } from "../deployment.ts";
import { isSame } from "../hex.ts";
import type { Call, Hex } from "../intent/intent.ts";

/** Base units of `token`, in lower case. */
export type Tip = { token: Hex; amount: bigint };

/** Names of parameters change nothing of what is called. */
const tipFunction = /^tip\(address [\w$]+, uint256 [\w$]+\)$/;

/**
 * Reads what the call pays to the sender of the transaction that executes it, if it runs; undefined
 * where it is no call of the Tip contract. It moves no more than the address approved to that
 * contract.
 */
export function tipOf({ target, function: text, args }: Call): Tip | undefined {
  if (!isSame(target, tipAddress) || !tipFunction.test(text)) return undefined;
  return { token: args[0]!.toLowerCase() as Hex, amount: BigInt(args[1]!) };
}
