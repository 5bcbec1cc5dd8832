// A payment by a wallet of this browser, up to the moment it is sent. The wallet signs; the page
// asks first whether it can succeed.

import { type AddressRecord, encodeBalanceOf, encodeTransfer, type Hex } from "executable-address";
import { isSame, toQuantity } from "executable-address/status";
import { findKept, type Kept, keep } from "./kept.ts";
import {
  ask,
  askQuantity,
  hasCode,
  nodeMs,
  PaymentRefused,
  readReason,
  readRefusal,
  settleWithin,
  type WalletProvider,
} from "./provider.ts";

export type Step = "connect" | "chain" | "check" | "sign";

export type Order = {
  record: AddressRecord;
  /** Base units, decimal. */
  amount: string;
  chainName: string;
  /** A wallet that does not know the chain gets this. */
  walletChain: { rpcUrl: string; coin: string } | undefined;
  /** Gives the amount owed at the last moment before the wallet is asked to sign. */
  owedNow: () => string;
  tell: (step: Step) => void;
  /** Cancels the payment and lets other tabs ask for it. */
  signal?: AbortSignal;
};

/**
 * Asks a wallet to pay. From the question to its end the payment is kept for the address
 * ({@link findKept}), and no other tab of this browser can ask for it.
 *
 * @throws {PaymentRefused} when nothing was sent, or the wallet does not say
 */
export const sendPayment = (provider: WalletProvider, rdns: string, order: Order) =>
  alone(order.record.address, () => settleWithin(sendAlone(provider, rdns, order), order.signal));

async function sendAlone(provider: WalletProvider, rdns: string, order: Order): Promise<void> {
  const { record, amount, tell, signal } = order;
  const { address, intent } = record;
  const { chainId, token } = intent;
  tell("connect");
  const from = await settleWithin(connect(provider), signal);
  tell("chain");
  await settleWithin(changeChain(provider, order), signal);
  tell("check");
  const data = encodeTransfer(address, BigInt(amount));
  const [nonce, fromBlock] = await settleWithin(
    requireMeans(provider, { from, token, amount, data }).then(() =>
      Promise.all([
        askQuantity(provider, "eth_getTransactionCount", [from, "pending"]),
        askQuantity(provider, "eth_blockNumber"),
        requireChain(provider, chainId),
      ]),
    ),
    signal,
    nodeMs,
  );
  if (order.owedNow() !== amount) throw new PaymentRefused({ kind: "changed" });
  if (findKept(address)) throw new PaymentRefused({ kind: "asked_elsewhere" });
  const sinceMs = Date.now();
  const place = { nonce: Number(nonce), fromBlock: Number(fromBlock) };
  const kept: Kept = { ...place, from, chainId, amount, rdns, sinceMs };
  keep(address, kept);
  tell("sign");
  // A wallet compares the chain ID with its own network at the moment when its person confirms.
  const transaction = { from, to: token, data, chainId: toQuantity(chainId) };
  try {
    const hash = await ask<Hex>(provider, "eth_sendTransaction", [transaction]);
    keep(address, { ...kept, hash });
    // Its person may have chosen another account and nonce. If the node does not know the
    // transaction yet, those of the request remain.
    const sent = await findSent(provider, hash).catch(() => undefined);
    if (sent && isSame(findKept(address)?.hash ?? "", hash)) keep(address, { ...kept, ...sent });
  } catch (error) {
    // Any other failure leaves it open whether something was sent, and so the mark stays.
    const isDeclined = error instanceof PaymentRefused && error.refusal.kind !== "failed";
    if (isDeclined && findKept(address)?.sinceMs === sinceMs) keep(address, undefined);
    throw error;
  }
}

/** The account that the wallet offers. @throws {PaymentRefused} where it offers none */
export async function connect(provider: WalletProvider): Promise<Hex> {
  const [from] = await ask<Hex[]>(provider, "eth_requestAccounts");
  if (!from) throw new PaymentRefused({ kind: "no_account" });
  return from;
}

const nameLock = (address: Hex) => `payment:${address}`;

/** Whether a tab of this browser waits for a wallet's answer to a request for `address`. */
export async function isOpenInATab(address: Hex): Promise<boolean> {
  const { held = [] } = (await navigator.locks?.query().catch(() => undefined)) ?? {};
  return held.some(({ name }) => name === nameLock(address));
}

/** If a browser has no locks, or lets a page have none, the mark alone has to do. */
async function alone(address: Hex, act: () => Promise<void>): Promise<void> {
  let hasBegun = false;
  const begin = (lock: unknown) => {
    hasBegun = true;
    if (lock === null) throw new PaymentRefused({ kind: "asked_elsewhere" });
    return act();
  };
  if (!navigator.locks) return act();
  try {
    await navigator.locks.request(nameLock(address), { ifAvailable: true }, begin);
  } catch (error) {
    if (hasBegun) throw error;
    await act();
  }
}

async function findSent(provider: WalletProvider, hash: Hex) {
  type Sent = { nonce: Hex; from?: Hex };
  const asked = ask<Sent | null>(provider, "eth_getTransactionByHash", [hash]);
  const known = await settleWithin(asked, undefined, nodeMs);
  return known && { hash, nonce: Number(known.nonce), ...(known.from && { from: known.from }) };
}

/** @throws {PaymentRefused} `other_chain` */
async function requireChain(provider: WalletProvider, chainId: number): Promise<void> {
  if ((await askQuantity(provider, "eth_chainId")) !== BigInt(chainId))
    throw new PaymentRefused({ kind: "other_chain" });
}

/** A wallet that says yes and stays where it was would pay on the wrong chain. */
async function changeChain(
  provider: WalletProvider,
  { record, chainName, walletChain }: Order,
): Promise<void> {
  const chainId = toQuantity(record.intent.chainId);
  const isThere = async () => {
    const current = askQuantity(provider, "eth_chainId");
    return (await settleWithin(current, undefined, nodeMs)) === BigInt(record.intent.chainId);
  };
  const change = () =>
    provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
  if (await isThere()) return;
  try {
    await change();
  } catch (error) {
    if (!hasCode(error, unknownChain)) throw readRefusal(error);
    if (!walletChain) throw new PaymentRefused({ kind: "unknown_chain" }, error);
    const { rpcUrl, coin } = walletChain;
    const nativeCurrency = { name: coin, symbol: coin, decimals: 18 };
    const added = { chainId, chainName, nativeCurrency, rpcUrls: [rpcUrl] };
    await ask(provider, "wallet_addEthereumChain", [added]);
    if (!(await isThere())) {
      await change().catch((error) => {
        throw readRefusal(error);
      });
    }
  }
  if (!(await isThere())) throw new PaymentRefused({ kind: "other_chain" });
}

/** EIP-3085. */
const unknownChain = 4902;

type Transfer = { from: Hex; token: Hex; amount: string; data: Hex };

/** The tokens, the token's consent, and the coin for the fee: asked of the wallet's own node. */
async function requireMeans(
  provider: WalletProvider,
  { from, token, amount, data }: Transfer,
): Promise<void> {
  const balanceOf = { to: token, data: encodeBalanceOf(from) };
  const held = await ask<string>(provider, "eth_call", [balanceOf, "latest"]);
  const heldUnits = `${held}`.length >= 66 ? BigInt(held.slice(0, 66)) : 0n;
  if (heldUnits < BigInt(amount))
    throw new PaymentRefused({ kind: "poor", held: heldUnits.toString() });
  const gas = await provider
    .request({ method: "eth_estimateGas", params: [{ from, to: token, data }] })
    .then(
      (answer) => BigInt(answer as Hex),
      (error) => {
        throw new PaymentRefused({ kind: "refused", reason: readReason(error) }, error);
      },
    );
  const [price, coin] = await Promise.all([
    askQuantity(provider, "eth_gasPrice"),
    askQuantity(provider, "eth_getBalance", [from, "latest"]),
  ]);
  if (coin < gas * price) {
    const [heldWei, neededWei] = [coin.toString(), (gas * price).toString()];
    throw new PaymentRefused({ kind: "no_gas", heldWei, neededWei });
  }
}
