// Tests payments by a browser wallet on a real chain, from the button to the receipt. For open
// wallet requests, see wallet-request.test.ts.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { demoTokens, localChainId } from "../../scripts/local-chain.ts";
import { onlyLong } from "../../scripts/long.ts";
import { poor, rich, startPayer } from "../wallets/payer.ts";
import { newWallet } from "../wallets/test-wallet.ts";
import { assertSound, listenForFaults } from "./browser.ts";
import { createOrder, execute, mint, openFresh, readCode, token } from "./pay-page.ts";

const { service, browser, page, wallet, payButton, show, chain, says, gone, start } =
  await startPayer();

describe("the check of the result with the wallet's own node", () => {
  test("if the service lies, the page says that the node does not confirm the result", async () => {
    const record = await createOrder(service);
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
    await show(record);
    await says("Your wallet’s node doesn’t confirm this result");
  });

  test("the page says that the node confirms the result", async () => {
    const record = await createOrder(service);
    await mint(service, record.address, 25_000_000n);
    await execute(service, record);
    Object.assign(wallet, newWallet(rich));
    await show(record);
    await says(/Your wallet’s node confirms this result in block \d+/);
    assert.ok(!wallet.asked.includes("eth_requestAccounts"));
    wallet.chainId = 1;
    wallet.asked.length = 0;
    const proved = page.waitForResponse((answer) => answer.url().endsWith("/proof"));
    await show(record);
    await says("Completed");
    await proved; // The chart needs the proof but no wallet.
    while (!wallet.asked.includes("eth_chainId")) await page.waitForTimeout(50);
    assert.ok(!wallet.asked.includes("eth_getBlockByNumber"));
    assert.equal(await page.getByText("Your wallet’s node").count(), 0);
  });
});

describe("payments that are not sent", () => {
  const nothingSent = async (record: AddressRecord) => {
    assert.equal(wallet.sent, undefined);
    assert.equal(await readCode(page), record.address);
    await payButton().waitFor();
  };

  test("nothing is sent if the payer rejects the request", async () => {
    const record = await start();
    wallet.fault = "rejects";
    await payButton().click();
    await says("You rejected the request in your wallet. Nothing was sent.");
    await nothingSent(record);
    await assertSound(page, "declined");
    wallet.fault = undefined;
    await payButton().click();
    await says("Paid, processing");
  });

  test("nothing is sent if the wallet does not switch the chain", async () => {
    const record = await start();
    Object.assign(wallet, { chainId: 1, fault: "stays" });
    await payButton().click();
    await says("Your wallet is still on a different network. Nothing was sent.");
    await nothingSent(record);
  });

  test("nothing is sent if the wallet does not have the chain", onlyLong, async () => {
    const record = await start();
    await page.goto(`${new URL(page.url()).origin}/a/#terms=${record.terms}`);
    Object.assign(wallet, { chainId: 1, knows: new Set([1]) });
    await payButton().click();
    await says("Your wallet doesn’t have Local. Nothing was sent.");
    await nothingSent(record);
  });

  test("nothing is sent if the account has too little of the token", async () => {
    const record = await start(poor);
    await payButton().click();
    await says(`This account has 0 ${token.symbol} and needs 25 ${token.symbol}.`);
    await nothingSent(record);
  });

  test("nothing is sent if the account cannot pay the fee", onlyLong, async () => {
    const broke = "0x00000000000000000000000000000000000b20ce";
    await mint(service, broke, 25_000_000n);
    const record = await start(broke);
    await payButton().click();
    await says(/Not enough for the network fee. This account has 0 ETH and needs about 0\.\d+ ETH/);
    await nothingSent(record);
  });

  test("nothing is sent if the amount due has changed", async () => {
    const record = await start();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    // Simulates a user who takes time to confirm the first request.
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
    await nothingSent(record);
  });
});

describe("a payment with a wallet", () => {
  test("the page adds a missing chain to the wallet and pays", async () => {
    const record = await start();
    Object.assign(wallet, { chainId: 1, knows: new Set([1]) });
    const started = Date.now();
    await payButton().click();
    await says("Paid, processing");
    const seconds = (Date.now() - started) / 1000;
    assert.equal(wallet.sent?.to, token.address);
    assert.ok(wallet.asked.includes("wallet_addEthereumChain"));
    assert.equal(await page.locator(".qr").count(), 0);
    const hash = await execute(service, record);
    await says("There’s nothing more to do.");
    await says(hash);
    assert.equal(await page.getByText("Expires in").count(), 0);
    assert.equal(await page.getByText("Expected result").count(), 0);
    assert.ok(seconds < 30, `${seconds} s from the press to paid`);
  });

  test("the page reports a failed payment and offers to pay again", onlyLong, async () => {
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

describe("money that does not count as payment", () => {
  test("the page says that other tokens and native coin will be returned", async () => {
    const record = await createOrder(service);
    const page = await openFresh(browser);
    const faults = listenForFaults(page);
    await page.goto(`${new URL(service.baseUrl).origin}/a/${record.address}`);
    await mint(service, record.address, 1_500_000_000_000_000_000n, demoTokens[1]!.address);
    const { symbol } = demoTokens[1]!;
    await says(`Received 1.5 ${symbol} instead of 25 ${token.symbol}`, page);
    const funds = { from: rich, to: record.address, value: "0x38d7ea4c68000" };
    await chain("eth_sendTransaction", funds);
    await says(new RegExp(`Received 0\\.0010 .+, 1\\.5 ${symbol} instead`), page);
    await says(/The money stays here until .* goes to the return address/, page);
    assert.equal(await readCode(page), record.address);
    await assertSound(page, "another token arrived");
    assert.deepEqual(faults, []);
    await page.context().close();
  });
});

describe("a browser without a wallet", () => {
  test("the page links to wallet apps that can open it", async () => {
    const page = await openFresh(browser);
    const url = `${new URL(service.baseUrl).origin}/a/${(await createOrder(service)).address}`;
    await page.goto(url);
    const link = (name: string) => page.getByRole("link", { name }).getAttribute("href");
    await page.getByText("No wallet found here.").waitFor();
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

describe("a payment that is not yet in a block", () => {
  let record: AddressRecord;
  beforeEach(async () => {
    record = await start();
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

  test("the page offers no second payment", async () => {
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

  test("the page recognizes a payment that was resent with a higher fee", async () => {
    await page.reload();
    await says("Payment pending");
    await resend({});
    await says("Paid, processing");
  });

  test("the page reports a canceled payment and offers to pay again", onlyLong, async () => {
    await resend({ to: rich, data: "0x" });
    await says("The payment was canceled in your wallet. Nothing was paid.");
    await nothingOffered();
    await assertSound(page, "cancelled");
    await page.getByRole("button", { name: "Pay again" }).click();
    await payButton().waitFor();
  });

  test("the page reports that another transaction replaced the payment", onlyLong, async () => {
    await resend({ to: poor, data: "0x" });
    await says("Your wallet sent a different transaction instead");
    await page.getByRole("button", { name: "Pay again" }).click();
    await payButton().waitFor();
  });

  test("a browser tab without the wallet shows the server's confirmation", onlyLong, async () => {
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByText("The wallet that sent it isn’t available here").waitFor();
    assert.equal(await other.locator(".qr").count(), 0);
    await chain("evm_mine");
    await other.getByText("Paid, processing").waitFor();
  });

  test(
    "the page shows the service's status if the wallet is on another chain",
    onlyLong,
    async () => {
      wallet.chainId = 1;
      await says(
        "Your wallet is on a different network, so this page can’t check the payment’s status.",
      );
      await chain("evm_mine");
      await chain("evm_setAutomine", true);
      await says("Paid, processing");
      await execute(service, record);
      await says("There’s nothing more to do.");
      await gone("Payment pending");
      await gone("Your wallet is on a different network");
    },
  );

  test("the page says that the wallet is on another chain", onlyLong, async () => {
    wallet.chainId = 1;
    await says(
      "Your wallet is on a different network, so this page can’t check the payment’s status.",
    );
    await nothingOffered();
    wallet.chainId = localChainId;
    await chain("evm_mine");
    await says("Paid, processing");
  });

  // This test runs last, because its fake clock stays installed in the page.
  test("the page reports a dropped payment after a minute", onlyLong, async () => {
    await page.clock.install();
    await page.reload();
    await says("Payment pending");
    await chain("anvil_dropTransaction", wallet.sent!.hash);
    for (let seconds = 0; seconds < 70; seconds += 5) await page.clock.runFor(5_000);
    await says("Your wallet’s node no longer knows this payment.");
    await nothingOffered();
    await assertSound(page, "dropped");
    await page.getByRole("button", { name: "It didn’t go through. Show payment options" }).click();
    await payButton().waitFor();
  });
});
