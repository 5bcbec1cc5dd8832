// Tests the dashboard's page of an address, and the ways to find an address.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Hex } from "executable-address";
import { shortAddress } from "executable-address/payment";
import type { Browser, Page } from "playwright-core";
import { demoTokens, localChainId } from "../../scripts/local-chain.ts";
import { type Running, startService } from "../service.ts";
import { assertSoundInAll, launchBrowser, listenForFaults, openPage } from "./browser.ts";
import { signUp } from "./dashboard-page.ts";
import { execute, mint, stranger, transferTo } from "./pay-page.ts";

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const token = demoTokens[0]!;

let service: Running;
let site: string;
let browser: Browser;
let page: Page;
let faults: string[];

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  site = new URL(service.baseUrl).origin;
  const context = await browser.newContext({ reducedMotion: "reduce" });
  page = await context.newPage();
  faults = listenForFaults(page);
  await signUp(page, site);
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Creates an address of the signed-in account for 25 demo dollars. */
async function make(reference: string): Promise<Hex> {
  const intent = {
    chainId: localChainId,
    token: token.address,
    amount: "25000000",
    calls: [transferTo(receiver)],
    expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
    recovery: stranger,
  };
  const made = await page.evaluate(
    async ({ url, body }) => {
      const headers = { "content-type": "application/json" };
      const answer = await fetch(url, { method: "POST", headers, body });
      return (await answer.json()) as { address: Hex };
    },
    {
      url: `/dashboard/api/addresses?reference=${encodeURIComponent(reference)}`,
      body: JSON.stringify(intent),
    },
  );
  assert.match(made.address, /^0x/);
  return made.address;
}

describe("the page of an address in the dashboard", () => {
  let address: Hex;
  before(async () => {
    address = await make("order 42, table 7");
  });

  test("the page says that the address does not belong to the account", async () => {
    await page.goto(`${site}/addresses/0x12`);
    await page.getByText("No address of this account matches").waitFor();
    await page.goto(`${site}/addresses/${stranger}`);
    await page.getByText("No address of this account matches").waitFor();
  });

  test("going back from the page restores the list", async () => {
    await page.goto(`${site}/addresses`);
    await page.getByLabel("Address or reference").fill("order 42, table 7");
    await page.getByRole("link", { name: address, exact: true }).click();
    await page.getByRole("heading", { name: "order 42, table 7" }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/addresses/${address}`);
    await page.goBack();
    const field = page.getByLabel("Address or reference");
    await field.waitFor();
    assert.equal(await field.inputValue(), "order 42, table 7");
    await page.getByRole("row").getByText("order 42, table 7").first().waitFor();
    assert.equal(await page.getByRole("row").count(), 2, "the head and the one");
  });

  test("the page shows the payments and the missing amount", async () => {
    await mint(service, address, 5_000_000n);
    await openPage(page, `${site}/addresses/${address}`);
    await page.getByText("Address verified").waitFor();
    await page.getByText(/^Sends 25 DUSD to/).waitFor();
    const flow = page.getByRole("figure", { name: "Where the money goes" });
    await flow.getByText("25 DUSD").last().waitFor();
    const times = page.getByRole("list", { name: "When" });
    await times.getByText("Paid 5 DUSD").waitFor();
    const names = await times.locator("b").allTextContents();
    assert.deepEqual(names, ["Created", "Paid 5 DUSD", "Now", "Expires"]);
    await flow.getByText("Amount remaining").waitFor();
    const facts = page.getByRole("region", { name: "Payment details" });
    await facts.getByText("5 DUSD", { exact: true }).waitFor();
    await page.getByText("Underpaid").waitFor();
  });

  test("the page updates when the status changes", async () => {
    await page.getByText("Underpaid").waitFor();
    await mint(service, address, 20_000_000n);
    await page.getByText("Paid", { exact: true }).waitFor();
    const answer = await fetch(`${service.baseUrl}/address/${address}`);
    const hash = await execute(service, (await answer.json()) as Parameters<typeof execute>[1]);
    await page.getByText("Completed", { exact: true }).first().waitFor();
    await page.getByText(hash).waitFor();
    const times = page.getByRole("list", { name: "When" });
    await times.getByText("Paid 20 DUSD").waitFor();
    const names = await times.locator("b").allTextContents();
    const paid = ["Paid 5 DUSD", "Paid 20 DUSD"];
    assert.deepEqual(names, ["Created", ...paid, "Completed", "Now", "Expires"]);
    const flow = page.getByRole("figure", { name: "Where the money goes" });
    await flow.getByText(shortAddress(receiver)).waitFor();
  });

  test("the page passes the accessibility checks", async () => {
    await openPage(page, `${site}/addresses/${address}`);
    await page.getByRole("list", { name: "When" }).waitFor();
    await assertSoundInAll(page, "an address");
  });
});

test("no page violated the content security policy or threw an error", () =>
  assert.deepEqual(faults, []));
