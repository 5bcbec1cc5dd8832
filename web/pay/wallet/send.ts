// A payment by a wallet of this browser, up to the moment it is sent. The wallet signs; this page
// asks first whether it can succeed. Loaded on the first press, with the part of viem it takes.

import { type AddressRecord, encodeBalanceOf, encodeTransfer, type Hex } from "executable-address";
import { BaseError, type Chain, createClient, custom, type EIP1193Provider } from "viem";
import {
  addChain,
  call,
  estimateGas,
  getBalance,
  getBlockNumber,
  getChainId,
  getGasPrice,
  getTransaction,
  getTransactionCount,
  requestAddresses,
  sendTransaction,
  switchChain,
} from "viem/actions";
import type { Kept } from "./kept.ts";
import { knownChain } from "./known-chains.ts";

export type Step = "connect" | "chain" | "check" | "sign";

/** Why nothing was sent. `failed` alone leaves it open: the wallet did not say. */
export type Refusal =
  | { kind: "rejected" | "busy" | "other_chain" | "unknown_chain" | "no_account" | "changed" }
  | { kind: "poor"; held: string }
  | { kind: "no_gas"; heldWei: string; neededWei: string }
  | { kind: "refused" | "failed"; reason: string };

export class PaymentRefused extends Error {
  override name = "PaymentRefused";
  readonly refusal: Refusal;
  constructor(refusal: Refusal, cause?: unknown) {
    super(refusal.kind, { cause });
    this.refusal = refusal;
  }
}

export type Order = {
  record: AddressRecord;
  /** Base units, decimal. */
  amount: string;
  chainName: string;
  walletChain: { rpcUrl: string; coin: string } | undefined;
  /** What is owed at the last moment before the wallet is asked to sign. */
  owedNow: () => string;
  tell: (step: Step) => void;
  /** Called at once when it is sent, and again when the wallet's node tells its nonce. */
  sent: (kept: Kept) => void;
};

/**
 * Asks a wallet to pay.
 *
 * @throws {PaymentRefused} when nothing was sent, or the wallet does not say
 */
export async function sendPayment(
  provider: EIP1193Provider,
  rdns: string,
  order: Order,
): Promise<void> {
  const { record, amount, tell } = order;
  const { chainId, token } = record.intent;
  // A wallet asks its person: repeating a question would ask them twice.
  const client = createClient({ transport: custom(provider, { retryCount: 0 }) });
  tell("connect");
  const [from] = await orRefused(requestAddresses(client));
  if (!from) throw new PaymentRefused({ kind: "no_account" });
  tell("chain");
  await changeChain(client, order);
  tell("check");
  const data = encodeTransfer(record.address, BigInt(amount));
  await requireMeans(client, { from, token, amount, data });
  const [nonce, fromBlock] = await orRefused(
    Promise.all([
      getTransactionCount(client, { address: from, blockTag: "pending" }),
      getBlockNumber(client, { cacheTime: 0 }),
    ]),
  );
  if (order.owedNow() !== amount) throw new PaymentRefused({ kind: "changed" });
  tell("sign");
  const hash = await orRefused(
    sendTransaction(client, { account: from, to: token, data, chain: null }),
  );
  const times = { sentAtMs: Date.now(), fromBlock: Number(fromBlock) };
  const kept: Kept = { hash, from, nonce, chainId, amount, rdns, ...times };
  order.sent(kept);
  // The wallet chose the nonce. A node that does not know the transaction yet leaves our guess.
  const known = await getTransaction(client, { hash }).catch(() => undefined);
  if (known && known.nonce !== nonce) order.sent({ ...kept, nonce: known.nonce });
}

type Client = ReturnType<typeof createClient>;

/** A wallet that says yes and stays where it was would pay on the wrong chain. */
async function changeChain(client: Client, { record, chainName, walletChain }: Order) {
  const { chainId } = record.intent;
  if ((await orRefused(getChainId(client))) === chainId) return;
  try {
    await switchChain(client, { id: chainId });
  } catch (error) {
    if (!hasCode(error, 4902)) throw refusalOf(error);
    const chain = knownChain(chainId) ?? chainOf(chainId, chainName, walletChain);
    if (!chain) throw new PaymentRefused({ kind: "unknown_chain" }, error);
    await orRefused(addChain(client, { chain }));
    if ((await orRefused(getChainId(client))) !== chainId)
      await orRefused(switchChain(client, { id: chainId }));
  }
  if ((await orRefused(getChainId(client))) !== chainId)
    throw new PaymentRefused({ kind: "other_chain" });
}

const chainOf = (id: number, name: string, walletChain: Order["walletChain"]): Chain | undefined =>
  walletChain && {
    id,
    name,
    nativeCurrency: { name: walletChain.coin, symbol: walletChain.coin, decimals: 18 },
    rpcUrls: { default: { http: [walletChain.rpcUrl] } },
  };

type Transfer = { from: Hex; token: Hex; amount: string; data: Hex };

/** The tokens, the token's consent, and the coin for the fee: asked of the wallet's own node. */
async function requireMeans(client: Client, { from, token, amount, data }: Transfer) {
  const { data: held } = await orRefused(call(client, { to: token, data: encodeBalanceOf(from) }));
  const heldUnits = held && held.length >= 66 ? BigInt(held.slice(0, 66)) : 0n;
  if (heldUnits < BigInt(amount))
    throw new PaymentRefused({ kind: "poor", held: heldUnits.toString() });
  const gas = await estimateGas(client, { account: from, to: token, data }).catch((error) => {
    throw new PaymentRefused({ kind: "refused", reason: reasonOf(error) }, error);
  });
  const [price, coin] = await orRefused(
    Promise.all([getGasPrice(client), getBalance(client, { address: from })]),
  );
  if (coin < gas * price) {
    const [heldWei, neededWei] = [coin.toString(), (gas * price).toString()];
    throw new PaymentRefused({ kind: "no_gas", heldWei, neededWei });
  }
}

async function orRefused<Value>(asked: Promise<Value>): Promise<Value> {
  try {
    return await asked;
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): PaymentRefused {
  if (hasCode(error, 4001)) return new PaymentRefused({ kind: "rejected" }, error);
  if (hasCode(error, -32002)) return new PaymentRefused({ kind: "busy" }, error);
  return new PaymentRefused({ kind: "failed", reason: reasonOf(error) }, error);
}

/** Wallets put their codes at different depths; some wrap the one that matters in `data`. */
function hasCode(error: unknown, code: number): boolean {
  for (let at: unknown = error, depth = 0; at && depth < 8; depth++) {
    const found = at as { code?: unknown; cause?: unknown; data?: { originalError?: unknown } };
    if (found.code === code) return true;
    const inner = found.data?.originalError as { code?: unknown } | undefined;
    if (inner?.code === code) return true;
    at = found.cause;
  }
  return false;
}

const reasonMax = 200;

const reasonOf = (error: unknown): string => {
  const details = error instanceof BaseError ? error.details || error.shortMessage : `${error}`;
  return details.slice(0, reasonMax);
};
