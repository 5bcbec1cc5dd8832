// Calls of the periphery contracts. Conditions and Guards check the state of the chain when an
// intent is executed: if a requirement is not met, the whole execution fails and can be tried again
// until the expiry. Tip pays the executor.

import { isSame } from "../abi/hex.ts";
import { conditionsAddress, guardsAddress, tipAddress } from "../deployment.ts";
import { InvalidError } from "../errors.ts";
import type { AddressRecord, Call, Hex } from "../intent/intent.ts";

/**
 * Addresses are lowercase. `min` is in base units of `token`; the zero address is the native coin.
 */
export type Requirement =
  | { of: "executed" | "closed"; vault: Hex }
  | { of: "gas"; gas: bigint }
  | { of: "balance"; token: Hex; holder: Hex; min: bigint };

/** The record whose outcome a call requires. */
type RequiredRecord = Pick<AddressRecord, "address" | "intent">;

/**
 * Returns a call that passes only after the calls of `record` ran.
 *
 * @param chainId the chain of the intent that gets the call
 * @throws {InvalidError} if `record` belongs to another chain: it never runs on `chainId`, so the
 * money would wait until the expiry
 */
export const requireExecuted = (record: RequiredRecord, chainId: number): Call => ({
  target: conditionsAddress,
  function: "requireExecuted(address vault)",
  args: [addressOnChain(record, chainId)],
});

/**
 * Returns a call that passes only after `record` was closed without running. Closing needs a
 * `recover` after the expiry, which anyone can send.
 *
 * @param chainId the chain of the intent that gets the call
 * @throws {InvalidError} if `record` belongs to another chain: anyone can close it on `chainId` at
 *   any time, so the call would pass regardless of what happens on the record's own chain
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

/** Returns a call that passes only if at least `gas` is left for the calls after it. */
export const requireGas = (gas: bigint): Call => ({
  target: guardsAddress,
  function: "requireGas(uint256 gas)",
  args: [`${gas}`],
});

/**
 * Returns a call that passes only if `holder` has at least `min` of `token` at this position.
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
 * Reads the requirement of a call. Returns undefined if it does not call Conditions or Guards.
 * Names of parameters do not matter.
 */
export function requirementOf({ target, function: text, args }: Call): Requirement | undefined {
  const [first, second, third] = args.map((each) => each.toLowerCase()) as [Hex, Hex, Hex];
  const types = text.replaceAll(/ [\w$]+(?=[,)])/g, "");
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

/** `amount` is in base units of `token`, which is lowercase. */
export type Tip = { token: Hex; amount: bigint };

/** Names of parameters do not matter. */
const tipFunction = /^tip\(address [\w$]+, uint256 [\w$]+\)$/;

/**
 * Reads the amount that a call pays to the sender of the executing transaction. Returns undefined
 * if it does not call the Tip contract. A tip cannot exceed the vault's allowance for that
 * contract.
 */
export function tipOf({ target, function: text, args }: Call): Tip | undefined {
  if (!isSame(target, tipAddress) || !tipFunction.test(text)) return undefined;
  return { token: args[0]!.toLowerCase() as Hex, amount: BigInt(args[1]!) };
}
