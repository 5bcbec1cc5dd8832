// Tests the payment page's diagram, which shows where money comes from and where it goes. The page
// computes the diagram from the intent, and from a proof or a simulation. Also tests the printed
// receipt.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { shortAddress } from "executable-address/payment";
import type { Page, Route } from "playwright-core";
import { executorAccount, payerAccount, shopAddress } from "../../scripts/local-chain.ts";
import { readPrint, squeeze } from "../pictures/pdf-text.ts";
import { assertSound } from "./browser.ts";
import {
  create,
  createOrder,
  execute,
  mint,
  payFrom,
  servePayPage,
  stranger,
  transferTo,
} from "./pay-page.ts";

const { service, site, open, page, executed } = await servePayPage({});

const urlOf = ({ address }: AddressRecord) => `${site}/a/${address}`;
const [first, second, forged] = ["a", "b", "c"].map(
  (digit) => `0x${digit.repeat(40)}` as const,
) as [Hex, Hex, Hex];

beforeEach(() => page.setViewportSize({ width: 1280, height: 720 }));

describe("the payment page's money diagram", () => {
  const split = () =>
    create(service, [
      { ...transferTo(first), args: [first, "15000000"] },
      { ...transferTo(second), args: [second, "10000000"] },
    ]);

  test("the diagram adds the returned amount after the execution", async () => {
    const record = await split();
    await page.goto(urlOf(record));
    const flow = page.getByRole("figure", { name: "Where the money goes" });
    const said = async () => (await flow.locator("li b").allInnerTexts()).sort();
    await flow.waitFor();
    assert.deepEqual(await said(), ["10 DUSD", "15 DUSD", "25 DUSD"]);
    assert.equal(await flow.locator(".flow-picture path.flow-awaited").count(), 3);
    await mint(service, record.address, 30_000_000n);
    await execute(service, record);
    await flow.getByText("5 DUSD", { exact: true }).waitFor();
    assert.deepEqual(await said(), ["10 DUSD", "15 DUSD", "30 DUSD", "5 DUSD"]);
    assert.equal(await flow.locator("path.flow-awaited").count(), 1, "the 5 DUSD are still here");
    const times = await page.locator(".timeline li b").allInnerTexts();
    assert.deepEqual(times, ["Paid 30 DUSD", "Completed", "Now", "Expires"]);
    assert.equal(await page.locator(".rail [aria-current] span").first().innerText(), "Completed");
  });
});

describe("the payments to an underpaid address", () => {
  const partly = async () => {
    const record = await createOrder(service);
    const paid = await payFrom(service, payerAccount, record.address, 10_000_000n);
    for (let dust = 0; dust < 5; dust++) await mint(service, record.address, 1n);
    return { record, paid };
  };

  test("the payment page lists the four largest payments and counts the others", async () => {
    const { record, paid } = await partly();
    await page.setViewportSize({ width: 360, height: 740 });
    let asked = 0;
    await page.route("**/proof", (route) => {
      asked += 1;
      return route.continue();
    });
    await page.goto(urlOf(record));
    await page.getByText("Underpaid").waitFor();
    await page.locator(".qr").waitFor();
    assert.equal(asked, 0, "the proof is asked for by whoever opens the details");
    await page.locator(".details > summary").click();
    const times = page.getByRole("list", { name: "When" });
    await times.getByText("Paid 10 DUSD").waitFor();
    await times.getByText(paid).waitFor();
    const names = await times.locator("b").allInnerTexts();
    const dust = Array<string>(3).fill("Paid 0.000001 DUSD");
    assert.deepEqual(names, ["Paid 10 DUSD", ...dust, "Now", "Expires"]);
    await page.getByText("Smaller payments not listed: 2").waitFor();
    const [from] = await page.locator("figure.flow ul").allInnerTexts();
    assert.deepEqual(from!.split("\n").filter(Boolean), [
      ...["10 DUSD", shortAddress(payerAccount.address)],
      ...["0.000003 DUSD", shortAddress(`0x${"0".repeat(40)}`)],
      ...["0.000002 DUSD", "Other payers", "14.999995 DUSD", "Amount remaining"],
    ]);
    await assertSound(page, "an open address with payments");
  });

  test("the payment page shows no payers if the proof is invalid", async () => {
    const { record, paid } = await partly();
    await page.route("**/proof", async (route) => {
      const proof = await (await route.fetch()).json();
      proof.payments[0].payments[0].from = forged;
      await route.fulfill({ json: proof });
    });
    await page.goto(urlOf(record));
    // The page requests the proof up to four times, because the service may be a block behind.
    for (let tries = 0; tries < 4; tries++) await page.waitForResponse("**/proof");
    const flow = page.getByRole("figure", { name: "Where the money goes" });
    await flow.getByText("Amount remaining").waitFor();
    const [from] = await flow.locator("ul").allInnerTexts();
    assert.deepEqual(from!.split("\n").filter(Boolean), [
      ...["10.000005 DUSD", "Payers", "14.999995 DUSD", "Amount remaining"],
    ]);
    const text = await page.locator("main").innerText();
    assert.ok(!text.includes(paid) && !text.includes(shortAddress(forged)));
  });
});

describe("the money diagram after the execution", () => {
  const flowOf = (page: Page) => page.getByRole("figure", { name: "Where the money goes" });
  const shop = shortAddress(shopAddress);

  test("the diagram shows each payer and recipient with their amounts", async () => {
    const record = await createOrder(service);
    await payFrom(service, payerAccount, record.address, 10_000_000n);
    await payFrom(service, executorAccount, record.address, 20_000_000n);
    await execute(service, record);
    await page.goto(urlOf(record));
    const flow = flowOf(page);
    await flow.getByText(shop).waitFor();
    assert.equal(await flow.getByText("Used by the steps").count(), 0);
    const [from, to] = await flow.locator("ul").allInnerTexts();
    const lines = [from!, to!].map((text) => text.split("\n").filter(Boolean));
    assert.deepEqual(lines, [
      ["10 DUSD", shortAddress(payerAccount.address)].concat([
        "20 DUSD",
        shortAddress(executorAccount.address),
      ]),
      ["25 DUSD", shop, "5 DUSD", "Return address"],
    ]);
    const widths = await flow
      .locator(".flow-picture path")
      .evaluateAll((paths) =>
        paths.map((path) => Number(/v([\d.]+)/.exec(path.getAttribute("d")!)![1])),
      );
    const [small, large, taken, returned] = widths as [number, number, number, number];
    assert.ok(
      Math.abs(large - 2 * small) < 0.1 && Math.abs(taken - 5 * returned) < 0.1,
      `${widths}`,
    );
  });

  for (const [name, answer] of [
    [
      "is invalid",
      async (route: Route) => {
        const proof = await (await route.fetch()).json();
        proof.payments[0].payments[0].from = stranger;
        await route.fulfill({ json: proof });
      },
    ],
    ["is missing", (route: Route) => route.fulfill({ status: 503, json: {} })],
  ] as const) {
    test(`the diagram shows "Used by the steps" if the proof ${name}`, async () => {
      await page.route("**/proof", answer);
      await page.goto(urlOf(executed));
      await flowOf(page).getByText("Used by the steps").waitFor();
      assert.doesNotMatch(await flowOf(page).innerText(), new RegExp(shortAddress(stranger)));
    });
  }
});

describe("the printed receipt", () => {
  test("the printed receipt contains the payers, amounts, and transactions", async () => {
    const record = await createOrder(service);
    const paid = await payFrom(service, payerAccount, record.address, 30_000_000n);
    const executed = await execute(service, record);
    const page = await open({ colorScheme: "dark" });
    await page.goto(urlOf(record));
    const card = page.locator(".pay-columns > div").first();
    await card.getByText("Paid 30 DUSD").waitFor();
    await card.locator("figure.flow").getByText(shortAddress(shopAddress)).waitFor();
    const lines = await readPrint(page);
    const text = lines.join("");
    for (const part of [record.address, payerAccount.address, paid, executed, "30 DUSD", "5 DUSD"])
      assert.ok(text.includes(squeeze(part)), part);
    await page.emulateMedia({ media: "print" });
    const receipt = squeeze(`Payment ${await card.innerText()}`);
    for (const line of lines) assert.ok(receipt.includes(line), line);
    for (const other of ["English", "Details", "What this payment does", "Print", "Copy"])
      assert.ok(!text.includes(squeeze(other)), other);
    await page.context().close();
  });
});
