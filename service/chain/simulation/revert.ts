// Explains why an execution reverts, from its revert data.

import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { decodeErrorResult, parseAbi, size } from "viem/utils";

/** `call`: the index of the failing call, if the revert data contains it. */
type Failure = { call: number | null; reason: string };

/** The reason that is reported if the target of a call has no code. */
export const noContract = "there is no contract at this address";

/** The reason that is reported if the factory reverts with `TooLittleGas`. */
export const tooLittleGas = "the call succeeds but leaves less than a quarter of its gas";

/** @param data the revert data of the factory's `execute` */
export function explainFailure(data: Hex): Failure {
  try {
    const { errorName, args } = decodeErrorResult({ abi: paymentFactoryAbi, data });
    if (errorName === "CallFailed") {
      const [index, , answer] = args;
      return {
        call: Number(index),
        reason: isFalse(answer) ? "it returned false" : explainRevert(answer),
      };
    }
    if (errorName === "TooLittleGas") return { call: Number(args[0]), reason: tooLittleGas };
    if (errorName === "NoCode") return { call: Number(args[0]), reason: noContract };
  } catch {
    // The revert data is not an error of the factory.
  }
  return { call: null, reason: explainRevert(data) };
}

const isFalse = (answer: Hex) => size(answer) === 32 && BigInt(answer) === 0n;

/** The factory's errors, and the standard errors of tokens (ERC-6093). */
const known = [
  ...paymentFactoryAbi,
  ...parseAbi([
    "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
    "error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)",
    "error ERC20InvalidReceiver(address receiver)",
    "error ERC20InvalidSender(address sender)",
    "error SafeERC20FailedOperation(address token)",
  ]),
];

/**
 * Explains a revert in words. Returns a known error's name and values, the text of a `require`, or
 * the selector.
 */
export function explainRevert(data: Hex): string {
  if (size(data) === 0) return "no reason given";
  try {
    const decoded = decodeErrorResult({ abi: known, data });
    const errorName: string = decoded.errorName; // viem also knows Error and Panic
    const values = (decoded.args ?? []) as readonly unknown[];
    const shown = values.map((value) => {
      const isBytes = typeof value === "string" && value.length !== 42 && value.startsWith("0x");
      return isBytes ? explainRevert(value as Hex) : String(value);
    });
    if (errorName === "Error") return shortAscii(String(values[0]));
    return shortAscii(`${errorName}(${shown.join(", ")})`);
  } catch {
    return `reverted with ${data.slice(0, 10)}`;
  }
}

export const reasonCharactersMax = 200;

/**
 * Shortens the text, because a contract can choose a long text. Replaces all characters except
 * printable ASCII.
 */
export function shortAscii(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, reasonCharactersMax);
}
