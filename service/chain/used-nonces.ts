// Reads which transactions have used the nonces of an account. executable-address/status has the
// search for the block of a nonce (`findFirstBlock`).

import type { Hex } from "executable-address";
import { isSame, toQuantity } from "executable-address/status";
import { type Call, hexData, quantity } from "./rpc/json-rpc.ts";

/** Returns the call that requests the next nonce of `account` at a block. */
export const nonceCall = (account: Hex, block: number | "latest"): Call => ({
  method: "eth_getTransactionCount",
  params: [account, block === "latest" ? block : toQuantity(block)],
});

/** Returns the call that requests a block with its transactions. */
export const transactionsCall = (block: number): Call => ({
  method: "eth_getBlockByNumber",
  params: [toQuantity(block), true],
});

/** A transaction that used a nonce. `shown` is the transaction as the node returned it. */
type Spender = { nonce: number; hash: Hex; shown: unknown };

/**
 * Returns the transactions of `account` in a block, sorted by nonce. Returns undefined if `block`
 * is not a block with transactions.
 */
export function spendersIn(block: unknown, account: Hex): Spender[] | undefined {
  const transactions = (block as { transactions?: Record<string, unknown>[] } | null)?.transactions;
  try {
    return transactions
      ?.filter(({ from }) => isSame(String(from), account))
      .map((shown) => {
        return { nonce: Number(quantity(shown.nonce)), hash: hexData(shown.hash), shown };
      })
      .sort((a, b) => a.nonce - b.nonce);
  } catch {
    return undefined;
  }
}
