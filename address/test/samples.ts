// A valid intent, which tests use and modify.

import type { Call, Intent } from "../intent/intent.ts";

export const usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
export const shop = "0x5FbDB2315678afecb367f032d93F642f64180aa3";
export const buyer = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

export const sampleCall: Call = {
  target: shop,
  function: "pay(uint256 order, address buyer)",
  args: ["77", buyer],
};

export const sample: Intent = {
  token: usdc,
  amount: "1000000",
  calls: [sampleCall],
  expirationTimestamp: 1_790_000_000,
  recovery: buyer,
  salt: `0x${"11".repeat(32)}`,
  chainId: 8453,
};

/** Returns {@link sample} with a single call: the function `text` with `args`. */
export const withCall = (text: string, ...args: unknown[]): unknown => ({
  ...sample,
  calls: [{ target: shop, function: text, args }],
});
