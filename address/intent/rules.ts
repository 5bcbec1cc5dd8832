// Rules for single fields, applied when an intent is written and when terms are read. These rules
// never change (spec/terms.md §1).

import { zeroAddress } from "../abi/token.ts";
import type { Fault } from "../errors.ts";
import type { Hex } from "./intent.ts";

export const callsMax = 32;

/** @param token in EIP-55 case, like all addresses in this file */
export function tokenFault(token: Hex): Fault | undefined {
  if (token !== zeroAddress) return undefined;
  return { code: "zero_address", message: "expected a token contract, found the zero address" };
}

/** @param token the intent's token, or undefined if the token is invalid */
export function recoveryFault(
  recovery: Hex,
  token: Hex | undefined,
  factory: Hex,
): Fault | undefined {
  if (recovery === zeroAddress)
    return {
      code: "zero_address",
      message: "expected an address of yours, found the zero address: money sent there is lost",
    };
  if (recovery === factory) {
    const message = "expected an address of yours, found the factory, which cannot receive money";
    return { code: "recovery_is_factory", message };
  }
  if (recovery !== token) return undefined;
  const message =
    "expected an address of yours, found the token contract: money sent there is lost";
  return { code: "recovery_is_token", message };
}

export const zeroAmount: Fault = {
  code: "out_of_range",
  message: "expected an amount of 1 or more, found 0",
};

export const noCalls: Fault = {
  code: "too_few",
  message: `expected 1 to ${callsMax} calls, found 0`,
};

/** @param word contains the encoded address in 32 bytes, beginning at `at` */
export function targetFault(word: Uint8Array, at: number): Fault | undefined {
  for (let i = 0; i < 30; i++) if (word[at + i] !== 0) return undefined;
  const message =
    "expected an address of at least 2^16: a call to a lower address would do nothing";
  return { code: "reserved_address", message };
}

export const integerRange = (least: number): string =>
  `expected an integer from ${least} to ${Number.MAX_SAFE_INTEGER}`;

export const leastExpirationTimestamp = 0;
export const leastChainId = 1;
