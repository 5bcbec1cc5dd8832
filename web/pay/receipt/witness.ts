// Who says that a block is of the chain: endpoints that the reader names, and their wallets.

import type { Hex } from "executable-address";
import { httpRpc } from "executable-address/status";
import { followWallets, isSame, nameOf, type Wallet } from "executable-address-element/page";
import { say } from "./speech.ts";

type Block = { readonly number: number; readonly hash: Hex };
/** One witness's answer about the blocks; `error` where it gives none. */
export type Testimony = { readonly name: string; readonly knows: number; readonly error?: string };

/** Asks one witness whether its chain has each of `blocks`, by number. */
async function testify(
  name: string,
  request: (method: string, params: readonly unknown[]) => Promise<unknown>,
  chainId: number,
  blocks: readonly Block[],
): Promise<Testimony> {
  try {
    const chain = Number(await request("eth_chainId", []));
    if (chain !== chainId) return { name, knows: 0, error: say("otherChain", { id: chain }) };
    const found = await Promise.all(
      blocks.map(async ({ number, hash }) => {
        const byNumber = ["eth_getBlockByNumber", [`0x${number.toString(16)}`, false]] as const;
        const block = (await request(...byNumber)) as { hash?: string } | null;
        return isSame(String(block?.hash), hash);
      }),
    );
    const knows = found.filter(Boolean).length;
    if (knows === blocks.length) return { name, knows };
    return { name, knows, error: say("hasSome", { count: knows, all: blocks.length }) };
  } catch {
    // What a browser or a wallet says of it is in no language of ours.
    return { name, knows: 0, error: say("noAnswer") };
  }
}

/** Each of the endpoints' words. */
export const askEndpoints = (urls: readonly string[], chainId: number, blocks: readonly Block[]) =>
  Promise.all(urls.map((url) => testify(url, httpRpc(url), chainId, blocks)));

/** Each wallet's word: it asks the nodes that its maker or owner chose. */
export const askWallets = (wallets: readonly Wallet[], chainId: number, blocks: readonly Block[]) =>
  Promise.all(
    wallets.map((wallet) =>
      testify(
        nameOf(wallet, say("yourWallet")),
        (method, params) => wallet.provider.request({ method, params }),
        chainId,
        blocks,
      ),
    ),
  );

export { followWallets, type Wallet };
