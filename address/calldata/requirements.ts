// Calls of Conditions and Guards: what an intent requires of the chain at the moment it runs. One
// that is not met fails, and with it the whole execution, which may be tried again until expiry.

import { conditionsAddress, guardsAddress } from "../deployment.ts";
import { InvalidError } from "../errors.ts";
import { isSame } from "../hex.ts";
import type { AddressRecord, Call, Hex } from "../intent/intent.ts";

/** Addresses in lower case; `min` in base units of `token`, the zero address for native coin. */
export type Requirement =
  | { of: "executed" | "closed"; vault: Hex }
  | { of: "gas"; gas: bigint }
  | { of: "balance"; token: Hex; holder: Hex; min: bigint };

/** The record whose fate a call depends on. */
type Awaited = Pick<AddressRecord, "address" | "intent">;

/**
 * Returns a call that passes only after the calls of `record` ran.
 *
 * @param chainId the chain of the intent that gets the call
 * @throws {InvalidError} if `record` belongs to another chain: it never runs on `chainId`, so the
 * money would wait until the expiry
 */
export const requireExecuted = (record: Awaited, chainId: number): Call => ({
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
 * any time, so the call would pass whatever happens on the record's own chain
 */
export const requireClosed = (record: Awaited, chainId: number): Call => ({
  target: conditionsAddress,
  function: "requireClosed(address vault)",
  args: [addressOnChain(record, chainId)],
});

function addressOnChain({ address, intent }: Awaited, chainId: number): Hex {
  if (intent.chainId === chainId) return address;
  const message = `expected a record of chain ${chainId}, found one of chain ${intent.chainId}`;
  throw new InvalidError([{ path: ["chainId"], code: "wrong_chain", message }]);
}

/** The calls behind this one run only if at least `gas` is left for them. */
export const requireGas = (gas: bigint): Call => ({
  target: guardsAddress,
  function: "requireGas(uint256 gas)",
  args: [`${gas}`],
});

/**
 * The intent runs only if `holder` has at least `min` of `token` at this place among its calls.
 *
 * @param token the zero address for native coin
 * @param min in base units
 */
export const requireBalance = (token: Hex, holder: Hex, min: bigint): Call => ({
  target: guardsAddress,
  function: "requireBalance(address token, address holder, uint256 min)",
  args: [token, holder, `${min}`],
});

/**
 * Reads what the call requires; undefined where it is no call of Conditions or Guards. Names of
 * parameters change nothing of what is called.
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
