// Explains why an execution reverts, from the data it reverted with.

import type { Hex } from "executable-address";
import { paymentFactoryAbi } from "executable-address-contracts";
import { decodeErrorResult, parseAbi, size } from "viem/utils";

/** `call`: the place in the intent of the call that failed, from 0, where the factory names one. */
type Failure = { call: number | null; reason: string };

/** The reason of a call to where no contract is. */
export const noContract = "no contract is there";

/** The reason of a call that the factory undoes for the gas it leaves (`TooLittleGas`). */
export const tooLittleGas = "it succeeds but leaves less than a quarter of its gas";

/** @param data what the factory's `execute` reverted with */
export function explainFailure(data: Hex): Failure {
  try {
    const { errorName, args } = decodeErrorResult({ abi: paymentFactoryAbi, data });
    if (errorName === "CallFailed") {
      const [index, , answer] = args;
      return {
        call: Number(index),
        reason: isFalse(answer) ? "answered false" : explainRevert(answer),
      };
    }
    if (errorName === "TooLittleGas") return { call: Number(args[0]), reason: tooLittleGas };
    if (errorName === "NoCode") return { call: Number(args[0]), reason: noContract };
  } catch {
    // It is not the factory's own error, so it is said as it came.
  }
  return { call: null, reason: explainRevert(data) };
}

const isFalse = (answer: Hex) => size(answer) === 32 && BigInt(answer) === 0n;

/** The factory's errors, and those that tokens give for the commonest faults (ERC-6093). */
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

/** A revert in words: a known error with its values, a `require` text, or its selector. */
export function explainRevert(data: Hex): string {
  if (size(data) === 0) return "no reason given";
  try {
    const decoded = decodeErrorResult({ abi: known, data });
    const errorName: string = decoded.errorName; // viem knows Error and Panic besides these
    const values = (decoded.args ?? []) as readonly unknown[];
    const shown = values.map((value) => {
      const isBytes = typeof value === "string" && value.length !== 42 && value.startsWith("0x");
      return isBytes ? explainRevert(value as Hex) : String(value);
    });
    if (errorName === "Error") return printable(String(values[0]));
    return printable(`${errorName}(${shown.join(", ")})`);
  } catch {
    return `reverted with ${data.slice(0, 10)}`;
  }
}

/** A stranger chose the text: cut short, and without control characters for terminals. */
export function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}
