// Follows a payment through the wallet's own node until the payment's outcome is final. After a
// reload, the page knows only the stored payment. The page then searches the chain for the
// transaction that the wallet may have sent. The page also detects slow, replaced, and dropped
// transactions.

import { encodeTransfer, type Hex } from "executable-address";
import { isSame, toQuantity } from "executable-address/status";
import { ask, askQuantity, nodeMs, settleWithin, type WalletProvider } from "./provider.ts";
import type { StoredPayment } from "./stored-payment.ts";

export type Fate =
  /** The wallet has reported no transaction, and none was found on the chain. */
  | { kind: "asking" }
  /** The account has sent the requested transfer, but the wallet's request is still open. */
  | { kind: "met" }
  | { kind: "pending"; isSped: boolean }
  /** The wallet is connected to another chain. */
  | { kind: "elsewhere" }
  /** The wallet does not respond. */
  | { kind: "silent" }
  /**
   * The wallet's node no longer knows the transaction, and nothing has replaced it. The transaction
   * may still be mined.
   */
  | { kind: "dropped" }
  | { kind: "mined"; block: number }
  | { kind: "reverted"; block: number }
  | { kind: "cancelled" | "replaced" };

export const isFinal = ({ kind }: Fate) =>
  kind === "mined" || kind === "reverted" || kind === "cancelled" || kind === "replaced";

const pollMs = 2_000;
const droppedAfterMs = 60_000;
/**
 * The maximum number of blocks in which the page searches for the payment. The search starts with
 * the block after `fromBlock`.
 */
const blocksMax = 300;

type Watched = {
  token: Hex;
  address: Hex;
  stored: StoredPayment;
  /** Returns whether a tab of this browser is waiting for the wallet's response. */
  isOpen: () => boolean;
};
type Transaction = { hash: Hex; from: Hex; to: Hex | null; input: Hex; nonce: Hex };
type Block = { transactions: Transaction[] };

/**
 * Checks repeatedly what happened to a payment, and reports each result. Stops when the result is
 * final or `signal` aborts.
 * @param onFound called with the updated payment if its transaction is found on the chain. The
 *   transaction's hash may differ from the stored hash, because a wallet can replace a transaction
 */
export async function watchPayment(
  provider: WalletProvider,
  { token, address, stored: first, isOpen }: Watched,
  report: (fate: Fate) => void,
  onFound: (stored: StoredPayment) => void,
  signal: AbortSignal,
): Promise<void> {
  let stored = first;
  let isSped = false;
  let missingSinceMs: number | undefined;
  const progress = { searched: stored.fromBlock };

  const look = async (): Promise<Fate> => {
    if (Number(await askQuantity(provider, "eth_chainId")) !== stored.chainId)
      return { kind: "elsewhere" };
    const { from } = stored;
    const used = Number(await askQuantity(provider, "eth_getTransactionCount", [from, "latest"]));
    const { hash } = stored;
    if (!hash) return used > stored.nonce ? search(isTheSame) : { kind: "asking" };
    const receipt = await requestReceipt(provider, hash);
    if (receipt) return receipt;
    if (used > stored.nonce) {
      const isInItsPlace = ({ nonce }: Transaction) => Number(nonce) === stored.nonce;
      return (await requestReceipt(provider, hash)) ?? (await search(isInItsPlace));
    }
    const known = await ask<unknown>(provider, "eth_getTransactionByHash", [hash]).catch(
      () => null,
    );
    missingSinceMs = known ? undefined : (missingSinceMs ?? performance.now());
    const isDropped =
      missingSinceMs !== undefined && performance.now() - missingSinceMs > droppedAfterMs;
    return isDropped ? { kind: "dropped" } : { kind: "pending", isSped };
  };

  const isTheSame = ({ to, input }: Transaction) =>
    isSame(to ?? "", token) && input === encodeTransfer(address, BigInt(stored.amount));

  /** Searches for the sender's transaction that matches `wanted`. */
  const search = async (wanted: (transaction: Transaction) => boolean): Promise<Fate> => {
    const { found, isEnd } = await searchBlocks(provider, stored, progress, wanted);
    if (!found) {
      if (!stored.hash) return { kind: "asking" };
      return isEnd ? { kind: "replaced" } : { kind: "pending", isSped };
    }
    if (!isTheSame(found)) {
      const isCancel = isSame(found.to ?? "", stored.from) && found.input === "0x";
      return { kind: isCancel ? "cancelled" : "replaced" };
    }
    // The account may have sent this transaction after scanning the QR code. Therefore, it does not
    // count as the wallet's payment while a tab waits for the wallet. The next search finds the
    // transaction again.
    if (!stored.hash && isOpen()) return { kind: "met" };
    isSped ||= stored.hash !== undefined && found.hash !== stored.hash;
    const isFound = stored.hash === undefined || stored.isFound;
    const { hash, nonce } = found;
    stored = { ...stored, hash, nonce: Number(nonce), ...(isFound && { isFound }) };
    onFound(stored);
    return (await requestReceipt(provider, hash)) ?? { kind: "pending", isSped };
  };

  while (!signal.aborted) {
    const looked = settleWithin(look(), signal, nodeMs);
    const fate = await looked.catch((): Fate => ({ kind: "silent" }));
    if (signal.aborted) return;
    report(fate);
    if (isFinal(fate)) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/**
 * Looks for a transaction of the sender in the blocks that follow the request to the wallet.
 *
 * @param progress the last block that was searched. The next call continues after this block. The
 *   wallet may not have sent the transaction yet
 * @returns the transaction if it was found. Otherwise, `isEnd` says whether all {@link blocksMax}
 *   blocks were searched
 */
async function searchBlocks(
  provider: WalletProvider,
  { from, fromBlock }: StoredPayment,
  progress: { searched: number },
  wanted: (transaction: Transaction) => boolean,
): Promise<{ found?: Transaction; isEnd?: boolean }> {
  const head = Number(await askQuantity(provider, "eth_blockNumber"));
  const last = Math.min(head, fromBlock + blocksMax);
  for (; progress.searched < last; progress.searched++) {
    const params = [toQuantity(progress.searched + 1), true];
    const block = await ask<Block>(provider, "eth_getBlockByNumber", params);
    const found = block.transactions.find((each) => isSame(each.from, from) && wanted(each));
    if (found) return { found };
  }
  return { isEnd: last < head };
}

async function requestReceipt(provider: WalletProvider, hash: Hex): Promise<Fate | undefined> {
  type Receipt = { status: Hex; blockNumber: Hex };
  const receipt = await ask<Receipt | null>(provider, "eth_getTransactionReceipt", [hash]).catch(
    () => null,
  );
  if (!receipt) return undefined;
  return {
    kind: Number(receipt.status) === 1 ? "mined" : "reverted",
    block: Number(receipt.blockNumber),
  };
}
