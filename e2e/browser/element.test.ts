// Tests the element on a real chain. The shop's page has its own origin and a strict policy.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { type AddressRecord, type Hex, makeRecord } from "executable-address";
import type { Browser, Page } from "playwright-core";
import { payerAccount, shopAddress } from "../../scripts/local-chain.ts";
import { onlyLong } from "../../scripts/long.ts";
import { admin, type Running, startService } from "../service.ts";
import { announceWallet } from "../wallets/test-wallet.ts";
import { assertSound, launchBrowser, listenForFaults } from "./browser.ts";
import {
  approve,
  create,
  createOrder,
  execute,
  mint,
  naively,
  openFresh,
  payFrom,
  readCodeIn,
  showWrongToken,
  stranger,
  token,
} from "./pay-page.ts";
import { bare, bundle, serveShop } from "./shop-pages.ts";

let service: Running;
let browser: Browser;
let shop: Awaited<ReturnType<typeof serveShop>>;
let page: Page;

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  shop = await serveShop(service);
  const { accountId } = await admin(service.env, "account", "show", "--email", "shop@example.com");
  await admin(service.env, "origins", "set", "--account", `${accountId}`, shop.origin);
});

after(async () => {
  await browser?.close();
  shop?.close();
  await service?.stop();
});

beforeEach(async () => {
  page = await openFresh(browser);
});
afterEach(() => page.context().close());

const part = (name: string) => page.locator(`executable-address [part~="${name}"]`);

/** Opens a page that contains only the element, and records its events. */
async function show(address: string, baseUrl = service.baseUrl, mirrors = ""): Promise<void> {
  await page.goto(`${shop.origin}/bare`);
  await page.evaluate(`
    globalThis.dispatched = [];
    const payment = document.createElement("executable-address");
    for (const name of ["paid", "executed", "expired"])
      payment.addEventListener(name, ({ detail }) =>
        dispatched.push([name, detail.address, detail.status.state]));
    payment.setAttribute("address", ${JSON.stringify(address)});
    payment.setAttribute("base-url", ${JSON.stringify(baseUrl)});
    payment.setAttribute("mirrors", ${JSON.stringify(mirrors)});
    document.querySelector("#payment").append(payment);`);
}

const dispatched = () => page.evaluate("dispatched") as Promise<[string, Hex, string][]>;

describe("<executable-address>", () => {
  test("the element has at most 30 kB of code, plus 8 kB for wallets", async () => {
    const { code, later } = await bundle(bare);
    const bytes = gzipSync(code, { level: 9 }).length;
    assert.ok(bytes > 10_000 && bytes <= 30_000, `${bytes} bytes`);
    const wallet = Object.values(later).find((text) => text.includes("eth_sendTransaction"));
    const more = gzipSync(wallet!, { level: 9 }).length;
    assert.ok(more > 2_000 && more <= 8_000, `${more} bytes for wallets`);
    for (const text of [code, wallet!])
      assert.doesNotMatch(text, /\beval\(|new Function\(|innerHTML/);
  });

  test("the element offers no payment without a valid record", async () => {
    const [order, other] = [await createOrder(service), await createOrder(service)];
    await page.route(`**/v1/address/${order.address}`, (route) =>
      route.fulfill({ json: other, headers: { "access-control-allow-origin": "*" } }),
    );
    await show(order.address);
    await page.getByText("Don’t pay. The server returned data that doesn’t match").waitFor();
    assert.equal(await part("qr").count(), 0);
    await show(stranger);
    await page.getByText("Payment not found").waitFor();
    await show("0x12");
    await page.getByText("Payment not found").waitFor();
    await show(order.address, "http://127.0.0.1:9/v1");
    await page.getByText("Couldn’t load this payment. Don’t pay yet.").waitFor();
    assert.deepEqual(await dispatched(), []);
  });

  test("the element reads the record from a mirror if the service is down", async () => {
    const [order, other] = [await createOrder(service), await createOrder(service)];
    const asked: string[] = [];
    for (const [name, record] of Object.entries({ lying: other, honest: order }))
      await page.route(`${shop.origin}/${name}/v1/address/*`, (route) => {
        asked.push(name);
        return route.fulfill({ json: record });
      });
    const dead = "http://127.0.0.1:9/v1";
    await show(order.address, dead, `${shop.origin}/lying/v1`);
    await page.getByText("Couldn’t load this payment. Don’t pay yet.").waitFor();
    assert.equal(await part("address").count(), 0);
    await show(order.address, dead, `${shop.origin}/lying/v1 ${shop.origin}/honest/v1`);
    await page.getByText("25\u202f000\u202f000 base units").waitFor();
    // The verified record came from a mirror. Only the service can report whether the address has
    // been paid.
    await page.getByText("We can’t tell yet whether this is already paid.").waitFor();
    assert.equal(await part("qr").count(), 0);
    assert.deepEqual(new Set(asked), new Set(["lying", "honest"]));
  });

  test("the element shows the amount and a QR code", async () => {
    const faults = listenForFaults(page);
    const { address } = await createOrder(service);
    await show(address.toLowerCase());
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await part("amount").textContent(), `25 ${token.symbol}`);
    assert.equal(await readCodeIn(page, part("qr")), address);
    assert.equal(naively((await part("address").textContent()) ?? ""), address);
    const short = `${address.slice(0, 6)}…${address.slice(20, 24)}…${address.slice(38)}`;
    const mustShow = `Your wallet should show: 25 ${token.symbol} to ${short} on Local`;
    assert.equal(await part("must-show").textContent(), mustShow);
    const page_ = `${new URL(service.baseUrl).origin}/a/${address}`;
    assert.equal(await part("details").getAttribute("href"), page_);
    await assertSound(page, "the element");
    assert.deepEqual(faults, []);
  });

  test("the element shows no QR code for an unknown token", async () => {
    const { address } = await createOrder(service);
    await page.route("**/v1/chains", (route) => route.fulfill({ json: { chains: [] } }));
    await show(address);
    await page.getByText("Unknown token").waitFor();
    await page.getByText("Review what this payment does before you pay.").waitFor();
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await part("qr").count(), 0);
  });

  test("the element shows 1.2340 instead of 1.234, which could be read as 1,234", async () => {
    for (const [amount, said] of [
      ["1234000", "1.2340 DUSD"],
      ["1500000000", "1\u202f500 DUSD"],
    ] as const) {
      await show((await create(service, [approve(amount)], 3600, amount)).address);
      await part("qr").waitFor();
      assert.equal(await part("amount").textContent(), said);
      assert.ok((await part("must-show").textContent())?.includes(`: ${said} to 0x`));
    }
  });

  test("the element requests the missing amount of an underpaid address", async () => {
    const partly = await createOrder(service);
    await mint(service, partly.address, 10_000_000n);
    await show(partly.address);
    await page.getByText("Underpaid").waitFor();
    assert.equal(await part("amount").textContent(), `15 ${token.symbol}`);
    assert.equal(await readCodeIn(page, part("qr")), partly.address);
    const colours = part("identicon").locator("path");
    await colours.first().waitFor();
    const paths = await colours.evaluateAll((all) => all.map((path) => path.getAttribute("d")));
    assert.equal(paths.join("").match(/M/g)?.length, 64);
    const soon = await createOrder(service, 400);
    await show(soon.address);
    await page.getByText("Expires within minutes").waitFor();
    assert.equal(await part("qr").count(), 0);
  });

  test("the element explains that a look-alike token is returned", async () => {
    await showWrongToken(page);
    await show((await createOrder(service)).address);
    const said = page.locator("executable-address");
    await said.getByText("You sent Bridged USDC (USDC.e). This shop asked for DUSD.").waitFor();
    await said.getByText(/^25 USDC\.e will be returned to 0x5555.* after /).waitFor();
    await part("qr").waitFor();
  });

  test("the element dispatches `paid` and `executed` only once", async () => {
    const order = await createOrder(service);
    await show(order.address);
    await page.getByText("Waiting for payment").waitFor();
    await mint(service, order.address, 25_000_000n);
    await page.getByText("Paid, processing").waitFor();
    assert.equal(await part("qr").count(), 0);
    assert.deepEqual(await dispatched(), [["paid", order.address, "funded"]]);
    await execute(service, order);
    await page.getByText("Completed", { exact: true }).waitFor();
    assert.deepEqual((await dispatched()).slice(1), [["executed", order.address, "executed"]]);
    for (const name of ["qr", "address", "copy", "must-show", "pay"])
      assert.equal(await part(name).count(), 0, name);
  });

  test("the element shows another payment if its address attribute changes", async () => {
    const [first, second] = [await createOrder(service), await createOrder(service)];
    await show(first.address);
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), first.address);
    await page
      .locator("executable-address")
      .evaluate((node, address) => node.setAttribute("address", address), second.address);
    await page.getByText(second.address.slice(2, 6), { exact: true }).first().waitFor();
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), second.address);
    const color = await part("amount").evaluate(
      (node) => node.ownerDocument.defaultView?.getComputedStyle(node).color,
    );
    assert.equal(color, "rgb(107, 33, 168)", "by ::part in the shop's style sheet");
  });
});

describe("the element with a wallet", () => {
  const payButton = () => page.getByRole("button", { name: "Pay with Test Wallet" });
  const openWithWallet = async () => {
    const payer = payerAccount.address as Hex;
    const wallet = await announceWallet(page, service.anvil.rpcUrl, payer);
    await mint(service, payer, 100_000_000n);
    const order = await createOrder(service);
    await show(order.address);
    return { wallet, order };
  };

  test("the element warns of an unlimited approval and hides the QR code", async () => {
    const record = await create(service, [approve((2n ** 256n - 1n).toString())]);
    await show(record.address);
    await page.getByText("Step 1 allows unlimited spending").waitFor();
    await page.getByText("Review what this payment does before you pay.").waitFor();
    assert.equal(await part("qr").count(), 0);
    await assertSound(page, "the element with a hazard");
  });

  test("a payer who rejected a wallet request can send another request", async () => {
    const { wallet, order } = await openWithWallet();
    wallet.fault = "rejects";
    await payButton().click();
    await page.getByText("You rejected the request in your wallet. Nothing was sent.").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), order.address);
    wallet.fault = undefined;
    let answer = () => {};
    wallet.asking = new Promise((resolve) => {
      answer = resolve;
    });
    await payButton().click();
    await page.getByText("Confirm in your wallet: 25").waitFor();
    assert.equal(await part("qr").count(), 0);
    await show(order.address);
    await page.getByText("Your wallet may still be asking for this payment").waitFor();
    assert.equal(await part("qr").count(), 0);
    answer();
    await page.getByText("Paid, processing").waitFor();
    const sends = wallet.asked.filter((method) => method === "eth_sendTransaction");
    assert.equal(sends.length, 2, "declined once, sent once");
  });

  test("after the execution, the payer is asked to reject an open wallet request", async () => {
    const { wallet, order } = await openWithWallet();
    const { promise, resolve } = Promise.withResolvers<void>();
    wallet.asking = promise;
    await payButton().click();
    await page.getByText("Confirm in your wallet: 25").waitFor();
    await mint(service, order.address, 25_000_000n);
    await execute(service, order);
    await page.getByText("Completed", { exact: true }).waitFor();
    await page.getByText("Reject the request in your wallet").waitFor();
    wallet.fault = "rejects";
    resolve();
    await page.getByText("Reject the request in your wallet").waitFor({ state: "detached" });
  });

  test(
    "after a payment by QR code, the payer is asked to reject an open wallet request",
    onlyLong,
    async () => {
      const { wallet, order } = await openWithWallet();
      const { promise, resolve } = Promise.withResolvers<void>();
      wallet.asking = promise;
      await payButton().click();
      await page.getByText("Confirm in your wallet: 25").waitFor();
      await payFrom(service, payerAccount, order.address, 25_000_000n);
      await page.getByText("Paid, processing").waitFor();
      await page
        .getByText(`If your wallet still asks for 25 ${token.symbol}, reject it.`)
        .waitFor();
      await execute(service, order);
      await page.getByText("Completed", { exact: true }).waitFor();
      await page.waitForTimeout(6_000);
      await page.getByText("Reject the request in your wallet").waitFor();
      const said = (await part("wallet").textContent()) ?? "";
      assert.ok(said.includes(`25 ${token.symbol}`) && !said.includes(`: 0 ${token.symbol}`), said);
      assert.equal(await page.getByRole("button", { name: /It didn’t go through/ }).count(), 0);
      wallet.fault = "rejects";
      resolve();
      await page.getByText("Reject the request in your wallet").waitFor({ state: "detached" });
    },
  );

  test("a missing chain is added to the wallet", async () => {
    const { wallet, order } = await openWithWallet();
    const usdc: Hex = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
    const record = makeRecord({ ...order.intent, chainId: 8453, token: usdc });
    const answer = await fetch(`${service.baseUrl}/address/${order.address}/status`);
    const status = { ...((await answer.json()) as object), address: record.address };
    const tokens = [{ symbol: "USDC", address: usdc, decimals: 6 }];
    const headers = { "access-control-allow-origin": "*" };
    for (const [path, json] of [
      ["chains", { chains: [{ chainId: 8453, name: "Base", tokens }] }],
      [`address/${record.address}`, record],
      [`address/${record.address}/status*`, status],
    ] as const)
      await page.route(`**/v1/${path}`, (route) => route.fulfill({ json, headers }));
    await page.route("**/v1/address/*/events*", (route) => route.abort());
    await show(record.address);
    assert.ok(!wallet.knows.has(8453));
    await payButton().click();
    await page.getByText("This account has 0 USDC and needs 25 USDC.").waitFor();
    assert.ok(wallet.knows.has(8453));
  });

  test(
    "the element says how much native coin the account lacks for the fee",
    onlyLong,
    async () => {
      const broke = "0x00000000000000000000000000000000000b20ce";
      await announceWallet(page, service.anvil.rpcUrl, broke);
      await mint(service, broke, 25_000_000n);
      await show((await createOrder(service)).address);
      await payButton().click();
      await page
        .getByText(/This account has 0 native coin and needs about 0\.\d+ native coin\./)
        .waitFor();
    },
  );

  test("the QR code disappears if the calls would fail", async () => {
    const order = await createOrder(service);
    await show(order.address);
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), order.address);
    await page.route("**/simulation", async (route) => {
      const answer = await (await route.fetch()).json();
      const failing = { ...answer, outcome: "fails", failedCall: 1, reason: "shut", changes: [] };
      return route.fulfill({ json: failing, headers: { "access-control-allow-origin": "*" } });
    });
    await mint(service, order.address, 5_000_000n);
    await page.getByText("This payment can’t complete right now. Don’t pay.").waitFor();
    assert.equal(await part("qr").count(), 0);
  });

  test("the element uses the page's language", async () => {
    await page.context().close();
    page = await openFresh(browser, { locale: "fr-FR" });
    await show((await createOrder(service)).address);
    await page.evaluate("document.documentElement.lang = 'de'");
    await show((await createOrder(service)).address);
    await page.getByText("Waiting for payment").waitFor();
    await page.locator("executable-address").evaluate((node) => node.setAttribute("lang", "ar"));
    await page.getByText("يجب أن تعرض محفظتك").waitFor();
    await page.evaluate("document.documentElement.dir = 'rtl'");
    const directions = await part("must-show").evaluate((node) => {
      const shown = node.parentNode!.querySelectorAll("[part=amount], [part=address], bdi");
      const { getComputedStyle } = node.ownerDocument.defaultView!;
      return [...shown].map((each) => [each.textContent, getComputedStyle(each).direction]);
    });
    const values = directions.filter(([text]) => /\d/.test(text!));
    assert.ok(values.length >= 4, JSON.stringify(directions));
    assert.deepEqual(
      values.filter(([, direction]) => direction !== "ltr"),
      [],
    );
  });
});

describe("<executable-recovery>", () => {
  test("the wallet's account is filled in only if the user agrees", async () => {
    const faults = listenForFaults(page);
    const wallet = await announceWallet(page, service.anvil.rpcUrl, payerAccount.address as Hex);
    await page.goto(`${shop.origin}/refund`);
    const take = page.getByRole("button", { name: "Use my Test Wallet account" });
    wallet.fault = "hides";
    await take.click();
    await page.getByText("No address was added").waitFor();
    assert.equal(await page.getByLabel("Refund").inputValue(), "");
    wallet.fault = undefined;
    await take.click();
    await page.getByText("Your wallet address is filled in.").waitFor();
    assert.equal(await page.getByLabel("Refund").inputValue(), payerAccount.address);
    wallet.account = shopAddress;
    await take.click();
    await page.getByText("Your wallet account is a smart contract.").waitFor();
    assert.deepEqual(faults, []);
  });
});

describe("the example shop", () => {
  test("the example shop completes an order after its payment", async () => {
    const faults = listenForFaults(page);
    const answered = page.waitForResponse("**/v1/address/create");
    await page.goto(shop.origin);
    const record = (await (await answered).json()) as AddressRecord;
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), record.address);
    await mint(service, record.address, 25_000_000n);
    await page.getByText("Paid. Your order is being confirmed").waitFor();
    const hash = await execute(service, record);
    await page.getByText(`Done: transaction ${hash}`).waitFor();
    assert.deepEqual(faults, []);
  });
});

describe("the React wrapper", () => {
  test("the React component passes its properties to the element", async () => {
    const order = await createOrder(service);
    const base = encodeURIComponent(service.baseUrl);
    await page.goto(`${shop.origin}/react?address=${order.address}&base=${base}`);
    await page.getByText("En attente").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), order.address);
    await mint(service, order.address, 25_000_000n);
    await page.getByText("dispatched paid").waitFor();
    await execute(service, order);
    await page.getByText("dispatched executed").waitFor();
  });
});
