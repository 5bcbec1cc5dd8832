// A payment by a wallet of this browser, up to the moment it is sent. The wallet signs; the page
// asks first whether it can succeed.

import { type AddressRecord, encodeBalanceOf, encodeTransfer, type Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { findKept, type Kept, keep } from "./kept.ts";
import {
  ask,
  askQuantity,
  hasCode,
  PaymentRefused,
  reasonOf,
  refusalOf,
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
};

/**
 * Asks a wallet to pay. From the question to its end the payment is kept for the address
 * ({@link findKept}), and no other tab of this browser can ask for it.
 *
 * @throws {PaymentRefused} when nothing was sent, or the wallet does not say
 */
export const sendPayment = (provider: WalletProvider, rdns: string, order: Order) =>
  alone(order.record.address, () => sendAlone(provider, rdns, order));

async function sendAlone(provider: WalletProvider, rdns: string, order: Order): Promise<void> {
  const { record, amount, tell } = order;
  const { address, intent } = record;
  const { chainId, token } = intent;
  tell("connect");
  const from = await connect(provider);
  tell("chain");
  await changeChain(provider, order);
  tell("check");
  const data = encodeTransfer(address, BigInt(amount));
  await requireMeans(provider, { from, token, amount, data });
  const [nonce, fromBlock] = await Promise.all([
    askQuantity(provider, "eth_getTransactionCount", [from, "pending"]),
    askQuantity(provider, "eth_blockNumber"),
  ]);
  if (order.owedNow() !== amount) throw new PaymentRefused({ kind: "changed" });
  if (findKept(address)) throw new PaymentRefused({ kind: "asked_elsewhere" });
  tell("sign");
  const sinceMs = Date.now();
  const place = { nonce: Number(nonce), fromBlock: Number(fromBlock) };
  const kept: Kept = { ...place, from, chainId, amount, rdns, sinceMs };
  keep(address, kept);
  try {
    const hash = await ask<Hex>(provider, "eth_sendTransaction", [{ from, to: token, data }]);
    keep(address, { ...kept, hash });
    // The wallet chose the nonce. A node that does not know the transaction yet leaves our guess.
    const known = await askQuantityOf(provider, hash).catch(() => undefined);
    if (known !== undefined) keep(address, { ...kept, hash, nonce: known });
  } catch (error) {
    // Any other failure leaves it open whether something was sent, and so the mark stays.
    const isDeclined = error instanceof PaymentRefused && error.refusal.kind !== "failed";
    if (isDeclined) keep(address, undefined);
    throw error;
  }
}

/** The account that the wallet offers. @throws {PaymentRefused} where it offers none */
export async function connect(provider: WalletProvider): Promise<Hex> {
  const [from] = await ask<Hex[]>(provider, "eth_requestAccounts");
  if (!from) throw new PaymentRefused({ kind: "no_account" });
  return from;
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
    await navigator.locks.request(`payment:${address}`, { ifAvailable: true }, begin);
  } catch (error) {
    if (hasBegun) throw error;
    await act();
  }
}

async function askQuantityOf(provider: WalletProvider, hash: Hex): Promise<number | undefined> {
  const known = await ask<{ nonce: Hex } | null>(provider, "eth_getTransactionByHash", [hash]);
  return known ? Number(known.nonce) : undefined;
}

/** A wallet that says yes and stays where it was would pay on the wrong chain. */
async function changeChain(
  provider: WalletProvider,
  { record, chainName, walletChain }: Order,
): Promise<void> {
  const chainId = toQuantity(record.intent.chainId);
  const isThere = async () =>
    (await askQuantity(provider, "eth_chainId")) === BigInt(record.intent.chainId);
  const change = () =>
    provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
  if (await isThere()) return;
  try {
    await change();
  } catch (error) {
    if (!hasCode(error, unknownChain)) throw refusalOf(error);
    if (!walletChain) throw new PaymentRefused({ kind: "unknown_chain" }, error);
    const { rpcUrl, coin } = walletChain;
    const nativeCurrency = { name: coin, symbol: coin, decimals: 18 };
    const added = { chainId, chainName, nativeCurrency, rpcUrls: [rpcUrl] };
    await ask(provider, "wallet_addEthereumChain", [added]);
    if (!(await isThere())) {
      await change().catch((error) => {
        throw refusalOf(error);
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
        throw new PaymentRefused({ kind: "refused", reason: reasonOf(error) }, error);
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
