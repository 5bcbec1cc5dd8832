// Which transaction of our sender spent a nonce, found in the block that holds it.

import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { hexData, quantity, resultOf } from "../../chain/rpc/json-rpc.ts";
import { agreed } from "../../chain/rpc/view.ts";
import type { Purpose } from "../ledger/purposes.ts";
import type { Pass } from "../parts.ts";

/**
 * Finds the hash of the transaction that spent the purpose's nonce. It is undefined where that is
 * not final yet, where an endpoint does not show the block, or where too few show the same.
 *
 * @throws {ChainUnavailable} where the sender's nonce cannot be read at a block
 */
export async function findNonceUse(pass: Pass, purpose: Purpose): Promise<Hex | undefined> {
  const { view, parts } = pass;
  const deepest = view.head.number - parts.chain.confirmations;
  const first = Math.min(...purpose.transactions.map((transaction) => transaction.signedBlock));
  let [low, high] = [Math.max(0, Math.min(first - 1, deepest)), deepest];
  if (deepest < 0 || !(await isSpentAt(pass, purpose, high))) return undefined;
  // Signed upon a head that lagged, the nonce may have been spent before: go back until it is not.
  for (let step = 1; low > 0 && (await isSpentAt(pass, purpose, low)); step *= 2) {
    high = low;
    low = Math.max(0, low - step);
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isSpentAt(pass, purpose, middle)) high = middle;
    else low = middle + 1;
  }
  const answers = await view.readEach([
    { method: "eth_getBlockByNumber", params: [toQuantity(low), true] },
  ]);
  const hashes = answers.map((list) => {
    const block = list && "result" in list[0]! ? list[0].result : undefined;
    return spenderIn(block, purpose);
  });
  const places = answers.includes(undefined) ? undefined : agreed(hashes, view.quorum);
  return places && places.length >= view.quorum ? hashes[places[0]!] : undefined;
}

async function isSpentAt({ view }: Pass, purpose: Purpose, block: number): Promise<boolean> {
  const [answer] = await view.read([
    { method: "eth_getTransactionCount", params: [purpose.sender, toQuantity(block)] },
  ]);
  return quantity(resultOf(answer)) > BigInt(purpose.nonce);
}

function spenderIn(block: unknown, { sender, nonce }: Purpose): Hex | undefined {
  const transactions = (block as { transactions?: Record<string, unknown>[] } | null)?.transactions;
  const found = transactions?.find(
    (entry) =>
      String(entry.from).toLowerCase() === sender && quantity(entry.nonce) === BigInt(nonce),
  );
  return found && hexData(found.hash);
}
