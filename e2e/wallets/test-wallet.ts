// A wallet for tests that implements EIP-6963 and EIP-1193 in the page. It uses an account of the
// local chain. The wallet can simulate faults of real wallets and users.

import type { Hex } from "executable-address";
import type { Page } from "playwright-core";
import { localChainId } from "../../scripts/local-chain.ts";

export type Fault =
  /** The user rejects every payment request. */
  | "rejects"
  /** The user rejects every request to connect the wallet. */
  | "hides"
  /** The user has lowered the gas limit, so the transaction reverts. */
  | "reverts"
  /** The user confirms the switch to another chain, but the wallet does not switch. */
  | "stays";

export type TestWallet = {
  account: Hex;
  chainId: number;
  /** The chains to which the wallet can switch. For any other chain, it returns error 4902. */
  knows: Set<number>;
  fault: Fault | undefined;
  /** The received requests, oldest first. */
  asked: string[];
  /** If set, the wallet waits for this promise before it responds to a request to connect. */
  connecting: Promise<void> | undefined;
  /** If set, the wallet waits for this promise before it responds to a payment request. */
  asking: Promise<void> | undefined;
  /** If set, the user has selected this account in the wallet instead of `account`. */
  sendsFrom: Hex | undefined;
  /** True if the wallet's node does not respond. */
  isNodeSilent: boolean;
  /** The wallet's most recent transaction. */
  sent: { hash: Hex; to: Hex; data: Hex } | undefined;
};

type WalletRequest = { method: string; params: Record<string, unknown>[] };
type Answer = { result?: unknown; error?: { code: number; message: string } };

const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>',
)}`;

/** Adds a wallet with `account` to every page that `page` opens from now on. */
export async function announceWallet(
  page: Page,
  rpcUrl: string,
  account: Hex,
): Promise<TestWallet> {
  const wallet = newWallet(account);
  await page.exposeFunction("askWallet", (asked: WalletRequest) => answer(wallet, rpcUrl, asked));
  await page.addInitScript(`
    const request = async ({ method, params = [] }) => {
      const { result, error } = await askWallet({ method, params });
      if (error) throw Object.assign(new Error(error.message), error);
      return result;
    };
    const info = { uuid: "7e57", name: "Test Wallet", icon: ${JSON.stringify(icon)},
      rdns: "example.wallet" };
    addEventListener("eip6963:requestProvider", () => dispatchEvent(
      new CustomEvent("eip6963:announceProvider", { detail: { info, provider: { request } } })));
  `);
  return wallet;
}

export const newWallet = (account: Hex): TestWallet => ({
  account,
  chainId: localChainId,
  knows: new Set([1, localChainId]),
  fault: undefined,
  asked: [],
  connecting: undefined,
  asking: undefined,
  sendsFrom: undefined,
  isNodeSilent: false,
  sent: undefined,
});

async function answer(
  wallet: TestWallet,
  rpcUrl: string,
  { method, params }: WalletRequest,
): Promise<Answer> {
  wallet.asked.push(method);
  switch (method) {
    case "eth_requestAccounts":
      await wallet.connecting;
      if (wallet.fault === "hides") return { error: { code: 4001, message: "declined" } };
      return { result: [wallet.account] };
    case "eth_chainId":
      return { result: `0x${wallet.chainId.toString(16)}` };
    case "wallet_switchEthereumChain":
      return changeChain(wallet, Number(params[0]?.chainId));
    case "wallet_addEthereumChain":
      wallet.knows.add(Number(params[0]?.chainId));
      return changeChain(wallet, Number(params[0]?.chainId));
    case "eth_accounts":
      return { result: [wallet.account] };
    case "eth_sendTransaction": {
      await wallet.asking;
      if (wallet.fault === "rejects") return { error: { code: 4001, message: "declined" } };
      // Like real wallets, compares the request's chain ID with the current network. If the request
      // has no chain ID, real wallets send the transaction on the current network.
      if (Number(params[0]?.chainId ?? wallet.chainId) !== wallet.chainId)
        return { error: { code: -32602, message: "the request is for another chain" } };
      const from = wallet.sendsFrom && { from: wallet.sendsFrom };
      const limit = wallet.fault === "reverts" ? { gas: "0x9000" } : {};
      const sent = await ask(rpcUrl, method, [{ ...params[0], ...from, ...limit }]);
      const { to, data } = params[0] as { to: Hex; data: Hex };
      wallet.sent = { hash: sent.result as Hex, to, data };
      return sent;
    }
    default:
      if (wallet.isNodeSilent) await new Promise(() => {});
      return ask(rpcUrl, method, params);
  }
}

function changeChain(wallet: TestWallet, chainId: number): Answer {
  if (!wallet.knows.has(chainId)) return { error: { code: 4902, message: "unknown chain" } };
  if (wallet.fault !== "stays") wallet.chainId = chainId;
  return { result: null };
}

/** Sends a request to a node, and returns its response. */
export async function ask(rpcUrl: string, method: string, params: unknown[]): Promise<Answer> {
  const answer = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return (await answer.json()) as Answer;
}
