// Tests the dashboard's lists in a real browser: searches, filters, limits, and the command
// palette.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord } from "executable-address";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { type Running, startService } from "../service.ts";
import { assertSound, launchBrowser, listenForFaults } from "./browser.ts";
import { createApiKey, createWithKey, signUp } from "./dashboard-page.ts";

let service: Running;
let site: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let faults: string[];
let apiKey: string;
let createdAddress: string;

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  site = new URL(service.baseUrl).origin;
  context = await browser.newContext({ reducedMotion: "reduce" });
  page = await context.newPage();
  faults = listenForFaults(page);
  await signUp(page, site);
  apiKey = await createApiKey(page, site);
  const created = await createWithKey(service, apiKey, "order 42, the =first");
  createdAddress = ((await created.json()) as AddressRecord).address;
  await createWithKey(service, apiKey, "table 7");
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

describe("lists in the dashboard", () => {
  test("the dashboard rejects the 21st origin and shows the reason", async () => {
    await page.goto(`${site}/origins`);
    for (let number = 1; number <= 20; number++) {
      await page.getByLabel("Origin", { exact: true }).fill(`https://shop${number}.example.com`);
      await page.getByRole("button", { name: "Add origin" }).click();
      await page.getByText(`${number} of 20`).waitFor();
    }
    await page.getByLabel("Origin", { exact: true }).fill("https://shop21.example.com");
    await page.getByRole("button", { name: "Add origin" }).click();
    await page
      .getByRole("alert")
      .getByText(/at most 20/)
      .waitFor();
    await page.getByRole("button", { name: "Remove https://shop20.example.com" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    await page.getByText("20 of 20", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Remove https://shop20.example.com" }).click();
    await page.getByText("Existing addresses aren’t affected.").waitFor();
    await page.getByRole("button", { name: "Remove origin", exact: true }).click();
    await page.getByText("19 of 20").waitFor();
  });

  test("a search finds an address by its first characters", async () => {
    await page.getByRole("link", { name: "Addresses", exact: true }).click();
    await page.getByRole("cell", { name: createdAddress }).first().waitFor();
    await page.getByLabel("Address or reference").fill("0xffffffffff");
    await page.getByText("No results").waitFor();
    await page.getByLabel("Address or reference").fill(createdAddress.slice(0, 12));
    await page.getByRole("link", { name: createdAddress, exact: true }).waitFor();
    assert.equal(await page.getByRole("row").count(), 2, "the head and the one");
  });

  test("a long reference does not widen the page", async () => {
    const reference = "r".repeat(128);
    assert.equal((await createWithKey(service, apiKey, reference)).status, 200);
    await page.setViewportSize({ width: 924, height: 800 });
    await page.goto(`${site}/addresses`);
    await page.getByRole("row").getByText(reference).first().waitFor();
    await assertSound(page, "a long reference");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test("a bookmark of a list restores its filters", async () => {
    await page.goto(`${site}/addresses`);
    await page.getByLabel("Address or reference").fill("42, the");
    await page.getByLabel("Status").selectOption("unfunded");
    await page.waitForURL(/text=42.*state=unfunded/);
    const bookmark = page.url();
    await page.goto(`${site}/addresses`);
    await page.goto(bookmark);
    await page.getByRole("row").getByText("order 42, the =first").first().waitFor();
    await page.locator("tbody tr").nth(1).waitFor({ state: "hidden" });
    assert.equal(await page.getByLabel("Status").inputValue(), "unfunded");
  });

  test("Ctrl-K finds a page, an address, or a reference", async () => {
    const go = async (text: string, path: RegExp) => {
      await page.keyboard.press("Control+k");
      const field = page.getByRole("combobox", { name: "Search pages, addresses, and references" });
      await field.fill(text);
      await field.press("Enter");
      await page.waitForURL(path);
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    };
    await go("webh", /\/webhooks$/);
    await go("table 7", /\/addresses\?text=table\+7$/);
    await page.getByRole("row").getByText("table 7").first().waitFor();
    await go(createdAddress, new RegExp(`/addresses/${createdAddress}$`));
    await page.getByText("Address verified").waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search pages" }).press("ArrowDown");
    const chosen = page.getByRole("dialog").getByRole("option", { selected: true });
    assert.equal(await chosen.textContent(), "Addresses");
    await assertSound(page, "the palette");
    await page.keyboard.press("Escape");
  });

  test("the keyboard shortcut is shown as ⌘K on a Mac", async () => {
    const shown = (at: Page) => at.locator("header kbd").innerText();
    assert.equal(await shown(page), "Ctrl K");
    const mac = await context.newPage();
    await mac.addInitScript(
      `Object.defineProperty(navigator, "platform", { get: () => "MacIntel" })`,
    );
    await mac.goto(site);
    assert.equal(await shown(mac), "⌘K");
    await mac.close();
  });
});

test("no page violated the content security policy or threw an error", () =>
  assert.deepEqual(faults, []));
