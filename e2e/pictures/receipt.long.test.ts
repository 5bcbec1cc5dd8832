// Tests receipts. The service's page creates a receipt and saves it as one file. The file makes no
// requests. The user can check the receipt's block hashes with their own nodes or with a wallet.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type AddressRecord, type Hex, zeroAddress } from "executable-address";
import { shortAddress } from "executable-address/payment";
import { verifyReceipt } from "executable-address/proof";
import type { Browser, Page } from "playwright-core";
import { shopAddress } from "../../scripts/local-chain.ts";
import { assertSound, launchBrowser } from "../browser/browser.ts";
import { createOrder, execute, mint, openFresh, stranger } from "../browser/pay-page.ts";
import { type Running, startService } from "../service.ts";
import { announceWallet } from "../wallets/test-wallet.ts";
import { readPrint, squeeze } from "./pdf-text.ts";

const folder = mkdtempSync(join(tmpdir(), "receipt-"));
const account: Hex = "0x1234567812345678123456781234567812345678";
let service: Running;
let browser: Browser;
let record: AddressRecord;
let hash: Hex;

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  record = await createOrder(service);
  await mint(service, record.address, 30_125_000n);
  hash = await execute(service, record);
});

after(async () => {
  await browser?.close();
  await service?.stop();
  rmSync(folder, { recursive: true });
});

const urlOf = (path: string) => `${new URL(service.baseUrl).origin}${path}`;

async function keep(page: Page, button: string): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: button, exact: true }).click(),
  ]);
  const path = join(folder, download.suggestedFilename());
  await download.saveAs(path);
  return path;
}

const receiptOf = async (page: Page) =>
  JSON.parse(readFileSync(await keep(page, "Save as JSON"), "utf8"));

const openReceipt = async (page: Page) => {
  await page.goto(urlOf(`/receipt/${record.address}`));
  await page.getByText("Completed. Every step ran exactly once.").waitFor();
};

describe("the receipt on the payment page", () => {
  test("the receipt shows no data if the proof is invalid", async () => {
    const page = await openFresh(browser);
    await page.route("**/proof", async (route) => {
      const answer = await (await route.fetch()).json();
      answer.execution.held = "99000000";
      await route.fulfill({ json: answer });
    });
    await page.goto(urlOf(`/receipt/${record.address}`));
    const alert = await page.getByRole("alert").innerText();
    assert.equal(alert, "The proof in this receipt is invalid, so nothing is shown.");
    await page
      .getByText(/^execution\.held: expected the proven value "\d+", found a different value/)
      .waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /30\.1250 DUSD|Balance before/);
    await page.unroute("**/proof");
    for (const path of [stranger, "0x12"]) {
      await page.goto(urlOf(`/receipt/${path}`));
      const missing = "This service has no data for this address, so there is no receipt.";
      await page.getByRole("alert").getByText(missing, { exact: true }).waitFor();
    }
    await page.route("**/proof", (route) => route.abort());
    await page.goto(urlOf(`/receipt/${record.address}`));
    await page.getByRole("alert").getByText("The receipt couldn’t be loaded.").waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /fetch$|Failed|HTTP/m);
    await page.context().close();
  });

  test("the receipt shows the payer, amounts, transactions, and blocks", async () => {
    const page = await openFresh(browser);
    await openReceipt(page);
    const text = await page.locator("main").innerText();
    for (const part of [
      hash,
      record.address,
      "25 DUSD",
      "30.1250 DUSD (30\u202f125\u202f000 base units) from",
      "pay(uint256 orderId",
      "The receipt doesn’t prove that there were no other payments.",
      "the network’s name come from the service. The proof doesn’t cover them",
    ])
      assert.ok(text.includes(part), part);
    const { blocks } = verifyReceipt(await receiptOf(page), "its own");
    for (const { number, hash } of blocks) assert.ok(text.includes(`Block ${number}: ${hash}`));
    await assertSound(page, "receipt");
    await page.context().close();
  });

  test("the receipt does not trust the service's decimals for a known token", async () => {
    const page = await openFresh(browser);
    const { chainId, token } = record.intent;
    // Replaces Ethereum's USDC in the library's list with the local token.
    await page.route("**/receipt.js", async (route) => {
      const answer = await route.fetch();
      const listed = /\b1:(["'`])0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48\1/;
      const code = await answer.text();
      assert.match(code, listed);
      await route.fulfill({
        response: answer,
        body: code.replace(listed, `${chainId}:"${token}"`),
      });
    });
    await page.route("**/v1/chains", async (route) => {
      const text = await (await route.fetch()).text();
      await route.fulfill({ json: JSON.parse(text.replaceAll('"decimals":6', '"decimals":3')) });
    });
    await openReceipt(page);
    const text = await page.locator("main").innerText();
    assert.ok(text.includes("25 USDC (25\u202f000\u202f000 base units)"), text);
    assert.ok(!text.includes("DUSD"), text);
    await page.context().close();
  });

  test("the receipt draws the money diagram and the timeline", async () => {
    const page = await openFresh(browser);
    await openReceipt(page);
    const flow = page.getByRole("figure", { name: "Where the money went" });
    assert.deepEqual(await flow.locator("li").allInnerTexts(), [
      `30.1250 DUSD (30\u202f125\u202f000 base units)\n${shortAddress(zeroAddress)}`,
      `25 DUSD (25\u202f000\u202f000 base units)\n${shortAddress(shopAddress)}`,
      "5.1250 DUSD (5\u202f125\u202f000 base units)\nReturn address",
    ]);
    const times = await page.locator(".timeline li b").allInnerTexts();
    assert.deepEqual(times, [
      "Paid 30.1250 DUSD (30\u202f125\u202f000 base units)",
      ...["Completed", "As of", "Expires"],
    ]);
    await page.context().close();
  });

  test("only the receipt is printed", async () => {
    const page = await openFresh(browser, { colorScheme: "dark" });
    await openReceipt(page);
    const text = (await readPrint(page)).join("");
    for (const part of ["Receipt", record.address, hash, "30.1250 DUSD", "As of", "Block"])
      assert.ok(text.includes(squeeze(part)), part);
    for (const other of ["RPC endpoints", "Check with", "Save", "Print", "English", "from a file"])
      assert.ok(!text.includes(squeeze(other)), other);
    await page.context().close();
  });

  test("the receipt is shown in the user's language", async () => {
    const page = await openFresh(browser, { locale: "de-AT" });
    await page.goto(urlOf(`/receipt/${record.address}`));
    await page.getByText("Abgeschlossen. Jeder Schritt").waitFor();
    await page.getByLabel("Sprache").selectOption("ar");
    await page.getByText("نُفذت كل خطوة").waitFor();
    assert.equal(await page.locator("html").getAttribute("dir"), "rtl");
    assert.equal(await page.locator("html").getAttribute("lang"), "ar");
    await page.setViewportSize({ width: 360, height: 740 });
    await assertSound(page, "receipt in Arabic");
    await page.context().close();
  });

  test("the user can check the blocks with endpoints of their choice", async () => {
    const page = await openFresh(browser);
    await openReceipt(page);
    const { rpcUrl } = service.anvil;
    await page.getByLabel("Your RPC endpoints").fill(`${rpcUrl}\nhttp://127.0.0.1:9`);
    await page.getByRole("button", { name: "Check with these endpoints" }).click();
    const status = page.getByRole("status");
    await status.getByText(`${rpcUrl}: has all of these blocks`).waitFor();
    await status.getByText("http://127.0.0.1:9: didn’t respond").waitFor();
    await page.context().close();
  });

  test("the user can check the blocks with a wallet", async () => {
    const page = await openFresh(browser);
    const wallet = await announceWallet(page, service.anvil.rpcUrl, account);
    await openReceipt(page);
    await page.getByRole("button", { name: "Check with my wallet" }).click();
    await page.getByRole("status").getByText("has all of these blocks").waitFor();
    assert.ok(!wallet.asked.includes("eth_requestAccounts"));
    wallet.chainId = 1;
    await page.getByRole("button", { name: "Check with my wallet" }).click();
    await page.getByRole("status").getByText("is on chain 1").waitFor();
    await page.context().close();
  });

  test("a saved receipt can be verified offline", async () => {
    const page = await openFresh(browser, { acceptDownloads: true });
    await openReceipt(page);
    const path = await keep(page, "Save");
    assert.ok(statSync(path).size <= 150_000, `${statSync(path).size} bytes`);
    const { blocks } = verifyReceipt(await receiptOf(page), "its own");
    await page.context().close();

    const alone = await openFresh(browser, { offline: true });
    const asked: string[] = [];
    alone.on("request", (request) => asked.push(request.url()));
    await alone.goto(pathToFileURL(path).href);
    await alone.getByText("Completed. Every step ran exactly once.").waitFor();
    assert.equal(await alone.locator("h1 img").evaluate((img) => img.naturalWidth > 0), true);
    await alone.locator(".flow-picture path").first().waitFor();
    const text = await alone.locator("main").innerText();
    for (const { hash } of blocks) assert.ok(text.includes(hash));
    assert.deepEqual(asked, [pathToFileURL(path).href]);

    assert.ok(text.includes("Did someone send you this file?"), "a file is no proof of itself");

    const file = readFileSync(path, "utf8");
    const moved = join(folder, "moved.html");
    writeFileSync(moved, file.replace('"decimals":6', '"decimals":3'));
    await alone.goto(pathToFileURL(moved).href);
    await alone.getByText("25\u202f000 DUSD (25\u202f000\u202f000 base units)").first().waitFor();

    const odd = join(folder, "odd.html");
    writeFileSync(odd, file.replace('"decimals":6', '"decimals":1e9'));
    await alone.goto(pathToFileURL(odd).href);
    await alone.getByText("25\u202f000\u202f000 base units", { exact: true }).first().waitFor();

    const tampered = join(folder, "tampered.html");
    writeFileSync(tampered, readFileSync(path, "utf8").replace('"held":"3', '"held":"4'));
    await alone.goto(pathToFileURL(tampered).href);
    await alone
      .getByText(/^execution\.held: expected the proven value "\d+", found a different value/)
      .waitFor();
    await alone.context().close();
  });

  test("the page checks a saved receipt and says why it is invalid", async () => {
    const page = await openFresh(browser);
    await page.goto(urlOf("/receipt"));
    const path = join(folder, `receipt-${record.address}.json`);
    await page.getByLabel("Check a receipt from a file").setInputFiles(path);
    await page.getByText("Completed. Every step ran exactly once.").waitFor();
    const json = JSON.parse(readFileSync(path, "utf8"));
    json.record.intent.amount = "1";
    writeFileSync(path, JSON.stringify(json));
    await page.getByLabel("Check a receipt from a file").setInputFiles(path);
    await page.getByText("doesn’t match its address, so nothing is shown").waitFor();
    await page.getByText(/^terms: /).waitFor();
    await page
      .getByLabel("Check a receipt from a file")
      .setInputFiles(join(folder, "tampered.html"));
    await page.getByText(/^execution\.held/).waitFor();
    writeFileSync(path, "no JSON");
    await page.getByLabel("Check a receipt from a file").setInputFiles(path);
    await page.getByText("This file is not a receipt.").waitFor();
    await page.context().close();
  });
});
