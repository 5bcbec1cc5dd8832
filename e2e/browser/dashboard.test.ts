// Tests the dashboard in a real browser, together with real pages from other origins.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import type { AddressRecord } from "executable-address";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { demoTokens, shopAddress } from "../../scripts/local-chain.ts";
import { type Running, startService } from "../service.ts";
import {
  assertSound,
  assertSoundInAll,
  launchBrowser,
  listenForFaults,
  openPage,
  serveBlankPage,
} from "./browser.ts";
import { createFrom, createWithKey, email, password } from "./dashboard-page.ts";
import { mint } from "./pay-page.ts";

const receiver = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const customer = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";

let service: Running;
let site: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let faults: string[];
let shop: Awaited<ReturnType<typeof serveBlankPage>>;
let stranger: Awaited<ReturnType<typeof serveBlankPage>>;

let apiKey: string;
let clientId: string;
let createdAddress: string;

const newKeyShown = () => page.getByTestId("new-api-key").textContent();

before(async () => {
  // Starts the servers and the browser in sequence. If a start fails, the `after` hook can stop
  // everything that was started before.
  browser = await launchBrowser();
  shop = await serveBlankPage();
  stranger = await serveBlankPage();
  service = await startService();
  site = new URL(service.baseUrl).origin;
  context = await browser.newContext({ reducedMotion: "reduce" });
  page = await context.newPage();
  faults = listenForFaults(page);
});

after(async () => {
  await browser?.close();
  shop?.close();
  stranger?.close();
  await service?.stop();
});

describe("a new user of the dashboard", () => {
  test("a form shows an error at each invalid field", async () => {
    await page.goto(`${site}/sign-up`);
    const press = () => page.getByRole("button", { name: "Create account" }).click();
    await press();
    assert.equal(await page.getByText("Fill out this field.").count(), 2);
    const field = page.getByLabel("Email");
    assert.equal(await page.evaluate("document.activeElement.name"), "email");
    await field.fill("shop");
    await page.getByLabel("Password", { exact: true }).fill("short");
    await press();
    await page.getByText("Enter an email address").waitFor();
    await page
      .getByText(/^At least \d+ characters/)
      .first()
      .waitFor();
    await assertSound(page, "what a form lacks");
    await field.fill("shop@");
    assert.equal(await page.getByText("Enter an email address").count(), 0);
  });

  test("a sign-up with a known email address is rejected", async () => {
    await page.goto(`${site}/sign-up`);
    await page.getByLabel("Email").fill("shop@example.com");
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("An account with this email already exists").waitFor();

    await page.getByLabel("Email").fill(email);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.getByText("Get started").waitFor();
    const usage = page.getByRole("region", { name: "Usage" });
    await usage.getByRole("link", { name: "New address" }).waitFor();
    const primary = page.locator("main .button-primary");
    assert.deepEqual(await primary.allTextContents(), ["Create address"]);
    await page.evaluate(`document.querySelectorAll("header a").forEach((link) => {
      const { height } = link.getBoundingClientRect();
      if (height > 0 && height < 24) throw new Error(link.textContent + " is too low to press");
    })`);
    await assertSoundInAll(page, "the fresh overview");
  });

  test("the getting-started steps disappear after the first address is created", async () => {
    await page.getByLabel("Your wallet address").fill(shopAddress);
    await page.getByRole("button", { name: "Create address" }).click();
    await page.waitForURL(/\/addresses\/0x[0-9a-fA-F]{40}$/);
    await page.getByText("Address verified").waitFor();
    await page.getByRole("link", { name: "Overview" }).click();
    await page.getByRole("heading", { name: "Ways to create addresses" }).waitFor();
    assert.equal(await page.getByText("Get started").count(), 0);
  });

  test("a new API key is shown and works", async () => {
    await page.getByRole("link", { name: "Set up: From a server" }).click();
    await page.getByRole("button", { name: "Create API key" }).click();
    apiKey = (await newKeyShown()) ?? "";
    assert.match(apiKey, /^svc_sk_[0-9a-f]{64}$/);
    assert.equal((await createWithKey(service, apiKey)).status, 200);
  });

  test("a new API key is hidden after a reload", async () => {
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    assert.equal(await newKeyShown(), apiKey);
    await page.reload();
    await page.getByText(`${apiKey.slice(0, 15)}…`).waitFor();
    assert.ok(!(await page.content()).includes(apiKey.slice(0, 20)));
  });
});

describe("the allowed origins of a client ID", () => {
  test("the API returns 403 to a page whose origin is not allowed yet", async () => {
    clientId = (await page.getByText(/^svc_client_/).textContent()) ?? "";
    assert.match(clientId, /^svc_client_[0-9a-f]{32}$/);
    const { status, body } = await createFrom(context, service, shop.origin, {
      "x-client-id": clientId,
    });
    assert.deepEqual([status, body.error?.code], [403, "origin_not_allowed"]);
  });

  test("the form shows why an origin is invalid", async () => {
    await page.getByRole("link", { name: "Origins", exact: true }).click();
    await page.getByLabel("Origin", { exact: true }).fill("https://*.co.uk");
    await page.getByText("anyone can register a name under co.uk").waitFor();
    await page.getByRole("button", { name: "Add origin" }).click();
    await page
      .getByRole("alert")
      .getByText(/anyone can register a name under co\.uk/i)
      .waitFor();
    await page.getByText("No allowed origins yet").waitFor();
    await page.getByRole("button", { name: "Add an origin" }).click();
    assert.equal(await page.evaluate("document.activeElement.name"), "origin");
  });

  test("the form shows which origins a wildcard allows", async () => {
    await page.getByLabel("Origin", { exact: true }).fill("HTTPS://*.Example.com:443/");
    const verdict = page.getByText("Saved as").locator("..");
    await verdict.getByText("https://*.example.com", { exact: true }).first().waitFor();
    await page.getByText("Doesn’t allow").waitFor();
    await page.getByText("https://example.com", { exact: true }).waitFor();
  });

  test("a user can add an origin and test it", async () => {
    await page.getByLabel("Origin", { exact: true }).fill(shop.origin);
    await page.getByRole("button", { name: "Add origin" }).click();
    await page.getByText("1 of 20").waitFor();
    await page.getByLabel("Origin header that the browser sends").fill(stranger.origin);
    await page.getByText("origin_not_allowed").waitFor();
    await page.getByLabel("Origin header that the browser sends").fill(shop.origin);
    await page.getByText("Allowed by").waitFor();
  });

  test("the API returns 200 to a page whose origin is allowed", async () => {
    const { status, body } = await createFrom(context, service, shop.origin, {
      "x-client-id": clientId,
    });
    assert.equal(status, 200);
    createdAddress = body.address ?? "";
    assert.match(createdAddress, /^0x[0-9a-fA-F]{40}$/);
  });

  test("the overview's code examples work", async () => {
    await openPage(page, site);
    const example = page.getByRole("tabpanel");
    // The examples are collapsed, because the account already has an address.
    await page.locator("details summary").click();
    await page.getByLabel("Your wallet address").fill(shopAddress);
    const curl = (await example.textContent()) ?? "";
    const env = { ...process.env, API_KEY: apiKey };
    const { stdout } = await promisify(execFile)("sh", ["-c", curl], { env });
    assert.match(stdout, new RegExp(`"recovery":"${shopAddress}"`));

    await page.getByRole("tab", { name: "fetch" }).click();
    const script = await example.textContent();
    const shopping = await context.newPage();
    await shopping.goto(shop.origin);
    const address = await shopping.evaluate(`(async () => { ${script}; return address; })()`);
    assert.match(String(address), /^0x[0-9a-fA-F]{40}$/);
    await shopping.close();
  });

  test("the API returns 403 to a page of another origin", async () => {
    const { status, body } = await createFrom(context, service, stranger.origin, {
      "x-client-id": clientId,
    });
    assert.deepEqual([status, body.error?.code], [403, "origin_not_allowed"]);
  });

  const warned = "the API returns 403 if a page sends the API key";
  test(warned, { timeout: 120_000 }, async () => {
    const headers = { authorization: `Bearer ${apiKey}` };
    const { status, body } = await createFrom(context, service, shop.origin, headers);
    assert.deepEqual([status, body.error?.code], [403, "api_key_in_browser"]);
    // Every few seconds, the service records which API keys were used in a browser.
    const warning = page.getByText("Your API key was used in a browser");
    do await openPage(page, site);
    while ((await warning.count()) === 0);
  });
});

describe("the rotation of an API key", () => {
  test("replaces the key only after a confirmation", async () => {
    await page.getByRole("link", { name: "Rotate key" }).click();
    const card = page.getByRole("region", { name: "API key" });
    await card.getByRole("button", { name: "Rotate" }).click();
    await page.getByText("stops working immediately").waitFor();
    assert.equal(
      (await createWithKey(service, apiKey)).status,
      200,
      "nothing happens before the answer",
    );
    await page.getByRole("button", { name: "Rotate now" }).click();
    const oldKey = apiKey;
    apiKey = (await newKeyShown()) ?? "";
    assert.equal((await createWithKey(service, oldKey)).status, 401);
    assert.equal((await createWithKey(service, apiKey)).status, 200);
    await page.getByRole("button", { name: "I’ve saved it" }).click();
    await page.getByText(`${apiKey.slice(0, 15)}…`).waitFor();
    assert.equal(await page.getByText("Used in a browser").count(), 0);
  });

  test("is shown in another window of the dashboard", async () => {
    const other = await context.newPage();
    await other.goto(`${site}/credentials`);
    await other.getByText(`${apiKey.slice(0, 15)}…`).waitFor();

    const card = page.getByRole("region", { name: "API key" });
    await card.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("button", { name: "Rotate now" }).click();
    apiKey = (await newKeyShown()) ?? "";
    await page.getByRole("button", { name: "I’ve saved it" }).click();

    const otherCard = other.getByRole("region", { name: "API key" });
    await otherCard.getByRole("button", { name: "Rotate" }).click();
    await other.getByRole("button", { name: "Rotate now" }).click();
    await other.getByText("changed in another window").waitFor();
    await other.getByText(`${apiKey.slice(0, 15)}…`).waitFor();
    assert.equal((await createWithKey(service, apiKey)).status, 200);
    await other.close();
  });
});

describe("other credentials in the dashboard", () => {
  test("an API key has only the selected scopes and can be revoked", async () => {
    await page.goto(`${site}/credentials`);
    await page.getByRole("button", { name: "Create key" }).click();
    const form = page.getByRole("dialog", { name: "Create API key" });
    await form.getByLabel("Name").fill("reports");
    await form.getByLabel("create:").uncheck();
    await form.getByLabel("read:").check();
    await assertSound(page, "the form of a new key");
    await form.getByRole("button", { name: "Create key" }).click();
    const second = (await newKeyShown()) ?? "";
    await page.getByRole("button", { name: "I’ve saved it" }).click();
    await page.getByText("reports").waitFor();
    const list = () =>
      fetch(`${service.baseUrl}/addresses`, { headers: { authorization: `Bearer ${second}` } });
    assert.equal((await createWithKey(service, second)).status, 403);
    assert.equal((await list()).status, 200);
    await page.getByRole("button", { name: "Revoke" }).last().click();
    await page.getByRole("button", { name: "Revoke now" }).click();
    await page.getByText("reports").waitFor({ state: "detached" });
    assert.equal((await list()).status, 401);
    assert.equal((await createWithKey(service, apiKey)).status, 200);
  });

  test("a client ID can require that the shop's server signs each payment", async () => {
    const card = page.getByRole("region", { name: "Reference key" });
    await card.getByRole("button", { name: "Create" }).click();
    await page.getByRole("button", { name: "Create reference key" }).click();
    const key = (await page.getByTestId("new-reference-key").textContent()) ?? "";
    assert.match(key, /^svc_ref_[0-9a-f]{64}$/);
    await page.getByRole("button", { name: "I’ve saved it" }).click();
    await card.getByText("no. 1").waitFor();
    await page.getByRole("button", { name: "Require a signature" }).click();
    await page.getByText("only payments signed by your server").waitFor();
    await assertSound(page, "credentials");
    assert.ok(!(await page.content()).includes(key));
    const { status, body } = await createFrom(context, service, shop.origin, {
      "x-client-id": clientId,
    });
    assert.deepEqual([status, body.error?.code], [403, "not_signed"]);
    await page.getByRole("button", { name: "Allow any payment" }).click();
    await page.getByRole("button", { name: "Require a signature" }).waitFor();
    assert.equal(
      (await createFrom(context, service, shop.origin, { "x-client-id": clientId })).status,
      200,
    );
  });
});

describe("addresses and other lists in the dashboard", () => {
  test("addresses can be filtered and exported", async () => {
    const reference = "order 42, the =first";
    await createWithKey(service, apiKey, reference);
    await page.goto(`${site}/addresses`);
    await page.getByLabel("Address or reference").fill(reference);
    await page.waitForURL(/text=order/);
    const found = page.getByRole("row").getByText(reference).first();
    await found.waitFor();
    await page.locator("tbody tr").nth(1).waitFor({ state: "hidden" }); // The list is filtered.
    await found.waitFor();
    assert.equal(await page.getByRole("row").count(), 2, "the head and the one");
    await page.getByLabel("Address or reference").fill("42, THE");
    await page.waitForURL(/text=42/);
    await found.waitFor();
    assert.equal(await page.getByRole("row").count(), 2, "found by a part of it");
    await page.getByLabel("Status").selectOption("executed");
    await page.getByText("No results").waitFor();
    await page.getByLabel("Status").selectOption("unfunded");
    await found.waitFor();
    await page.getByLabel("Until").fill("2020-01-01");
    await page.getByText("No results").waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.reload();
    await page.getByRole("cell", { name: "Awaiting payment" }).first().waitFor();
    assert.equal(asked.filter((url) => url.includes("/statuses")).length, 1);
    assert.equal(asked.filter((url) => url.includes("/v1/")).length, 0);
    const downloaded = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    const file = readFileSync(await (await downloaded).path(), "utf8");
    assert.match(file, /^address,reference,claimed reference,created/);
    assert.match(file, /,"order 42, the =first",/);
    assert.match(file, new RegExp(`^${createdAddress},`, "m"));
  });

  test("the form creates an address and shows code that creates another", async () => {
    await page.goto(`${site}/addresses`);
    await page.getByRole("link", { name: "New address" }).click();
    await page.getByRole("button", { name: "Create address" }).click();
    assert.equal(await page.getByText("Fill out this field.").count(), 2);
    await page.getByLabel("Amount").pressSequentially("12.5.0");
    assert.equal(await page.getByLabel("Amount").inputValue(), "12.5.0", "the first key counts");
    await page
      .getByText("Enter an amount above 0, such as 12.5, with at most 6 decimals.")
      .waitFor();
    await page.getByLabel("Amount").fill("12.5");
    await page.getByLabel("Recipient address").fill("0x12");
    await page.getByText("Enter 0x followed by 40 hex characters.").waitFor();
    await page.getByLabel("Recipient address").fill(demoTokens[0]!.address);
    await page.getByRole("button", { name: "Create address" }).click();
    assert.equal(
      await page.getByText("Couldn’t create the address").count(),
      0,
      "the question is open",
    );
    await page.getByText("Choose an option.").waitFor();
    assert.equal(await page.evaluate("document.activeElement.value"), "customer");
    await assertSound(page, "an open question");
    await page.getByText("Returned automatically.").waitFor();
    await page.getByRole("radio", { name: "To the recipient" }).check();
    assert.equal(await page.getByText("Choose an option.").count(), 0);
    await page.getByRole("button", { name: "Create address" }).click();
    await page.getByText("Couldn’t create the address").waitFor();
    await page.getByLabel("Recipient address").fill(receiver);
    await page.getByRole("button", { name: "Create address" }).click();
    await page.getByText("the total supply of this token is 0 base units").waitFor();
    await page.getByRole("button", { name: "Create anyway" }).click();
    await page.getByText(`Send 12.5 ${demoTokens[0]!.symbol} on Local to`).waitFor();
    await mint(service, shopAddress, 100_000_000n);
    await page.getByRole("button", { name: "Create another" }).click();
    await page.getByLabel("Amount").fill("12.5");
    await page.getByLabel("Recipient address").fill(receiver);
    await page.getByRole("radio", { name: "To the customer" }).check();
    await page.getByLabel("Customer’s address").fill(customer);
    await page.getByLabel("Reference").fill("table 7");
    await page.getByRole("button", { name: "Create address" }).click();
    await page.getByText(`Send 12.5 ${demoTokens[0]!.symbol} on Local to`).waitFor();
    const made = (await page.getByTestId("new-address").textContent()) ?? "";
    const held = await fetch(`${service.baseUrl}/address/${made}`);
    const { intent: kept } = (await held.json()) as AddressRecord;
    assert.equal(kept.amount, "12500000");
    assert.deepEqual(kept.calls[0]!.args, [receiver, "12500000"]);
    assert.equal(kept.recovery, customer);
    const curl = (await page.getByRole("tabpanel").textContent()) ?? "";
    const env = { ...process.env, API_KEY: apiKey };
    const { stdout } = await promisify(execFile)("sh", ["-c", curl], { env });
    assert.deepEqual(JSON.parse(stdout).intent.calls, kept.calls);
    await page.getByRole("link", { name: "Track payment" }).click();
    await page.waitForURL(new RegExp(`/addresses/${made}$`));
    await page.getByRole("link", { name: "All addresses" }).click();
    await page.getByRole("row").getByText("table 7").first().waitFor();
  });

  test("the overview shows the requested amounts by day", async () => {
    const card = page.getByRole("region", { name: "Payments" });
    // The server updates the totals a few seconds after the request.
    for (;;) {
      await page.goto(site);
      const counted = card.getByRole("list", { name: "From creation to completion" });
      await counted.or(card.getByText("No payments yet")).waitFor();
      if ((await counted.count()) > 0) break;
    }
    const today = new Date().toISOString().slice(0, 10);
    const row = card.getByRole("row", { name: new RegExp(`^${today.slice(0, 8)}`) }).first();
    await row
      .getByText(/\d DUSD$/)
      .first()
      .waitFor();
    // The first press of an arrow key selects the newest column.
    const chart = card.getByRole("img", { name: /DUSD on .* by day$/ });
    await chart.press("ArrowLeft");
    await card.getByText(/requested [\d.]+ DUSD, paid [\d.]+ DUSD, completed/).waitFor();
    await card
      .getByRole("listitem")
      .filter({ hasText: /^[1-9]\d*created/ })
      .waitFor();
  });

  test("an unknown path returns a page to browsers and JSON to programs", async () => {
    const answer = await page.goto(`${site}/adresses`);
    assert.equal(answer?.status(), 404);
    await page.getByRole("heading", { name: "Page not found" }).waitFor();
    assert.match(await (await fetch(`${site}/adresses`)).text(), /"unknown_path"/);
    const inApi = await fetch(`${site}/v1/nothing`, { headers: { accept: "text/html" } });
    assert.match(await inApi.text(), /"unknown_path"/);
  });

  test("the activity page lists every change", async () => {
    await page.goto(`${site}/activity`);
    const events = ["Account created", "API key rotated", "Origin added"];
    for (const event of events) await page.getByText(event, { exact: true }).first().waitFor();
  });
});

test("no page violated the content security policy or threw an error", () =>
  assert.deepEqual(faults, []));
