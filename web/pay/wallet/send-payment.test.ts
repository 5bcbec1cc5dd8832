// What a wallet is asked, in order, and why nothing is sent: one suite over a wallet of the browser
// and one that is reached over WalletConnect. The browser's own part, tabs and reloads, is in
// e2e/browser/wallet.test.ts.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, afterEach, describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import {
  findKept,
  type Kept,
  keep,
  type Order,
  type PaymentRefused,
  type Refusal,
  sendPayment,
  type WalletProvider,
} from "executable-address/page";
import { serve } from "../../../address/test/serve.ts";
import { openEnd, openPhone } from "../../../e2e/wallets/phone.ts";
import { startRelay } from "../../../e2e/wallets/walletconnect-relay.ts";
import { providerOf } from "../walletconnect/walletconnect.ts";

const buyer: Hex = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const another: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const record = makeRecord({
  ...{ chainId: 1, token: `0x${"1".repeat(40)}`, amount: "25" },
  calls: [{ target: `0x${"1".repeat(40)}`, function: "pay()", args: [] }],
  ...{ expirationTimestamp: 2_000_000_000, recovery: buyer, salt: `0x${"0".repeat(64)}` },
});
const { address, intent } = record;
const { amount, chainId } = intent;
const order: Order = {
  ...{ record, amount, chainName: "the chain", walletChain: undefined },
  ...{ owedNow: () => amount, tell() {} },
};
const hash = `0x${"12".repeat(32)}` as const;
const kept: Kept = {
  ...{ from: buyer, nonce: 0, chainId, amount, rdns: "a.wallet", sinceMs: 1, fromBlock: 1 },
};
const keepAnother = () => {
  keep(address, kept);
  return "0x9";
};
const refuseWith = (code: number) => () => {
  throw Object.assign(new Error("no"), { code });
};

type Answers = Record<string, () => unknown>;

/** A provider by which a page asks `wallet`, and what the wallet tells the page unasked. */
type Reach = (wallet: WalletProvider) => Promise<{
  provider: WalletProvider;
  tellAccounts: () => Promise<void>;
  leave: () => Promise<unknown>;
}>;

const relay = await startRelay();
after(() => relay.close());
const closings: (() => Promise<void>)[] = [];
afterEach(async () => {
  keep(address, undefined);
  for (const close of closings.splice(0)) await close();
});

/** It tells nothing: a page asks it each time. */
const inThisBrowser: Reach = async (wallet) => {
  return { provider: wallet, tellAccounts: async () => {}, leave: async () => {} };
};

const overWalletConnect: Reach = async ({ request }) => {
  const node = await serve(async (req, res) => {
    const { id, ...asked } = JSON.parse(Buffer.concat(await req.toArray()).toString());
    const answer = await request(asked).then(
      (result) => ({ result }),
      ({ code, message }) => ({ error: { code, message } }),
    );
    res.end(JSON.stringify({ id, jsonrpc: "2.0", ...answer }));
  });
  const phone = await openPhone(relay.url, `eip155:${chainId}`, request);
  const page = await openEnd(relay.url);
  closings.push(node.close, phone.close, page.close);
  const provider = providerOf(page.client, {
    chainId,
    rpcUrl: node.origin,
    show: (pairing) => void (pairing && phone.pair(pairing.uri)),
  });
  const leave = () => Promise.all([once(page.client.events, "session_delete"), phone.leave()]);
  return { provider, tellAccounts: phone.tellAccounts, leave };
};

/** A wallet that can pay, but for `answers`. */
async function openWallet(reach: Reach, answers: Answers) {
  const asked: string[] = [];
  const able: Answers = {
    eth_requestAccounts: () => [buyer],
    eth_chainId: () => `0x${chainId.toString(16)}`,
    wallet_switchEthereumChain: () => null,
    eth_call: () => `0x${BigInt(amount).toString(16).padStart(64, "0")}`,
    eth_estimateGas: () => "0x10",
    eth_gasPrice: () => "0x2",
    eth_getBalance: () => "0x20",
    eth_getTransactionCount: () => "0x7",
    eth_blockNumber: () => "0x9",
    eth_sendTransaction: () => hash,
    eth_getTransactionByHash: () => null,
    ...answers,
  };
  const { provider, ...telling } = await reach({
    request: async ({ method }) => {
      asked.push(method);
      return able[method]!();
    },
  });
  const pay = async (changed: Partial<Order> = {}) => {
    const sent = sendPayment(provider, "a.wallet", { ...order, ...changed });
    const refusal = await sent.then(
      () => undefined,
      (error) => (error as PaymentRefused).refusal,
    );
    return { refusal, isAsked: asked.includes("eth_sendTransaction") };
  };
  return { able, pay, ...telling };
}

type Case = [Refusal, Answers, Partial<Order>?];
const sent = { refusal: undefined, isAsked: true };

/** Only a wallet that is on one chain of several can be refused for these. */
const chainCases: Case[] = [
  [{ kind: "failed", reason: "eth_chainId: no number" }, { eth_chainId: () => "none" }],
  [{ kind: "other_chain" }, { eth_chainId: () => "0x7a69" }],
  [
    { kind: "unknown_chain" },
    { eth_chainId: () => "0x7a69", wallet_switchEthereumChain: refuseWith(4902) },
  ],
];

const cases: Case[] = [
  [{ kind: "no_account" }, { eth_requestAccounts: () => [] }],
  [{ kind: "rejected" }, { eth_requestAccounts: refuseWith(4001) }],
  [{ kind: "busy" }, { eth_requestAccounts: refuseWith(-32002) }],
  [{ kind: "poor", held: "0" }, { eth_call: () => "0x" }],
  [{ kind: "refused", reason: "no" }, { eth_estimateGas: refuseWith(3) }],
  [{ kind: "no_gas", heldWei: "31", neededWei: "32" }, { eth_getBalance: () => "0x1f" }],
  [{ kind: "changed" }, {}, { owedNow: () => "1" }],
  [{ kind: "asked_elsewhere" }, { eth_blockNumber: keepAnother }],
];

function keepsItsPromises(reach: Reach, ownCases: Case[]) {
  const send = async (answers: Answers, changed?: Partial<Order>) =>
    (await openWallet(reach, answers)).pay(changed);

  for (const [refusal, answers, changed] of [...ownCases, ...cases])
    test(`${refusal.kind}, and nothing is sent`, async () => {
      assert.deepEqual(await send(answers, changed), { refusal, isAsked: false });
    });

  const skip = navigator.locks ? false : "this Node has no locks";
  test("asked_elsewhere while another asks for the same address", { skip }, async () => {
    const connecting = Promise.withResolvers<void>();
    const held = Promise.withResolvers<Hex[]>();
    const eth_requestAccounts = () => {
      connecting.resolve();
      return held.promise;
    };
    const first = send({ eth_requestAccounts });
    await connecting.promise;
    const second = await send({});
    assert.deepEqual(second, { refusal: { kind: "asked_elsewhere" }, isAsked: false });
    held.resolve([buyer]);
    assert.deepEqual(await first, sent);
  });

  test("rejected at the signature leaves nothing kept, any other failure does", async () => {
    const declined = await send({ eth_sendTransaction: refuseWith(4001) });
    assert.deepEqual(declined, { refusal: { kind: "rejected" }, isAsked: true });
    assert.equal(findKept(address), undefined);
    const failed = await send({ eth_sendTransaction: refuseWith(4900) });
    assert.deepEqual(failed, { refusal: { kind: "failed", reason: "no" }, isAsked: true });
    assert.equal(findKept(address)?.nonce, 7);
  });

  test("is sent, and kept by its hash", async () => {
    assert.deepEqual(await send({}), sent);
    assert.equal(findKept(address)?.hash, hash);
  });

  test("pays from the account that the wallet has by then, also after it left", async () => {
    const { able, pay, tellAccounts, leave } = await openWallet(reach, {});
    const paysFrom = async (account: Hex) => {
      assert.deepEqual(await pay(), sent);
      assert.equal(findKept(address)?.from, account);
      keep(address, undefined);
    };
    await paysFrom(buyer);
    able.eth_requestAccounts = () => [another];
    await tellAccounts();
    await paysFrom(another);
    await leave();
    able.eth_requestAccounts = () => [buyer];
    await paysFrom(buyer);
  });
}

describe("sendPayment by a wallet of this browser", () => {
  keepsItsPromises(inThisBrowser, chainCases);
});

describe("sendPayment by a wallet over WalletConnect", () => {
  keepsItsPromises(overWalletConnect, []);

  test("a session is of one chain: the wallet's own does not matter", async () => {
    const { pay } = await openWallet(overWalletConnect, { eth_chainId: () => "0x7a69" });
    assert.deepEqual(await pay(), sent);
  });
});
