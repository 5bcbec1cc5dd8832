// Tests the requests to a wallet and the reasons why no payment is sent. e2e/browser/wallet.test.ts
// tests the page, several tabs, and reloads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import {
  findStoredPayment,
  forgetStoredPayment,
  type Order,
  type PaymentRefused,
  type Refusal,
  type StoredPayment,
  sendPayment,
  storePayment,
  type WalletProvider,
} from "executable-address-element/page";

const buyer: Hex = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const another: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const record = makeRecord({
  ...{ chainId: 1, token: `0x${"1".repeat(40)}`, amount: "25" },
  calls: [{ target: `0x${"1".repeat(40)}`, function: "pay()", args: [] }],
  ...{ expirationTimestamp: 2_000_000_000, recovery: buyer, salt: `0x${"0".repeat(64)}` },
});
/** A copy of `record` for a chain that service/chains.json does not list. */
const unlisted = makeRecord({ ...record.intent, chainId: 31_337 });
const { address, intent } = record;
const { amount, chainId } = intent;
const order: Order = {
  ...{ record, amount, chainName: "the chain", walletChain: undefined },
  ...{ owedNow: () => amount, report() {} },
};
const path = join(import.meta.dirname, "../../../service/chains.json");
const listed: { chainId: number; name: string; rpcUrls: string[] }[] = JSON.parse(
  readFileSync(path, "utf8"),
);
const hash = `0x${"12".repeat(32)}` as const;
const stored: StoredPayment = {
  ...{ from: buyer, nonce: 0, chainId, amount, rdns: "a.wallet", sinceMs: 1, fromBlock: 1 },
};
const keepAnother = () => {
  storePayment(address, stored);
  return "0x9";
};
const refuseWith = (code: number) => () => {
  throw Object.assign(new Error("no"), { code });
};

type Answers = Record<string, (params?: readonly unknown[]) => unknown>;

afterEach(() => forgetStoredPayment(address));

/** A wallet that can pay. `answers` overrides the responses of single methods. */
function openWallet(answers: Answers) {
  const methods: string[] = [];
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
  const provider: WalletProvider = {
    request: async ({ method, params }) => {
      methods.push(method);
      return able[method]!(params);
    },
  };
  const pay = async (changed: Partial<Order> = {}) => {
    const sent = sendPayment(provider, "a.wallet", { ...order, ...changed });
    const refusal = await sent.then(
      () => undefined,
      (error) => (error as PaymentRefused).refusal,
    );
    return { refusal, isRequested: methods.includes("eth_sendTransaction") };
  };
  return { able, pay };
}

type Case = [Refusal, Answers, Partial<Order>?];
const sent = { refusal: undefined, isRequested: true };

const cases: Case[] = [
  [
    { kind: "failed", reason: 'eth_chainId: expected a number, found "none"' },
    { eth_chainId: () => "none" },
  ],
  [{ kind: "other_chain" }, { eth_chainId: () => "0x7a69" }],
  [
    { kind: "unknown_chain" },
    { wallet_switchEthereumChain: refuseWith(4902) },
    { record: unlisted },
  ],
  [{ kind: "no_account" }, { eth_requestAccounts: () => [] }],
  [{ kind: "rejected" }, { eth_requestAccounts: refuseWith(4001) }],
  [{ kind: "busy" }, { eth_requestAccounts: refuseWith(-32002) }],
  [{ kind: "poor", held: "0" }, { eth_call: () => "0x" }],
  [{ kind: "refused", reason: "no" }, { eth_estimateGas: refuseWith(3) }],
  [{ kind: "no_gas", heldWei: "31", neededWei: "32" }, { eth_getBalance: () => "0x1f" }],
  [{ kind: "changed" }, {}, { owedNow: () => "1" }],
  [{ kind: "requested_elsewhere" }, { eth_blockNumber: keepAnother }],
];

describe("sendPayment", () => {
  const send = (answers: Answers, changed?: Partial<Order>) => openWallet(answers).pay(changed);

  for (const [refusal, answers, changed] of cases)
    test(`sendPayment sends nothing and reports ${refusal.kind}`, async () => {
      assert.deepEqual(await send(answers, changed), { refusal, isRequested: false });
    });

  const skip = navigator.locks ? false : "this Node has no locks";
  test("sendPayment sends nothing if another request is open", {
    skip,
  }, async () => {
    const connecting = Promise.withResolvers<void>();
    const held = Promise.withResolvers<Hex[]>();
    const eth_requestAccounts = () => {
      connecting.resolve();
      return held.promise;
    };
    const first = send({ eth_requestAccounts });
    await connecting.promise;
    const second = await send({});
    assert.deepEqual(second, { refusal: { kind: "requested_elsewhere" }, isRequested: false });
    held.resolve([buyer]);
    assert.deepEqual(await first, sent);
  });

  test("sendPayment forgets a request that the payer rejected", async () => {
    const declined = await send({ eth_sendTransaction: refuseWith(4001) });
    assert.deepEqual(declined, { refusal: { kind: "rejected" }, isRequested: true });
    assert.equal(findStoredPayment(address), undefined);
    const failed = await send({ eth_sendTransaction: refuseWith(4900) });
    assert.deepEqual(failed, { refusal: { kind: "failed", reason: "no" }, isRequested: true });
    assert.equal(findStoredPayment(address)?.nonce, 7);
  });

  for (const { chainId, name, rpcUrls: known } of listed) {
    test(`sendPayment adds ${name} to the wallet`, async () => {
      const wanted = `0x${chainId.toString(16)}`;
      let chain = "0x7a69";
      let added: Partial<Record<string, unknown>> = {};
      const answers: Answers = {
        eth_chainId: () => chain,
        wallet_switchEthereumChain: refuseWith(4902),
        wallet_addEthereumChain: (params) => {
          [added] = params as [typeof added];
          chain = wanted;
          return null;
        },
      };
      const there = makeRecord({ ...intent, chainId });
      assert.deepEqual(await send(answers, { record: there }), sent);
      forgetStoredPayment(there.address);
      const { rpcUrls, nativeCurrency, ...rest } = added;
      assert.deepEqual(rest, { chainId: wanted, chainName: "the chain" });
      assert.match(
        JSON.stringify(nativeCurrency),
        /^{"name":"(\w+)","symbol":"\1","decimals":18}$/,
      );
      const [url, ...others] = rpcUrls as string[];
      assert.ok(known.includes(url!), `expected one of ${known.join(", ")}, found ${url}`);
      assert.deepEqual(others, []);
    });
  }

  test("sendPayment sends the payment and stores its hash", async () => {
    assert.deepEqual(await send({}), sent);
    assert.equal(findStoredPayment(address)?.hash, hash);
  });

  test("sendPayment uses the wallet's current account", async () => {
    const { able, pay } = openWallet({});
    const paysFrom = async (account: Hex) => {
      assert.deepEqual(await pay(), sent);
      assert.equal(findStoredPayment(address)?.from, account);
      forgetStoredPayment(address);
    };
    await paysFrom(buyer);
    able.eth_requestAccounts = () => [another];
    await paysFrom(another);
  });
});
