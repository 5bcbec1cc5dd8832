// Creates and decodes calls to the periphery contracts. Conditions and Guards check the state of
// the chain during an execution. If a requirement is not met, the whole execution fails. The
// execution can be retried until the expiry. The contract Tip pays the executor. An intent that
// calls the Collector also accepts a payment that is slightly too small.

import { typesOf } from "../abi/function.ts";
import { isSame } from "../abi/hex.ts";
import { collectorAddress, conditionsAddress, guardsAddress, tipAddress } from "../deployment.ts";
import { InvalidError } from "../errors.ts";
import type { AddressRecord, Call, Hex, Intent } from "../intent/intent.ts";
import { unlimitedFrom } from "./approval.ts";

/**
 * Addresses are lowercase. `min` is in base units of `token`. In `token`, the zero address means
 * the native coin.
 */
export type Requirement =
  | { of: "executed" | "closed"; vault: Hex }
  | { of: "gas"; gas: bigint }
  | { of: "balance"; token: Hex; holder: Hex; min: bigint };

/** The fields of a record that `requireExecuted` and `requireClosed` use. */
type RequiredRecord = Pick<AddressRecord, "address" | "intent">;

/**
 * Returns a call that succeeds only after the calls of `record` ran.
 *
 * @param chainId the chain of the intent that will contain the call
 * @throws {InvalidError} if `chainId` is not the chain of `record`. On another chain, the calls of
 *   `record` never run, so the requirement would always fail
 */
export const requireExecuted = (record: RequiredRecord, chainId: number): Call => ({
  target: conditionsAddress,
  function: "requireExecuted(address vault)",
  args: [addressOnChain(record, chainId)],
});

/**
 * Returns a call that succeeds only after `record` was closed without an execution. After the
 * expiry, anyone can close an address by calling `recover`.
 *
 * @param chainId the chain of the intent that will contain the call
 * @throws {InvalidError} if `chainId` is not the chain of `record`. On another chain, anyone can
 *   close the address at any time, so `requireClosed` proves nothing
 */
export const requireClosed = (record: RequiredRecord, chainId: number): Call => ({
  target: conditionsAddress,
  function: "requireClosed(address vault)",
  args: [addressOnChain(record, chainId)],
});

function addressOnChain({ address, intent }: RequiredRecord, chainId: number): Hex {
  if (intent.chainId === chainId) return address;
  const message = `expected a record of chain ${chainId}, found one of chain ${intent.chainId}`;
  throw new InvalidError([{ path: ["chainId"], code: "wrong_chain", message }]);
}

/** Returns a call that fails if less than `gas` units of gas remain for the later calls. */
export const requireGas = (gas: bigint): Call => ({
  target: guardsAddress,
  function: "requireGas(uint256 gas)",
  args: [`${gas}`],
});

/**
 * Returns a call that succeeds only if the balance of `holder` in `token` is at least `min`.
 *
 * @param token the zero address means the native coin
 * @param min in base units
 */
export const requireBalance = (token: Hex, holder: Hex, min: bigint): Call => ({
  target: guardsAddress,
  function: "requireBalance(address token, address holder, uint256 min)",
  args: [token, holder, `${min}`],
});

/**
 * Decodes the requirement of a call to Conditions or Guards. Returns undefined for any other call.
 * Parameter names do not matter.
 */
export function requirementOf({ target, function: text, args }: Call): Requirement | undefined {
  const [first, second, third] = args.map((each) => each.toLowerCase()) as [Hex, Hex, Hex];
  const types = typesOf(text);
  if (isSame(target, conditionsAddress)) {
    if (types === "requireExecuted(address)") return { of: "executed", vault: first };
    if (types === "requireClosed(address)") return { of: "closed", vault: first };
  }
  if (isSame(target, guardsAddress)) {
    if (types === "requireGas(uint256)") return { of: "gas", gas: BigInt(first) };
    if (types === "requireBalance(address, address, uint256)") {
      return { of: "balance", token: first, holder: second, min: BigInt(third) };
    }
  }
  return undefined;
}

/** `token` is lowercase, and `amount` is in the token's base units. */
export type Tip = { token: Hex; amount: bigint };

/**
 * Decodes a call to the Tip contract, which pays the sender of the transaction. Returns undefined
 * for any other call. The call reverts if the vault's allowance for the Tip contract is lower than
 * the tip.
 */
export function tipOf({ target, function: text, args }: Call): Tip | undefined {
  if (!isSame(target, tipAddress) || typesOf(text) !== "tip(address, uint256)") return undefined;
  return { token: args[0]!.toLowerCase() as Hex, amount: BigInt(args[1]!) };
}

/**
 * A call that forwards the balance of `token`, up to `most` base units. The call reverts if the
 * vault's balance is below `least`.
 */
export type Collection = { token: Hex; recipient: Hex; least: bigint; most: bigint };

const collectFunction = "collect(address token, address recipient, uint256 least, uint256 most)";

/**
 * Returns the token, amount, and calls of an intent that accepts a slightly smaller payment. The
 * calls can run if the balance is at least `least`. They send up to `most` base units to
 * `recipient`. At the expiry, a balance below `least` goes to the intent's `recovery`. The part of
 * the balance above `most` also goes to `recovery`.
 *
 *     { ...payWithTolerance({ token, recipient, least: 24_750_000n, most: 25_000_000n }),
 *       expirationTimestamp, recovery, chainId }
 *
 * @throws {InvalidError} if `least` is zero or above `most`, or if `recipient` is the Collector.
 *   The Collector cannot move its own balance
 */
export function payWithTolerance({
  token,
  recipient,
  least,
  most,
}: Collection): Pick<Intent, "token" | "amount" | "calls"> {
  if (least <= 0n || least > most) {
    const message = `expected 1 to ${most} (most), found ${least}`;
    throw new InvalidError([{ path: ["least"], code: "out_of_range", message }]);
  }
  if (isSame(recipient, collectorAddress)) {
    const message = `expected an address other than the Collector's, found ${recipient}`;
    throw new InvalidError([{ path: ["recipient"], code: "reserved_address", message }]);
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
 * Returns the amount that a payer is asked for, in base units. The amount is the sum of `most` in
 * all calls that collect the intent's token. If the intent's amount is higher than the sum, returns
 * the intent's amount. A sum of {@link unlimitedFrom} or more means no limit. In this case, also
 * returns the intent's amount.
 */
export function requestedAmount({
  token,
  amount,
  calls,
}: Pick<Intent, "token" | "amount" | "calls">) {
  const most = calls.reduce((sum, call) => {
    const own = collectionOf(call);
    return own && isSame(own.token, token) ? sum + own.most : sum;
  }, 0n);
  return most > BigInt(amount) && most < unlimitedFrom ? `${most}` : amount;
}

/**
 * Returns the arguments of a call to the Collector's `collect`, with lowercase addresses. Returns
 * undefined for any other call.
 */
export function collectionOf({ target, function: text, args }: Call): Collection | undefined {
  const isCollect = typesOf(text) === typesOf(collectFunction);
  if (!isSame(target, collectorAddress) || !isCollect) return undefined;
  const [token, recipient] = args.map((each) => each.toLowerCase()) as [Hex, Hex];
  return { token, recipient, least: BigInt(args[2]!), most: BigInt(args[3]!) };
}
