// Defines calls that find the transaction that used a nonce of an account. `nonceCall` reads the
// account's nonce at a block. With this call, `findFirstBlock` (executable-address/status) finds
// the block of the transaction. `transactionsCall` reads all transactions of that block, and
// `spendersIn` selects the account's transactions.

import type { Hex } from "executable-address";
import { isSame, toQuantity } from "executable-address/status";
import { type Call, hexData, quantity } from "./rpc/json-rpc.ts";

export const nonceCall = (account: Hex, block: number | "latest"): Call => ({
  method: "eth_getTransactionCount",
  params: [account, block === "latest" ? block : toQuantity(block)],
});

export const transactionsCall = (block: number): Call => ({
  method: "eth_getBlockByNumber",
  params: [toQuantity(block), true],
});

/** The transaction that used a nonce. `shown` is the transaction as the node returned it. */
export type Spender = { nonce: number; hash: Hex; shown: unknown };

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
