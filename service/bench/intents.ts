// Creates the intents that the benchmark sends to every server. Each intent has two calls: an
// approval and a payment. The salt is the number of the intent.

import type { Hex, Intent } from "executable-address";

export const token: Hex = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
const shop: Hex = "0x1111111111111111111111111111111111111111";

/** @param number below 2^48 */
export function intentOf(number: number, expirationTimestamp: number): Intent {
  return {
    token,
    amount: "25000000",
    calls: [
      {
        target: token,
        function: "approve(address spender, uint256 amount)",
        args: [shop, "25000000"],
      },
      {
        target: shop,
        function: "pay(uint256 orderId, uint256 amount)",
        args: ["1", "25000000"],
      },
    ],
    expirationTimestamp,
    recovery: "0x2222222222222222222222222222222222222222",
    salt: `0x${number.toString(16).padStart(64, "0")}`,
    chainId: 1,
  };
}
