// Tests `npm start` in a browser, from sign-up to an executed address. The user needs only a mouse,
// and neither a wallet nor a terminal.

import assert from "node:assert/strict";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { end } from "../../scripts/child-process.ts";
import { assertSound, launchBrowser, listenForFaults } from "../browser/browser.ts";
import { environment, start } from "./npm-start.ts";

let browser: Browser;
let folder: string;
let started: ChildProcess | undefined;
let page: Page;
let faults: string[];
let site: string;
let node: string;

before(async () => {
  browser = await launchBrowser();
  folder = await mkdtemp(join(tmpdir(), "executable-address-browser-start-"));
  const env = await environment(folder);
  started = (await start(env)).child;
  site = `http://127.0.0.1:${env.PORT}`;
  node = `http://127.0.0.1:${env.CHAIN_PORT}`;
  page = await (await browser.newContext({ reducedMotion: "reduce" })).newPage();
  faults = listenForFaults(page);
});

after(async () => {
  await browser?.close();
  if (started) await end(started, "SIGINT");
  await rm(folder, { recursive: true, force: true });
});

describe("npm start in a browser", () => {
  test("a new user creates an address with one click", async () => {
    await page.goto(`${site}/sign-up`);
    await page.getByLabel("Email").fill("ada@example.com");
    await page.getByLabel("Password", { exact: true }).fill("correct horse battery");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByText("A test account of the local chain.").waitFor();
    await page.getByRole("button", { name: "Create address" }).click();
    await page.waitForURL(/\/addresses\/0x[0-9a-fA-F]{40}$/);
    await page.getByRole("button", { name: "Pay on the local chain" }).waitFor();
    await assertSound(page, "an address to pay");
  });

  test("the page shows a terminal command if the local chain is unreachable", async () => {
    await page.route(`${node}/**`, (route) => route.abort());
    await page.getByRole("button", { name: "Pay on the local chain" }).click();
    await page.getByText("The payment failed").waitFor();
    await page.getByText(/^npm run --silent pay -- 0x/).waitFor();
    await assertSound(page, "a local chain out of reach");
    await page.unroute(`${node}/**`);
    faults.length = 0;
  });

  test("a user pays the address with one click", async () => {
    await page.getByRole("button", { name: "Pay on the local chain" }).click();
    const said = page.getByRole("status").filter({ hasText: "The calls ran as written." });
    await said.waitFor();
    const address = new URL(page.url()).pathname.split("/").at(-1);
    const status = await fetch(`${site}/v1/address/${address}/status`);
    assert.equal(((await status.json()) as { state: string }).state, "executed");
    assert.equal(await page.getByRole("button", { name: "Pay on the local chain" }).count(), 0);
    await assertSound(page, "an executed address");
    const receipt = page.waitForEvent("popup");
    await said.getByRole("link", { name: "Receipt" }).click();
    assert.equal(new URL((await receipt).url()).pathname, `/receipt/${address}`);
  });

  test("no page violated the content security policy or threw an error", () =>
    assert.deepEqual(faults, []));
});
