// Tests how the payment page explains a status. The tests include a payment that cannot complete,
// the remaining time, and an outdated status or record.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assertSound } from "./browser.ts";
import {
  create,
  createOrder,
  expire,
  mint,
  readCode,
  servePayPage,
  showAnyway,
  stranger,
  token,
  transferTo,
} from "./pay-page.ts";

const { service, site, open, page, honest, paid, stuck, executed, returned } = await servePayPage();

describe("the status on the payment page", () => {
  const stuckText = (reason: string) =>
    page.getByText(`This payment can’t complete right now: ${reason}. Your payment arrived, but`);

  test("the status explains why a payment cannot complete", async () => {
    await page.goto(`${site}/a/${stuck.address}`);
    await stuckText("step 2 fails").waitFor();
    await page
      .getByText(/If the payment doesn’t complete by .*, the money goes to the return address/)
      .waitFor();
    await page.getByText("Step 2 fails: “there is no contract at this address”").waitFor();
    assert.equal(await page.locator(".badge-good, .notice-good").count(), 0);
    await page.getByText("Amount requested").waitFor();
    const copies = page.getByRole("button", { name: `Copy 25 ${token.symbol}` });
    assert.equal(await copies.count(), 0, "nothing is to pay, so no amount is to be typed");
  });

  test("the status compares the requested amount with the amount that the calls send", async () => {
    const record = await create(service, [transferTo(stranger), transferTo(stranger)]);
    await mint(service, record.address, 25_000_000n);
    await page.goto(`${site}/a/${record.address}`);
    const { symbol } = token;
    await stuckText(
      `it needs 50 ${symbol}, but the requester asked for only 25 ${symbol}`,
    ).waitFor();
  });

  test("the details show why the server's last attempt failed", async () => {
    await page.route("**/events", (route) => route.fulfill({ status: 503 }));
    await page.route("**/status", async (route) => {
      const status = await (await route.fetch()).json();
      const executor = { purpose: "execute", phase: "given_up", attempts: 3 };
      const failed = {
        ...executor,
        transactionHash: null,
        reason: "takes 9 gas, but the limit is 8",
      };
      return route.fulfill({ json: { ...status, executor: failed } });
    });
    await page.goto(`${site}/a/${paid.address}`);
    await stuckText("the server’s last attempt failed").waitFor();
    await page.getByText("The payment fails: “takes 9 gas, but the limit is 8”.").waitFor();
  });

  test("the page says what happens if a payment does not complete", async () => {
    await page.goto(`${site}/a/${paid.address}`);
    await page
      .getByText(/only then does the recipient get the money. If it doesn’t complete by .*, the/)
      .waitFor();
  });

  test("the remaining time does not depend on the payer's clock", async () => {
    const page = await open();
    for (const days of [-400, 400]) {
      await page.clock.setSystemTime(Date.now() + days * 86_400_000);
      await page.goto(`${site}/a/${honest.address}`);
      await page.getByText(/Expires in (1 h|5\d min)/).waitFor();
      await page.locator("details.details").evaluate((node) => node.setAttribute("open", ""));
      const end = page.locator(".timeline-end");
      await end.getByText(/^in (1 hour|5\d minutes)$/).waitFor();
      assert.equal(await readCode(page), honest.address);
    }
    await page.context().close();
  });

  test("the status says within 30 s that the server stopped responding", async () => {
    const page = await open();
    await page.clock.install();
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await page.getByText("No updates since").count(), 0);
    const asked = /\/v1\/address\/0x\w+\/(status|events)$/;
    await page.route(asked, (route) => route.abort());
    await page.clock.runFor(30_000);
    await page.getByText(/No updates since \d+:\d\d:\d\d/).waitFor();
    assert.equal(await readCode(page), honest.address);
    await page.clock.runFor(35_000);
    await page.getByText("No update from the server for over a minute").waitFor();
    await assertSound(page, "silent");
    assert.equal(await page.locator(".qr").count(), 0);
    await showAnyway(page).click();
    assert.equal(await readCode(page), honest.address);
    await page.unroute(asked);
    await page.clock.runFor(6_000);
    await page.getByText("No updates since").waitFor({ state: "detached" });
    await page.context().close();
  });

  test("the status shows where an excess amount goes", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText(/, \d{4}, \d+:\d\d\s[AP]M\s.* · block \d+/).waitFor();
    await page
      .getByText(`5 ${token.symbol} hasn’t been sent to the return address ${stranger} yet`)
      .waitFor();
    await page.locator("#returns > summary").click();
    await page.getByText("wallets may show this address as a smart contract").waitFor();
  });

  test("the page does not describe further transfers after a payment is completed", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("There’s nothing more to do.").waitFor();
    await page.getByRole("heading", { name: "How this was verified" }).waitFor();
    assert.equal(await page.getByText("collects up to").count(), 0);
    assert.equal(await page.getByText("If the payment doesn’t complete").count(), 0);
  });

  test("the status shows how much arrived and who can send it to the return address", async () => {
    const record = await createOrder(service, 500);
    await mint(service, record.address, 10_000_000n);
    await expire(service, 600, [returned]);
    await page.route("**/events", (route) => route.fulfill({ status: 503 }));
    await page.goto(`${site}/a/${record.address}`);
    const { symbol } = token;
    await page.getByText(`Only 10 of 25 ${symbol} arrived. This payment expired`).waitFor();
    await page.getByText("Anyone can send it there, but nowhere else.").waitFor();
    assert.equal(await page.getByText("within minutes").count(), 0, "no executor runs");
    const awaited = page.locator("figure.flow .flow-awaited");
    await awaited.waitFor();
    const executor = { purpose: "recover", phase: "waiting", attempts: 0, reason: null };
    await page.route("**/status", async (route) => {
      const status = await (await route.fetch()).json();
      return route.fulfill({
        json: { ...status, executor: { ...executor, transactionHash: null } },
      });
    });
    await page.reload();
    await page.getByText("This usually happens automatically within minutes.").waitFor();
    await page.unrouteAll({ behavior: "wait" });
    await expire(service, 1, [record]);
    await page.reload();
    await page.getByText(`Only 10 of 25 ${symbol} arrived. This payment didn’t`).waitFor();
    await page.locator("figure.flow .flow-return").waitFor();
    assert.equal(await awaited.count(), 0);
    await page.goto(`${site}/a/${returned.address}`);
    await page.getByText("This payment didn’t complete").waitFor();
    assert.equal(await page.getByText(/^Only/).count(), 0, "the full amount arrived");
  });
});

test("a slow record of an earlier link does not replace the record of a new link", async () => {
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(`**/v1/address/${honest.address}`, async (route) => {
    await held;
    await route.continue().catch(() => {});
  });
  await page.goto(`${site}/a/${honest.address}`);
  await page.evaluate(`location.hash = "#terms=${paid.terms}"`);
  const shown = page.getByText(paid.address).first();
  await shown.waitFor({ state: "attached" });
  answer();
  await page.waitForTimeout(1_000);
  assert.equal(await page.getByText(honest.address).count(), 0);
  assert.notEqual(await shown.count(), 0);
});
