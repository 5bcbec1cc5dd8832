// Makes payments on a local chain. The chain's node signs with its own accounts, so the page needs
// no key.

import { encodeCall, encodeTransfer, type Hex, type Intent, toHex } from "executable-address";
import { httpRpc, type Rpc } from "executable-address/status";
import { sleep } from "../../ui/sleep.ts";

/**
 * The chain ID of a local chain. The pages cannot import `localChainId` from contracts/index.ts.
 */
const localChainId = 31_337;

/** @throws if the node belongs to another chain */
async function openLocal(url: string): Promise<{ rpc: Rpc; accounts: readonly Hex[] }> {
  const rpc = httpRpc(url);
  const chainId = Number(await rpc("eth_chainId", []));
  if (chainId !== localChainId) {
    throw new Error(`${url} is chain ${chainId}; expected ${localChainId}`);
  }
  return { rpc, accounts: (await rpc("eth_accounts", [])) as Hex[] };
}

/** Returns the node's fourth account, because scripts/local-chain.ts uses the first three. */
export const spareAccount = async (url: string): Promise<Hex | null> =>
  (await openLocal(url)).accounts[3] ?? null;

/**
 * Pays the requested amount of `intent` with newly minted demo tokens, as `npm run pay` does.
 * @returns the hash of the mined payment
 * @throws {RpcError} if the node rejects a request
 */
export async function payAt(url: string, address: Hex, intent: Intent): Promise<Hex> {
  const { rpc, accounts } = await openLocal(url);
  const { token, amount } = intent;
  const from = accounts[1];
  if (!from) throw new Error(`${url} has no second account to pay from`);
  const send = async (data: Hex): Promise<Hex> => {
    const hash = (await rpc("eth_sendTransaction", [{ from, to: token, data }])) as Hex;
    for (;;) {
      const receipt = (await rpc("eth_getTransactionReceipt", [hash])) as { status: Hex } | null;
      if (receipt?.status === "0x1") return hash;
      if (receipt) throw new Error(`${hash} failed`);
      await sleep(100);
    }
  };
  const mint = { target: token, function: "mint(address to, uint256 amount)" };
  await send(toHex(encodeCall({ ...mint, args: [from, amount] })));
  return send(encodeTransfer(address, BigInt(amount)));
}
