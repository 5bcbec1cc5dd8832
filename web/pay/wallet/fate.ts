// What becomes of a payment, asked through the wallet's own provider until it is certain. viem
// waits for receipts too, but only of a transaction it has seen in this run: a page that was loaded
// again knows no more than what it kept, and has to tell replaced and dropped from slow.

import { encodeTransfer, type Hex } from "executable-address";
import { createClient, custom, type EIP1193Provider } from "viem";
import {
  getBlock,
  getBlockNumber,
  getChainId,
  getTransaction,
  getTransactionCount,
  getTransactionReceipt,
} from "viem/actions";
import type { Kept } from "./kept.ts";

export type Fate =
  | { kind: "pending"; isSped: boolean }
  /** The wallet cannot be asked now. */
  | { kind: "elsewhere" }
  /** No node knows it any more, and nothing has taken its place: it may still come. */
  | { kind: "dropped" }
  | { kind: "mined"; block: number }
  | { kind: "reverted"; block: number }
  | { kind: "cancelled" | "replaced" };

const isFinal = ({ kind }: Fate) =>
  kind === "mined" || kind === "reverted" || kind === "cancelled" || kind === "replaced";

const pollMs = 2_000;
const droppedAfterMs = 60_000;
/** Blocks searched for what took a payment's place, from when it was sent. */
const blocksMax = 300;

type Watched = { token: Hex; address: Hex; kept: Kept };

/**
 * Tells the fate of `kept` at each change until it is final or `signal` aborts.
 *
 * @param onReplaced the same payment under another hash: what is kept from here on
 */
export async function watchPayment(
  provider: EIP1193Provider,
  watched: Watched,
  tell: (fate: Fate) => void,
  onReplaced: (kept: Kept) => void,
  signal: AbortSignal,
): Promise<void> {
  const client = createClient({ transport: custom(provider, { retryCount: 0 }) });
  let { kept } = watched;
  let isSped = false;
  let missingSinceMs: number | undefined;
  let searched = kept.fromBlock;

  const look = async (): Promise<Fate> => {
    if ((await getChainId(client)) !== kept.chainId) return { kind: "elsewhere" };
    const receipt = await receiptOf(client, kept.hash);
    if (receipt) return receipt;
    const nonce = await getTransactionCount(client, { address: kept.from, blockTag: "latest" });
    if (nonce > kept.nonce) return (await receiptOf(client, kept.hash)) ?? (await findOther());
    const isKnown = await getTransaction(client, { hash: kept.hash }).then(
      () => true,
      () => false,
    );
    missingSinceMs = isKnown ? undefined : (missingSinceMs ?? performance.now());
    const isDropped =
      missingSinceMs !== undefined && performance.now() - missingSinceMs > droppedAfterMs;
    return isDropped ? { kind: "dropped" } : { kind: "pending", isSped };
  };

  /** Its nonce was used by another transaction: the same payment with another fee, or not. */
  const findOther = async (): Promise<Fate> => {
    const head = Number(await getBlockNumber(client, { cacheTime: 0 }));
    const last = Math.min(head, kept.fromBlock + blocksMax);
    for (; searched < last; searched++) {
      const block = await getBlock(client, {
        blockNumber: BigInt(searched + 1),
        includeTransactions: true,
      });
      const other = block.transactions.find(
        ({ from, nonce }) => from.toLowerCase() === kept.from.toLowerCase() && nonce === kept.nonce,
      );
      if (!other) continue;
      const data = encodeTransfer(watched.address, BigInt(kept.amount));
      if (other.to?.toLowerCase() === watched.token.toLowerCase() && other.input === data) {
        isSped = isSped || other.hash !== kept.hash;
        kept = { ...kept, hash: other.hash };
        onReplaced(kept);
        return (await receiptOf(client, kept.hash)) ?? { kind: "pending", isSped };
      }
      const isCancel = other.to?.toLowerCase() === kept.from.toLowerCase() && other.input === "0x";
      return { kind: isCancel ? "cancelled" : "replaced" };
    }
    return last < head ? { kind: "replaced" } : { kind: "pending", isSped };
  };

  while (!signal.aborted) {
    const fate = await look().catch((): Fate => ({ kind: "elsewhere" }));
    if (signal.aborted) return;
    tell(fate);
    if (isFinal(fate)) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

type Client = ReturnType<typeof createClient>;

const receiptOf = (client: Client, hash: Hex): Promise<Fate | undefined> =>
  getTransactionReceipt(client, { hash }).then(
    ({ status, blockNumber }): Fate => ({
      kind: status === "success" ? "mined" : "reverted",
      block: Number(blockNumber),
    }),
    () => undefined,
  );
