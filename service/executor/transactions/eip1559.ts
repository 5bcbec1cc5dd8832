import type { UnsignedTransaction } from "../parts.ts";

/** A transaction of the executor in viem's words. */
export const eip1559Of = ({ maxFee, priorityFee, gas, ...rest }: UnsignedTransaction) => ({
  ...rest,
  type: "eip1559" as const,
  gas: BigInt(gas),
  maxFeePerGas: maxFee,
  maxPriorityFeePerGas: priorityFee,
});
