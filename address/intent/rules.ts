// Refuses what a field may not be though it has the right form. The rules are asked where intents
// are written and where terms are read, and they are frozen: spec/terms.md §1.

import { zeroAddress } from "../abi/token.ts";
import type { Fault } from "../errors.ts";
import type { Hex } from "./intent.ts";

export const callsMax = 32;

/** @param token EIP-55, as all addresses here */
export function tokenFault(token: Hex): Fault | undefined {
  if (token !== zeroAddress) return undefined;
  return { code: "zero_address", message: "the zero address is no token contract" };
}

/** @param token undefined where it has a fault of its own */
export function recoveryFault(
  recovery: Hex,
  token: Hex | undefined,
  factory: Hex,
): Fault | undefined {
  if (recovery === zeroAddress)
    return { code: "zero_address", message: "money sent to the zero address is lost" };
  if (recovery === factory) {
    const message = "the factory can hold no money: name an address of yours";
    return { code: "recovery_is_factory", message };
  }
  if (recovery !== token) return undefined;
  const message = "money sent to the token contract is lost: name an address of yours";
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

/** @param word the 32 bytes from `at` are the address's */
export function targetFault(word: Uint8Array, at: number): Fault | undefined {
  for (let i = 0; i < 30; i++) if (word[at + i] !== 0) return undefined;
  const message = "no contract is below 2^16: a call to it would do nothing and count as done";
  return { code: "reserved_address", message };
}

/** @param least the least that `field` may be */
export const smallRange = (least: number): string =>
  `expected an integer from ${least} to ${Number.MAX_SAFE_INTEGER}`;

export const leastExpirationTimestamp = 0;
export const leastChainId = 1;
