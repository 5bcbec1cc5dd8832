// Asks the wallet's own provider what became of a payment, until it is certain. A page
// that was loaded again knows no more than what it kept: it has to find a payment that the wallet
// sent meanwhile, and to tell replaced and dropped from slow.

import { encodeTransfer, type Hex } from "executable-address";
import { isSame, toQuantity } from "executable-address/status";
import type { Kept } from "./kept.ts";
import { ask, askQuantity, nodeMs, settleWithin, type WalletProvider } from "./provider.ts";

export type Fate =
  /** The wallet has not said that it sent anything, and no block shows it. */
  | { kind: "asking" }
  /** The account made the same transfer, while the request is still open in its wallet. */
  | { kind: "met" }
  | { kind: "pending"; isSped: boolean }
  /** The wallet is on another chain. */
  | { kind: "elsewhere" }
  /** The wallet does not answer. */
  | { kind: "silent" }
  /** No node knows it any more, and nothing has taken its place: it may still come. */
  | { kind: "dropped" }
  | { kind: "mined"; block: number }
  | { kind: "reverted"; block: number }
  | { kind: "cancelled" | "replaced" };

export const isFinal = ({ kind }: Fate) =>
  kind === "mined" || kind === "reverted" || kind === "cancelled" || kind === "replaced";

const pollMs = 2_000;
const droppedAfterMs = 60_000;
/** Blocks searched for what took a payment's place, from when it was asked for. */
const blocksMax = 300;

type Watched = {
  token: Hex;
  address: Hex;
  kept: Kept;
  /** Whether a tab of this browser waits for the wallet's answer to the request. */
  isOpen: () => boolean;
};
type Transaction = { hash: Hex; from: Hex; to: Hex | null; input: Hex; nonce: Hex };
type Block = { transactions: Transaction[] };

/**
 * Tells the fate of `kept` at each change until it is final or `signal` aborts.
 *
 * @param onFound the payment, or the same one under another hash: what is kept from here on
 */
export async function watchPayment(
  provider: WalletProvider,
  { token, address, kept: first, isOpen }: Watched,
  tell: (fate: Fate) => void,
  onFound: (kept: Kept) => void,
  signal: AbortSignal,
): Promise<void> {
  let kept = first;
  let isSped = false;
  let missingSinceMs: number | undefined;
  let searched = kept.fromBlock;

  const look = async (): Promise<Fate> => {
    if (Number(await askQuantity(provider, "eth_chainId")) !== kept.chainId)
      return { kind: "elsewhere" };
    const used = Number(
      await askQuantity(provider, "eth_getTransactionCount", [kept.from, "latest"]),
    );
    const { hash } = kept;
    if (!hash) return used > kept.nonce ? search(isTheSame) : { kind: "asking" };
    const receipt = await requestReceipt(provider, hash);
    if (receipt) return receipt;
    if (used > kept.nonce) {
      const isInItsPlace = ({ nonce }: Transaction) => Number(nonce) === kept.nonce;
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
    isSame(to ?? "", token) && input === encodeTransfer(address, BigInt(kept.amount));

  /** The sender's transaction that is `wanted`: the same payment, or what took its place. */
  const search = async (wanted: (transaction: Transaction) => boolean): Promise<Fate> => {
    const head = Number(await askQuantity(provider, "eth_blockNumber"));
    const last = Math.min(head, kept.fromBlock + blocksMax);
    for (; searched < last; searched++) {
      const params = [toQuantity(searched + 1), true];
      const block = await ask<Block>(provider, "eth_getBlockByNumber", params);
      const found = block.transactions.find((each) => isSame(each.from, kept.from) && wanted(each));
      if (!found) continue;
      if (isTheSame(found)) {
        // The same account may have paid by the QR code: that answers no open request. The block
        // is searched again, since the tab that waits may be closed.
        if (!kept.hash && isOpen()) return { kind: "met" };
        isSped ||= kept.hash !== undefined && found.hash !== kept.hash;
        const isFound = kept.hash === undefined || kept.isFound;
        kept = {
          ...kept,
          hash: found.hash,
          nonce: Number(found.nonce),
          ...(isFound && { isFound }),
        };
        onFound(kept);
        return (await requestReceipt(provider, found.hash)) ?? { kind: "pending", isSped };
      }
      const isCancel = isSame(found.to ?? "", kept.from) && found.input === "0x";
      return { kind: isCancel ? "cancelled" : "replaced" };
    }
    if (!kept.hash) return { kind: "asking" };
    return last < head ? { kind: "replaced" } : { kind: "pending", isSped };
  };

  while (!signal.aborted) {
    const looked = settleWithin(look(), signal, nodeMs);
    const fate = await looked.catch((): Fate => ({ kind: "silent" }));
    if (signal.aborted) return;
    tell(fate);
    if (isFinal(fate)) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
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
