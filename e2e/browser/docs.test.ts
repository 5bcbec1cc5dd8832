// Tests the served documentation in a real browser, with the Content-Security-Policy that every
// page sends.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { localChainId } from "../../scripts/local-chain.ts";
import { admin, type Running, startService } from "../service.ts";
import { assertSound, assertSoundInAll, launchBrowser, listenForFaults } from "./browser.ts";
import { openFresh } from "./pay-page.ts";

let service: Running;
let browser: Browser;
const siteOf = () => new URL(service.baseUrl).origin;

before(async () => {
  browser = await launchBrowser();
  service = await startService();
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

describe("the documentation", () => {
  test("every link of the documentation leads to an existing page and heading", async () => {
    const pages = new Map<string, string>();
    const read = async (path: string) => {
      const known = pages.get(path);
      if (known !== undefined) return known;
      const answer = await fetch(siteOf() + path);
      const text = answer.ok ? await answer.text() : "";
      pages.set(path, text);
      return text;
    };
    const broken: string[] = [];
    const visited = new Set<string>();
    const visit = async (path: string) => {
      if (visited.has(path)) return;
      visited.add(path);
      for (const [, href] of (await read(path)).matchAll(/ href="([^"]+)"/g)) {
        const to = new URL(href!, siteOf() + path);
        if (to.origin !== siteOf()) continue;
        const text = await read(to.pathname);
        const isThere = to.hash === "" || text.includes(` id="${to.hash.slice(1)}"`);
        if (text === "" || !isThere) broken.push(`${path}: ${href}`);
        else if (to.pathname.startsWith("/docs/") && to.pathname.endsWith(".html"))
          await visit(to.pathname);
      }
    };
    await visit("/docs/index.html");
    assert.deepEqual(broken, []);
    assert.ok(visited.size > 15, `${visited.size} pages`);
  });

  test("a reader can search the documentation and copy its code", async () => {
    const page = await openFresh(browser);
    const faults = listenForFaults(page);
    await page.goto(`${siteOf()}/docs`);
    await page.getByRole("heading", { name: "What happens to the money" }).waitFor();
    assert.equal(await page.locator("main tbody tr").count(), 15);
    await assertSoundInAll(page, "the first page");
    await page.keyboard.press("/");
    await page.keyboard.type("signature webhook");
    await page.locator("#found a").first().click();
    await page.waitForURL(/webhooks\.html#/);
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: /Copied|Select it/ }).waitFor();
    await assertSoundInAll(page, "a page with code");
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("the API page describes every operation and can send requests", async () => {
    const page = await openFresh(browser);
    const faults = listenForFaults(page);
    await page.goto(`${siteOf()}/docs/openapi.html`);
    const answer = await fetch(`${service.baseUrl}/openapi.json`);
    const { paths } = (await answer.json()) as { paths: Record<string, object> };
    const methods = Object.values(paths).flatMap(Object.keys);
    const calls = methods.filter((method) => method !== "parameters").length;
    assert.equal(await page.locator("form.try").count(), calls);
    await assertSound(page, "the reference");
    const form = (path: string, method = "GET") =>
      page.locator(`form[data-path="${path}"][data-method="${method}"]`);
    const send = async (path: string) => {
      await form(path).getByRole("button", { name: "Send" }).click();
      const output = form(path).locator("output", { hasText: /^\d{3}/ });
      return (await output.textContent()) ?? "";
    };
    assert.match(await send("/addresses"), /^401\n(.*: .*\n)+\n\{/);
    assert.match(await send("/chains"), /^200\n(.*: .*\n)*content-type: .*\n(.*: .*\n)*\n\{/);
    await page.getByLabel("API key").fill(service.apiKey);
    await form("/addresses").getByLabel("limit").fill("1");
    assert.match(await send("/addresses"), /^200\n[^{]+\n\{\s+"items"/);
    const post = form("/address/create", "POST");
    await post.getByLabel("reference").fill("it's order-1");
    await post.getByRole("button", { name: "Copy as curl" }).click();
    const command = await post.locator("output", { hasText: "curl" }).textContent();
    assert.match(
      command ?? "",
      /-X POST 'http[^']+\/v1\/address\/create\?reference=it%27s\+order-1'/,
    );
    assert.doesNotMatch(command ?? "", /svc_sk_/);
    const kept = [service.apiKey, "svc_sk_"].map((key) =>
      page.evaluate(`JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])
        .includes("${key}")`),
    );
    assert.deepEqual(await Promise.all(kept), [false, false]);
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("the API page creates an address with a client ID", async () => {
    const page = await openFresh(browser, { viewport: { width: 360, height: 800 } });
    const faults = listenForFaults(page);
    const posted: string[] = [];
    page.on("request", (request) => request.method() === "POST" && posted.push(request.url()));
    await admin(service.env, "origins", "set", "--account", service.accountId, siteOf());
    await page.goto(`${siteOf()}/docs/openapi.html`);
    const post = page.locator('form[data-path="/address/create"]');
    const output = post.locator("output");
    const send = post.getByRole("button", { name: "Send" });
    await page.getByLabel("API key").fill(service.apiKey);
    await send.click();
    await output.getByText("API keys work only on servers").waitFor();
    assert.deepEqual(posted, [], "a key that a browser has posted would have to be rotated");
    await page.getByLabel("API key").fill(service.clientId);
    const body = post.getByLabel("Body, JSON");
    await send.click();
    await output.getByText('"address": "0x').waitFor();
    assert.match(await body.inputValue(), new RegExp(`"chainId": ${localChainId}`));
    assert.match((await output.textContent()) ?? "", /^200\n/);
    await body.fill('{"amount": 1}');
    await send.click();
    await output.getByText('"invalid_request"').waitFor();
    assert.match((await output.textContent()) ?? "", /^400\n/);
    await assertSound(page, "an answer");
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("the documentation works without a server", async () => {
    const page = await openFresh(browser);
    const folder = new URL("../../web/dist/docs/index.html", import.meta.url);
    await page.goto(pathToFileURL(folder.pathname).href);
    await page.getByRole("link", { name: "Write an intent", exact: true }).click();
    await page.getByRole("heading", { name: "Writing an intent", level: 1 }).waitFor();
    await page.getByRole("searchbox").fill("expiry");
    await page.locator("#found a").first().waitFor();
    await page.context().close();
  });

  test("llms-full.txt contains the whole documentation", async () => {
    const text = await (await fetch(`${siteOf()}/llms-full.txt`)).text();
    assert.match(text, /^# Executable addresses$/m);
    assert.match(text, /^# Webhooks$/m);
  });
});
