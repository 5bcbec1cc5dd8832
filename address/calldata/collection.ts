// Payments with a tolerance: an intent that accepts a payment that is a little short, by a call of
// the Collector contract.

import { isSame } from "../abi/hex.ts";
import { collectorAddress } from "../deployment.ts";
import { InvalidError } from "../errors.ts";
import type { Call, Hex, Intent } from "../intent/intent.ts";

/** Forwards the whole balance, from `least` to `most` base units of `token`. */
export type Collection = { token: Hex; recipient: Hex; least: bigint; most: bigint };

const collectFunction = "collect(address token, address recipient, uint256 least, uint256 most)";
/** Names of parameters do not change which function is called. */
const collectPattern =
  /^collect\(address [\w$]+, address [\w$]+, uint256 [\w$]+, uint256 [\w$]+\)$/;

/**
 * Returns the token, amount, and calls of an intent that forwards a payment of at least `least` to
 * `recipient`, and at most `most`. Less than `least` waits until the expiry. More than `most` stays
 * for the intent's `recovery`.
 *
 *     { ...payWithTolerance({ token, recipient, least: 24_750_000n, most: 25_000_000n }),
 *       expirationTimestamp, recovery, chainId }
 *
 * @throws {InvalidError} if `least` is zero or above `most`, or if `recipient` is the Collector,
 * which cannot move money that it has
 */
export function payWithTolerance({
  token,
  recipient,
  least,
  most,
}: Collection): Pick<Intent, "token" | "amount" | "calls"> {
  const issue = (path: string, message: string) =>
    new InvalidError([{ path: [path], code: "invalid_value", message }]);
  if (least <= 0n || least > most) {
    throw issue("least", `expected 1 to ${most} (most), found ${least}`);
  }
  if (isSame(recipient, collectorAddress)) {
    throw issue("recipient", `expected another contract than the Collector, found ${recipient}`);
  }
  return {
    token,
    amount: `${least}`,
    calls: [
      {
        target: token,
        function: "approve(address spender, uint256 amount)",
        args: [collectorAddress, `${most}`],
      },
      {
        target: collectorAddress,
        function: collectFunction,
        args: [token, recipient, `${least}`, `${most}`],
      },
    ],
  };
}

/**
 * Returns the amount that a payer is asked for, in base units: the most that the intent's calls
 * collect of its token, or the intent's amount.
 */
export function askedAmount({ token, amount, calls }: Pick<Intent, "token" | "amount" | "calls">) {
  const collected = calls.flatMap((call) => collectionOf(call) ?? []);
  const own = collected.find((each) => isSame(each.token, token));
  return own && own.most > BigInt(amount) ? `${own.most}` : amount;
}

/** Returns what the call collects, addresses in lower case; undefined if it does not collect. */
export function collectionOf({ target, function: text, args }: Call): Collection | undefined {
  if (!isSame(target, collectorAddress) || !collectPattern.test(text)) return undefined;
  const [token, recipient] = args.map((each) => each.toLowerCase()) as [Hex, Hex];
  return { token, recipient, least: BigInt(args[2]!), most: BigInt(args[3]!) };
}
