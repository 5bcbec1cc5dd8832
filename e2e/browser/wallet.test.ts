// Tests payments with a browser wallet, from the button to the receipt, including everything that
// wallets and users do in between, on a real chain.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { type AddressRecord, encodeTransfer, type Hex } from "executable-address";
import type { Browser, Page } from "playwright-core";
import {
  demoTokens,
  executorAccount,
  localChainId,
  payerAccount,
} from "../../scripts/local-chain.ts";
import { onlyLong } from "../../scripts/long.ts";
import { type Running, startService } from "../service.ts";
import { announceWallet, ask, newWallet, type TestWallet } from "../wallets/test-wallet.ts";
import { assertSound, launchBrowser, listenForFaults } from "./browser.ts";
import { createOrder, execute, mint, openFresh, readCode, token } from "./pay-page.ts";

/** Two accounts of the demo chain: one with demo dollars, and one without. */
const rich = payerAccount.address as Hex;
const poor = executorAccount.address as Hex;

let service: Running;
let browser: Browser;
let record: AddressRecord;
/** Most tests use this page, because a second load costs half of a first load in a new context. */
let page: Page;
let wallet: TestWallet;
/** The faults of `page`. */
let faults: string[];

const chain = (method: string, ...params: unknown[]) => ask(service.anvil.rpcUrl, method, params);
const payButton = () => page.getByRole("button", { name: "Pay with Test Wallet" });
const says = (text: string | RegExp, at = page) => at.getByText(text).first().waitFor();
const gone = (text: string) => page.getByText(text).first().waitFor({ state: "detached" });

async function openPayer(): Promise<void> {
  page = await openFresh(browser);
  faults = listenForFaults(page);
  wallet = await announceWallet(page, service.anvil.rpcUrl, rich);
}

const show = () => page.goto(`${new URL(service.baseUrl).origin}/a/${record.address}`);

/** Opens a new address with a new wallet of `account`. */
async function start(account = rich, secondsLeft?: number): Promise<void> {
  record = await createOrder(service, secondsLeft);
  Object.assign(wallet, newWallet(account));
  await show();
  await payButton().waitFor();
}

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  await mint(service, rich, 1_000_000_000n);
  await openPayer();
});

afterEach(async () => {
  await page.unrouteAll({ behavior: "wait" });
  for (const tab of page.context().pages()) if (tab !== page) await tab.close();
  assert.deepEqual(faults, []);
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

describe("the outcome, according to the wallet's own node", () => {
  test("contradicts a server that claims an execution that did not happen", async () => {
    record = await createOrder(service);
    const other = await createOrder(service);
    await mint(service, other.address, 25_000_000n);
    await execute(service, other);
    const status = await (await fetch(`${service.baseUrl}/address/${other.address}/status`)).json();
    Object.assign(wallet, newWallet(rich));
    const lie = JSON.stringify({ ...(status as object), address: record.address });
    await page.route("**/v1/address/*/events*", (route) => route.abort());
    await page.route("**/v1/address/*/status*", (route) =>
      route.fulfill({ body: lie, contentType: "application/json" }),
    );
    await show();
    await says("Your wallet’s node doesn’t confirm this result");
  });

  test("confirms an outcome, and is absent if the wallet is on another chain", async () => {
    record = await createOrder(service);
    await mint(service, record.address, 25_000_000n);
    await execute(service, record);
    Object.assign(wallet, newWallet(rich));
    await show();
    await says(/Your wallet’s node confirms this result in block \d+/);
    assert.ok(!wallet.asked.includes("eth_requestAccounts"));
    wallet.chainId = 1;
    wallet.asked.length = 0;
    const proved = page.waitForResponse((answer) => answer.url().endsWith("/proof"));
    await show();
    await says("Completed");
    await proved; // The chart of the payments does not use the wallet.
    while (!wallet.asked.includes("eth_chainId")) await page.waitForTimeout(50);
    assert.ok(!wallet.asked.includes("eth_getBlockByNumber"));
    assert.equal(await page.getByText("Your wallet’s node").count(), 0);
  });
});

describe("sends nothing, and the page explains why", () => {
  const nothingSent = async () => {
    assert.equal(wallet.sent, undefined);
    assert.equal(await readCode(page), record.address);
    await payButton().waitFor();
  };

  test("if the payer rejects the request", async () => {
    await start();
    wallet.fault = "rejects";
    await payButton().click();
    await says("You rejected the request in your wallet. Nothing was sent.");
    await nothingSent();
    await assertSound(page, "declined");
    wallet.fault = undefined;
    await payButton().click();
    await says("Paid, processing");
  });

  test("if the wallet stays on another chain although it agreed to switch", async () => {
    await start();
    Object.assign(wallet, { chainId: 1, fault: "stays" });
    await payButton().click();
    await says("Your wallet is still on another network. Nothing was sent.");
    await nothingSent();
  });

  test("if the wallet lacks the chain and the page cannot add it", onlyLong, async () => {
    await start();
    await page.goto(`${new URL(page.url()).origin}/a/#terms=${record.terms}`);
    Object.assign(wallet, { chainId: 1, knows: new Set([1]) });
    await payButton().click();
    await says("Your wallet doesn’t have Local. Nothing was sent.");
    await nothingSent();
  });

  test("if the account has too little of the token", async () => {
    await start(poor);
    await payButton().click();
    await says(`This account has 0 ${token.symbol} and needs 25 ${token.symbol}.`);
    await nothingSent();
  });

  test("if the account cannot pay the fee", onlyLong, async () => {
    const broke = "0x00000000000000000000000000000000000b20ce";
    await mint(service, broke, 25_000_000n);
    await start(broke);
    await payButton().click();
    await says(/Not enough for the network fee. This account has 0 ETH and needs about 0\.\d+ ETH/);
    await nothingSent();
  });

  test("if another payer has paid a part in the meantime", async () => {
    await start();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // A user takes some time for the first request.
    await page.exposeFunction("waits", () => held);
    await page.evaluate(`dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail: {
      info: { uuid: "510e", name: "Slow Wallet", icon: "", rdns: "example.slow" },
      provider: { request: async (asked) => {
        if (asked.method === "eth_requestAccounts") await waits();
        const { result, error } = await askWallet({ params: [], ...asked });
        if (error) throw error;
        return result;
      } } } }))`);
    await page.getByRole("button", { name: "Pay with Slow Wallet" }).click();
    await says("Approve the connection in your wallet");
    await mint(service, record.address, 5_000_000n);
    await page.getByRole("heading", { name: `20 ${token.symbol}` }).waitFor();
    release();
    await says("The amount due changed. Nothing was sent.");
    await nothingSent();
  });
});

describe("a payment from start to end", () => {
  test("adds the chain to a wallet that lacks it, pays, and shows the receipt", async () => {
    await start();
    Object.assign(wallet, { chainId: 1, knows: new Set([1]) });
    const started = Date.now();
    await payButton().click();
    await says("Paid, processing");
    const seconds = (Date.now() - started) / 1000;
    assert.equal(wallet.sent?.to, token.address);
    assert.ok(wallet.asked.includes("wallet_addEthereumChain"));
    assert.equal(await page.locator(".qr").count(), 0);
    const hash = await execute(service, record);
    await says("Every step ran exactly once.");
    await says(hash);
    assert.equal(await page.getByText("Expires in").count(), 0);
    assert.equal(await page.getByText("Expected result").count(), 0);
    assert.ok(seconds < 30, `${seconds} s from the press to paid`);
  });

  test("reports a payment that runs out of gas, and offers payment again", onlyLong, async () => {
    await start();
    wallet.fault = "reverts";
    await payButton().click();
    await says(/The payment failed in block \d+\. No tokens were sent/);
    assert.equal(await page.locator(".qr").count(), 0);
    wallet.fault = undefined;
    await page.getByRole("button", { name: "Pay again" }).click();
    await payButton().click();
    await says("Paid, processing");
  });
});

describe("money that does not count", () => {
  test("without a wallet, shows where a wrong token and native coin will go", async () => {
    record = await createOrder(service);
    const page = await openFresh(browser);
    const faults = listenForFaults(page);
    await page.goto(`${new URL(service.baseUrl).origin}/a/${record.address}`);
    await mint(service, record.address, 1_500_000_000_000_000_000n, demoTokens[1]!.address);
    const { symbol } = demoTokens[1]!;
    await says(`Received 1.5 ${symbol} instead of 25 ${token.symbol}`, page);
    const funds = { from: rich, to: record.address, value: "0x38d7ea4c68000" };
    await chain("eth_sendTransaction", funds);
    await says(new RegExp(`Received 0\\.0010 .+, 1\\.5 ${symbol} instead`), page);
    await says(/It stays here until .* goes to the return address/, page);
    assert.equal(await readCode(page), record.address);
    await assertSound(page, "another token arrived");
    assert.deepEqual(faults, []);
    await page.context().close();
  });
});

describe("one payment per intention, even while the wallet request is open", () => {
  let answer = () => {};
  const asks = () => {
    wallet.asking = new Promise((resolve) => {
      answer = resolve;
    });
    return payButton().click();
  };
  const stillAsking = (at: Page) =>
    at.getByText("Your wallet may still be asking for this payment. Check there first.").waitFor();
  const nothingOffered = async (at: Page) => {
    assert.equal(await at.locator(".qr").count(), 0);
    assert.equal(await at.getByRole("button", { name: /^Pay with/ }).count(), 0);
  };
  const sendsOf = (of: TestWallet) =>
    of.asked.filter((method) => method === "eth_sendTransaction").length;
  const sends = () => sendsOf(wallet);
  /** Waits until no tab requests a payment. */
  const settled = async (at: Page) => {
    const locks = "navigator.locks.query().then(({ held }) => held.length)";
    while ((await at.evaluate(locks)) !== 0) await at.waitForTimeout(20);
  };
  const connects = (of: TestWallet) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    of.connecting = promise;
    return resolve;
  };

  test("a second tab before the connection is approved: only the first tab requests", async () => {
    await start();
    const connect = connects(wallet);
    await payButton().click();
    await says("Approve the connection in your wallet");
    const other = await page.context().newPage();
    const itsWallet = await announceWallet(other, service.anvil.rpcUrl, rich);
    await other.goto(page.url());
    await other.getByRole("button", { name: "Pay with Test Wallet" }).click();
    await other.getByText("Another tab is already requesting this payment.").waitFor();
    connect();
    await says("Paid, processing");
    assert.deepEqual([sends(), sendsOf(itsWallet)], [1, 0]);
  });

  test("executed before the connection is approved: requests no payment", onlyLong, async () => {
    await start();
    const connect = connects(wallet);
    await payButton().click();
    await says("Approve the connection in your wallet");
    await mint(service, record.address, 25_000_000n);
    await execute(service, record);
    await says("Every step ran exactly once.");
    connect();
    await settled(page);
    assert.equal(sends(), 0);
  });

  test("executed while the request is open: the page asks the payer to reject it", async () => {
    await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await mint(service, record.address, 25_000_000n);
    await execute(service, record);
    await says("Every step ran exactly once.");
    await says("Reject the request in your wallet");
    await nothingOffered(page);
    wallet.fault = "rejects";
    answer();
    await gone("Reject the request in your wallet");
  });

  test("a reload or a second tab offers nothing, and finds the payment by its sender", async () => {
    await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await nothingOffered(page);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await stillAsking(other);
    await nothingOffered(other);
    await page.reload();
    await stillAsking(page);
    await nothingOffered(page);
    await assertSound(page, "the wallet still asks");
    answer();
    await says("Paid, processing");
    assert.equal(sends(), 1);
    await gone("Your wallet may still be asking");
    await gone("Reject the request in your wallet");
  });

  test("already paid in another way: the page asks the payer to reject the request", async () => {
    await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await mint(service, record.address, 25_000_000n);
    await says("Reject the request in your wallet");
    wallet.fault = "rejects";
    answer();
    await says("Paid, processing");
    await gone("Reject the request in your wallet");
  });

  /** The payer scans the QR code with a phone that has the same seed. */
  const payByCode = async () => {
    const data = encodeTransfer(record.address, 25_000_000n);
    const { result, error } = await chain("eth_sendTransaction", {
      ...{ from: rich, to: token.address, data },
    });
    assert.ok(result, JSON.stringify(error));
  };

  test("the same account pays by QR code: the request stays until it is answered", async () => {
    await start();
    await asks();
    await says("Confirm in your wallet: 25");
    const other = await page.context().newPage();
    await announceWallet(other, service.anvil.rpcUrl, rich);
    await other.goto(page.url());
    await stillAsking(other);
    await payByCode();
    for (const at of [page, other]) await says("Reject the request in your wallet", at);
    await execute(service, record);
    await says("Every step ran exactly once.");
    await other.getByText("Every step ran exactly once.").waitFor();
    // The watcher checks the account on the chain every two seconds.
    await page.waitForTimeout(6_000);
    for (const at of [page, other]) {
      await says("Reject the request in your wallet", at);
      await says(`If your wallet still asks for 25 ${token.symbol}, reject it.`, at);
      await nothingOffered(at);
      assert.equal(await at.getByRole("button", { name: /It didn’t go through/ }).count(), 0);
    }
    wallet.fault = "rejects";
    answer();
    await gone("Reject the request in your wallet");
    await other.getByText("Reject the request in your wallet").waitFor({ state: "detached" });
    assert.equal(wallet.sent, undefined);
  });

  test(
    "after a reload, shows a payment of the same account with a last warning",
    onlyLong,
    async () => {
      await start();
      await asks();
      await says("Confirm in your wallet: 25");
      await page.reload();
      await stillAsking(page);
      await payByCode();
      await execute(service, record);
      await says("Every step ran exactly once.");
      await says(`If your wallet still shows a request for 25 ${token.symbol}, reject it.`);
      await nothingOffered(page);
      await page.getByRole("button", { name: "Dismiss" }).click();
      await gone("If your wallet still shows a request");
      await nothingOffered(page);
    },
  );

  test(
    "the wallet's node is silent: the payer can cancel, and another tab can pay",
    onlyLong,
    async () => {
      await start();
      wallet.isNodeSilent = true;
      await payButton().click();
      await says("Checking your balance and the network fee");
      const other = await page.context().newPage();
      const itsWallet = await announceWallet(other, service.anvil.rpcUrl, rich);
      await other.goto(page.url());
      await page.getByRole("button", { name: "Cancel" }).click();
      await payButton().waitFor();
      await other.getByRole("button", { name: "Pay with Test Wallet" }).click();
      await says("Paid, processing", other);
      assert.deepEqual([sends(), sendsOf(itsWallet)], [0, 1]);
    },
  );

  test("the wallet's node is silent for 15 seconds: nothing is sent", onlyLong, async () => {
    await start();
    wallet.isNodeSilent = true;
    await payButton().click();
    await says("Your wallet’s network didn’t respond. Nothing was sent.");
    wallet.isNodeSilent = false;
    await payButton().click();
    await says("Paid, processing");
  });

  test(
    "the wallet pays from another account: its response ends the request",
    onlyLong,
    async () => {
      await mint(service, poor, 25_000_000n);
      await start();
      await asks();
      await says("Confirm in your wallet: 25");
      wallet.sendsFrom = poor;
      answer();
      await says("Paid, processing");
      await execute(service, record);
      await says("Every step ran exactly once.");
      await gone("Payment pending");
      assert.equal(await page.getByText("Reject the request in your wallet").count(), 0);
      assert.equal(await page.getByText("If your wallet still shows a request").count(), 0);
    },
  );

  test("the wallet switches its chain during the request: it pays on no other chain", async () => {
    await start();
    await asks();
    await says("Confirm in your wallet: 25");
    wallet.chainId = 1;
    answer();
    await says("Your wallet reported an error");
    assert.equal(wallet.sent, undefined);
  });

  test(
    "after a reload, a partial payment changes the amount of the request",
    onlyLong,
    async () => {
      await start();
      await asks();
      await says("Confirm in your wallet: 25");
      await page.reload();
      await stillAsking(page);
      await mint(service, record.address, 5_000_000n);
      await says("Reject the request in your wallet");
      await nothingOffered(page);
      await page
        .getByRole("button", { name: "It didn’t go through. Show payment options" })
        .click();
      await payButton().waitFor();
    },
  );
});

describe("before a block contains the payment", () => {
  beforeEach(async () => {
    await start();
    await chain("evm_setAutomine", false);
    await payButton().click();
    await says("Payment pending");
  });
  afterEach(async () => {
    await chain("evm_setAutomine", true);
    await chain("evm_mine");
  });
  const resend = async (change: Record<string, string>) => {
    const { result } = await chain("eth_getTransactionByHash", wallet.sent!.hash);
    const { nonce, gas } = result as Record<string, string>;
    const fees = { maxFeePerGas: "0x2540be4000", maxPriorityFeePerGas: "0x2540be400" };
    const original = { from: rich, to: wallet.sent!.to, data: wallet.sent!.data };
    const answer = await chain("eth_sendTransaction", {
      ...original,
      nonce,
      gas,
      ...fees,
      ...change,
    });
    assert.equal(answer.error, undefined);
    await chain("evm_mine");
    return answer.result as Hex;
  };
  const nothingOffered = async () => {
    assert.equal(await page.locator(".qr").count(), 0);
    assert.equal(await payButton().count(), 0);
    assert.equal(await page.getByText("Your wallet should show:").count(), 0);
  };

  test("offers no other payment until a block has the first, even after a reload", async () => {
    await nothingOffered();
    await page.reload();
    await says("Payment pending");
    await says("Waiting for the network to confirm it.");
    await nothingOffered();
    await assertSound(page, "on its way");
    await chain("evm_mine");
    await says("Paid, processing");
    await gone("Payment pending");
  });

  test("shows a payment with a higher fee as the same payment, even after a reload", async () => {
    await page.reload();
    await says("Payment pending");
    await resend({});
    await says("Paid, processing");
  });

  test("canceled in the wallet: reports this, and offers payment again", onlyLong, async () => {
    await resend({ to: rich, data: "0x" });
    await says("The payment was canceled in your wallet. Nothing was paid.");
    await nothingOffered();
    await assertSound(page, "cancelled");
    await page.getByRole("button", { name: "Pay again" }).click();
    await payButton().waitFor();
  });

  test(
    "replaced by a different transaction: reports this, and offers payment again",
    onlyLong,
    async () => {
      await resend({ to: poor, data: "0x" });
      await says("Your wallet sent a different transaction instead");
      await page.getByRole("button", { name: "Pay again" }).click();
      await payButton().waitFor();
    },
  );

  test("dropped by the network: reports this after a minute", onlyLong, async () => {
    await page.clock.install();
    await page.reload();
    await says("Payment pending");
    await chain("anvil_dropTransaction", wallet.sent!.hash);
    for (let seconds = 0; seconds < 70; seconds += 5) await page.clock.runFor(5_000);
    await says("The network no longer knows this payment.");
    await nothingOffered();
    await assertSound(page, "dropped");
    await page.getByRole("button", { name: "It didn’t go through. Show payment options" }).click();
    await payButton().waitFor();
    // The fake clock stays in this context, so the next tests need a new context.
    await page.context().close();
    await openPayer();
  });

  test(
    "the wallet that sent it is missing: the server confirms the payment",
    onlyLong,
    async () => {
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByText("The wallet that sent it isn’t available here").waitFor();
      assert.equal(await other.locator(".qr").count(), 0);
      await chain("evm_mine");
      await other.getByText("Paid, processing").waitFor();
    },
  );

  test(
    "the wallet stays on another chain: the service's payments end the wait",
    onlyLong,
    async () => {
      wallet.chainId = 1;
      await says("Your wallet is on another network, so this page can’t check the payment there.");
      await chain("evm_mine");
      await chain("evm_setAutomine", true);
      await says("Paid, processing");
      await execute(service, record);
      await says("Every step ran exactly once.");
      await gone("Payment pending");
      await gone("Your wallet is on another network");
    },
  );

  test("says that the wallet is on another chain until the wallet switches back", async () => {
    wallet.chainId = 1;
    await says("Your wallet is on another network, so this page can’t check the payment there.");
    await nothingOffered();
    wallet.chainId = localChainId;
    await chain("evm_mine");
    await says("Paid, processing");
  });
});

describe("without a wallet", () => {
  test("links to apps that open this page in their own browser", async () => {
    const page = await openFresh(browser);
    const url = `${new URL(service.baseUrl).origin}/a/${(await createOrder(service)).address}`;
    await page.goto(url);
    const link = (name: string) => page.getByRole("link", { name }).getAttribute("href");
    await page.getByText("No wallet found in this browser.").waitFor();
    const encoded = encodeURIComponent(url);
    assert.equal(await link("MetaMask"), `https://link.metamask.io/dapp/${url.slice(7)}`);
    assert.equal(await link("Coinbase Wallet"), `https://go.cb-w.com/dapp?cb_url=${encoded}`);
    assert.equal(await link("Rainbow"), `https://rnbwapp.com/dapp?url=${encoded}`);
    assert.equal(
      await link("Trust Wallet"),
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encoded}`,
    );
    await page.context().close();
  });
});

// This test runs last, because it advances the chain's clock.
describe("an address that expires while the request is open", () => {
  test("asks the payer to reject the request", async () => {
    await start(rich, 900);
    const { promise, resolve } = Promise.withResolvers<void>();
    wallet.asking = promise;
    await payButton().click();
    await says("Confirm in your wallet: 25");
    await chain("evm_increaseTime", 1_000);
    await chain("evm_mine");
    await says("This payment expired before it completed.");
    await says("Reject the request in your wallet");
    assert.equal(await page.locator(".qr").count(), 0);
    wallet.fault = "rejects";
    resolve();
    await gone("Reject the request in your wallet");
  });
});
