// Tests that an open wallet request never leads to a second payment. The payer opens other tabs,
// pays by QR code, or reloads the page.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type AddressRecord, encodeTransfer } from "executable-address";
import type { Page } from "playwright-core";
import { onlyLong } from "../../scripts/long.ts";
import { poor, rich, startPayer } from "../wallets/payer.ts";
import { announceWallet, type TestWallet } from "../wallets/test-wallet.ts";
import { assertSound } from "./browser.ts";
import { execute, mint, token } from "./pay-page.ts";

const { service, page, wallet, payButton, chain, says, gone, start } = await startPayer();

describe("an open wallet request", () => {
  let answer = () => {};
  const asks = () => {
    wallet.asking = new Promise((resolve) => {
      answer = resolve;
    });
    return payButton().click();
  };
  const stillAsking = (at: Page) =>
    at
      .getByText("Your wallet may still be asking for this payment. Check your wallet first.")
      .waitFor();
  const nothingOffered = async (at: Page) => {
    assert.equal(await at.locator(".qr").count(), 0);
    assert.equal(await at.getByRole("button", { name: /^Pay with/ }).count(), 0);
  };
  const sendsOf = (of: TestWallet) =>
    of.asked.filter((method) => method === "eth_sendTransaction").length;
  const sends = () => sendsOf(wallet);
  /** Waits until no tab has an open wallet request. */
  const settled = async (at: Page) => {
    const locks = "navigator.locks.query().then(({ held }) => held.length)";
    while ((await at.evaluate(locks)) !== 0) await at.waitForTimeout(20);
  };
  const connects = (of: TestWallet) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    of.connecting = promise;
    return resolve;
  };

  test("prevents another request from a second tab", async () => {
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

  test("sends nothing if the address was executed in the meantime", onlyLong, async () => {
    const record = await start();
    const connect = connects(wallet);
    await payButton().click();
    await says("Approve the connection in your wallet");
    await mint(service, record.address, 25_000_000n);
    await execute(service, record);
    await says("There’s nothing more to do.");
    connect();
    await settled(page);
    assert.equal(sends(), 0);
  });

  test("after an execution, the page asks the payer to reject the request", async () => {
    const record = await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await mint(service, record.address, 25_000_000n);
    await execute(service, record);
    await says("There’s nothing more to do.");
    await says("Reject the request in your wallet");
    await nothingOffered(page);
    wallet.fault = "rejects";
    answer();
    await gone("Reject the request in your wallet");
  });

  test("hides the payment options after a reload and in other tabs", async () => {
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

  test("after another payment, the page asks the payer to reject the request", async () => {
    const record = await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await mint(service, record.address, 25_000_000n);
    await says("Reject the request in your wallet");
    await says(rejectRequested);
    wallet.fault = "rejects";
    answer();
    await says("Paid, processing");
    await gone("Reject the request in your wallet");
  });

  /** This text names the amount of the open wallet request, even if the payer now owes less. */
  const rejectRequested = `If your wallet still asks for 25 ${token.symbol}, reject it.`;

  /**
   * Pays by QR code from the browser wallet's account. A payer may have the same seed phrase on a
   * phone.
   */
  const payByCode = async (record: AddressRecord) => {
    const data = encodeTransfer(record.address, 25_000_000n);
    const { result, error } = await chain("eth_sendTransaction", {
      ...{ from: rich, to: token.address, data },
    });
    assert.ok(result, JSON.stringify(error));
  };

  test("causes a warning until the payer rejects the request", onlyLong, async () => {
    const record = await start();
    await asks();
    await says("Confirm in your wallet: 25");
    const other = await page.context().newPage();
    await announceWallet(other, service.anvil.rpcUrl, rich);
    await other.goto(page.url());
    await stillAsking(other);
    await payByCode(record);
    for (const at of [page, other]) {
      await says("Paid, processing", at);
      await says(rejectRequested, at);
    }
    await execute(service, record);
    await says("There’s nothing more to do.");
    await other.getByText("There’s nothing more to do.").waitFor();
    // The page checks the wallet's account every two seconds.
    await page.waitForTimeout(6_000);
    for (const at of [page, other]) {
      await says(rejectRequested, at);
      await nothingOffered(at);
      assert.equal(await at.getByRole("button", { name: /It didn’t go through/ }).count(), 0);
    }
    wallet.fault = "rejects";
    answer();
    await gone("Reject the request in your wallet");
    await other.getByText("Reject the request in your wallet").waitFor({ state: "detached" });
    assert.equal(wallet.sent, undefined);
  });

  test("causes a warning after a reload, until the payer dismisses it", onlyLong, async () => {
    const record = await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await page.reload();
    await stillAsking(page);
    await payByCode(record);
    await execute(service, record);
    await says("There’s nothing more to do.");
    await says(`If your wallet still shows a request for 25 ${token.symbol}, reject it.`);
    await nothingOffered(page);
    await page.getByRole("button", { name: "Dismiss" }).click();
    await gone("If your wallet still shows a request");
    await nothingOffered(page);
  });

  test("can be canceled, so that the payer can pay in another tab", onlyLong, async () => {
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
  });

  test("sends nothing if the wallet's node does not respond", onlyLong, async () => {
    await start();
    wallet.isNodeSilent = true;
    await payButton().click();
    await says("Your wallet’s network didn’t respond. Nothing was sent.");
    wallet.isNodeSilent = false;
    await payButton().click();
    await says("Paid, processing");
  });

  test("ends even if the wallet pays from another account", onlyLong, async () => {
    await mint(service, poor, 25_000_000n);
    const record = await start();
    await asks();
    await says("Confirm in your wallet: 25");
    wallet.sendsFrom = poor;
    answer();
    await says("Paid, processing");
    await execute(service, record);
    await says("There’s nothing more to do.");
    await gone("Payment pending");
    assert.equal(await page.getByText("Reject the request in your wallet").count(), 0);
    assert.equal(await page.getByText("If your wallet still shows a request").count(), 0);
  });

  test("sends nothing if the wallet switches to another chain", async () => {
    await start();
    await asks();
    await says("Confirm in your wallet: 25");
    wallet.chainId = 1;
    answer();
    await says("Your wallet reported an error");
    assert.equal(wallet.sent, undefined);
  });

  test("causes a warning even after a partial payment", onlyLong, async () => {
    const record = await start();
    await asks();
    await says("Confirm in your wallet: 25");
    await page.reload();
    await stillAsking(page);
    await mint(service, record.address, 5_000_000n);
    await says(rejectRequested);
    await nothingOffered(page);
    await page.getByRole("button", { name: "It didn’t go through. Show payment options" }).click();
    await payButton().waitFor();
  });
});

// This test runs last, because it advances the chain's clock.
describe("an address that expires during a wallet request", () => {
  test("after the expiry, the page asks the payer to reject the request", async () => {
    await start(rich, 900);
    const { promise, resolve } = Promise.withResolvers<void>();
    wallet.asking = promise;
    await payButton().click();
    await says("Confirm in your wallet: 25");
    await chain("evm_increaseTime", 1_000);
    await chain("evm_mine");
    await says(/^This payment expired before it completed/);
    await says("Reject the request in your wallet");
    assert.equal(await page.locator(".qr").count(), 0);
    wallet.fault = "rejects";
    resolve();
    await gone("Reject the request in your wallet");
  });
});
