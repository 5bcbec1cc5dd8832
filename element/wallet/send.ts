// Requests a payment from a browser wallet, which signs and sends the transaction. Before the
// request, the page checks that the payment can succeed.

import { type AddressRecord, encodeBalanceOf, encodeTransfer, type Hex } from "executable-address";
import { isSame, toQuantity } from "executable-address/status";
import { coins } from "../tokens.ts";
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
import {
  findStoredPayment,
  forgetStoredPayment,
  type StoredPayment,
  storePayment,
} from "./stored-payment.ts";

export type Step = "connect" | "chain" | "check" | "sign";

export type Order = {
  record: AddressRecord;
  /** Decimal, in base units. */
  amount: string;
  chainName: string;
  /**
   * The server's data about the chain, for adding the chain to a wallet. Without this data, a
   * wallet can add only the chains of service/chains.json.
   */
  walletChain: WalletChain | undefined;
  /** Returns the amount due. Called just before the wallet is asked to sign. */
  owedNow: () => string;
  report: (step: Step) => void;
  /**
   * Aborting the signal ends the wait for the wallet. Another tab can then request the payment,
   * unless the wallet was already asked to sign.
   */
  signal?: AbortSignal;
};

/**
 * Requests a payment from a wallet. The payment is stored during the request ({@link
 * findStoredPayment}). No other tab of this browser can request a payment for the address
 * meanwhile.
 * @throws {PaymentRefused} if nothing was sent, or if the wallet does not report whether it sent a
 *   transaction
 */
export const sendPayment = (provider: WalletProvider, rdns: string, order: Order) =>
  alone(order.record.address, () => settleWithin(sendAlone(provider, rdns, order), order.signal));

async function sendAlone(provider: WalletProvider, rdns: string, order: Order): Promise<void> {
  const { record, amount, report, signal } = order;
  const { address, intent } = record;
  const { chainId, token } = intent;
  report("connect");
  const from = await settleWithin(connect(provider), signal);
  report("chain");
  await settleWithin(changeChain(provider, order), signal);
  report("check");
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
  if (findStoredPayment(address)) throw new PaymentRefused({ kind: "requested_elsewhere" });
  const sinceMs = Date.now();
  const place = { nonce: Number(nonce), fromBlock: Number(fromBlock) };
  const stored: StoredPayment = { ...place, from, chainId, amount, rdns, sinceMs };
  storePayment(address, stored);
  report("sign");
  // The chain ID makes the wallet refuse the transaction if the wallet is on another network.
  const transaction = { from, to: token, data, chainId: toQuantity(chainId) };
  try {
    const hash = await ask<Hex>(provider, "eth_sendTransaction", [transaction]);
    storePayment(address, { ...stored, hash });
    // The user may have changed the account or the nonce in the wallet. The stored payment is
    // therefore updated from the sent transaction. If the node does not know the transaction yet,
    // the requested values stay stored.
    const sent = await findSent(provider, hash).catch(() => undefined);
    if (sent && isSame(findStoredPayment(address)?.hash ?? "", hash))
      storePayment(address, { ...stored, ...sent });
  } catch (error) {
    // After an unknown error, the payment stays stored, because the wallet may have sent it.
    const isDeclined = error instanceof PaymentRefused && error.refusal.kind !== "failed";
    if (isDeclined && findStoredPayment(address)?.sinceMs === sinceMs) forgetStoredPayment(address);
    throw error;
  }
}

/**
 * Returns the account that the wallet offers.
 * @throws {PaymentRefused} if the wallet offers no account
 */
export async function connect(provider: WalletProvider): Promise<Hex> {
  const [from] = await ask<Hex[]>(provider, "eth_requestAccounts");
  if (!from) throw new PaymentRefused({ kind: "no_account" });
  return from;
}

const nameLock = (address: Hex) => `payment:${address}`;

/** Returns whether a tab of this browser is waiting for a wallet to pay `address`. */
export async function isOpenInATab(address: Hex): Promise<boolean> {
  const { held = [] } = (await navigator.locks?.query().catch(() => undefined)) ?? {};
  return held.some(({ name }) => name === nameLock(address));
}

/**
 * Runs `act` under a lock, so that only one tab requests the payment. Without the Web Locks API,
 * only the stored payment prevents a second request.
 */
async function alone(address: Hex, act: () => Promise<void>): Promise<void> {
  let hasBegun = false;
  const begin = (lock: unknown) => {
    hasBegun = true;
    if (lock === null) throw new PaymentRefused({ kind: "requested_elsewhere" });
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
  const request = ask<Sent | null>(provider, "eth_getTransactionByHash", [hash]);
  const known = await settleWithin(request, undefined, nodeMs);
  return known && { hash, nonce: Number(known.nonce), ...(known.from && { from: known.from }) };
}

/** @throws {PaymentRefused} `other_chain` */
async function requireChain(provider: WalletProvider, chainId: number): Promise<void> {
  if ((await askQuantity(provider, "eth_chainId")) !== BigInt(chainId))
    throw new PaymentRefused({ kind: "other_chain" });
}

/**
 * Switches the wallet to a chain, and then asks the wallet for its current chain. A wallet may
 * report success although it did not switch. The wallet would then pay on the wrong chain.
 */
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
    const known = walletChain ?? findWalletChain(record.intent.chainId);
    if (!known) throw new PaymentRefused({ kind: "unknown_chain" }, error);
    const { rpcUrl, coin } = known;
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

/** EIP-3085's error code for an unknown chain. */
const unknownChain = 4902;

/** One of the RPC URLs of each chain in service/chains.json, by chain ID. */
const rpcUrls: Readonly<Record<number, string>> = {
  1: "https://ethereum-rpc.publicnode.com",
  10: "https://mainnet.optimism.io",
  137: "https://polygon.drpc.org",
  480: "https://worldchain-mainnet.g.alchemy.com/public",
  8453: "https://mainnet.base.org",
  42161: "https://arb1.arbitrum.io/rpc",
  43114: "https://api.avax.network/ext/bc/C/rpc",
  57073: "https://rpc-gel.inkonchain.com",
  // Test networks
  4801: "https://worldchain-sepolia.g.alchemy.com/public",
  43113: "https://api.avax-test.network/ext/bc/C/rpc",
  80002: "https://polygon-amoy.drpc.org",
  84532: "https://sepolia.base.org",
  763373: "https://rpc-gel-sepolia.inkonchain.com",
  11155111: "https://sepolia.drpc.org",
  11155420: "https://sepolia.optimism.io",
};

/** The data with which a wallet can add a chain. */
type WalletChain = { readonly rpcUrl: string; readonly coin: string };

/** Returns the data of a chain in service/chains.json. Returns undefined for any other chain. */
function findWalletChain(chainId: number): WalletChain | undefined {
  const [rpcUrl, coin] = [rpcUrls[chainId], coins[chainId]];
  return rpcUrl && coin ? { rpcUrl, coin } : undefined;
}

type Transfer = { from: Hex; token: Hex; amount: string; data: Hex };

/**
 * Asks the wallet's own node whether the transfer would succeed. Also checks the account's token
 * balance, and its native coin for the fee.
 */
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
