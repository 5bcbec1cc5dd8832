// Creates payments as if they came from transfer logs, for tests of later steps.

import { toHex } from "executable-address";
import type { Payment } from "../follow/payment.ts";

/** Returns a payment. The default amount is 25 units. */
export function paymentTo(
  address: Payment["address"],
  blockNumber: number,
  change: Partial<Payment> = {},
): Payment {
  const logIndex = change.logIndex ?? logs++;
  return {
    address,
    blockNumber,
    blockHash: hash(blockNumber),
    transactionHash: hash(1_000_000 + logIndex),
    logIndex,
    payer: `0x${"9".repeat(40)}`,
    token: `0x${"0".repeat(40)}`,
    amount: "25",
    isLookalike: false,
    ...change,
  };
}

let logs = 0;
const hash = (number: number) => toHex(Buffer.from(number.toString(16).padStart(64, "0"), "hex"));
