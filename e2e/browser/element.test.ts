// Tests the element in a shop's page, which has a different origin and a strict policy of its own,
// on a real chain.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { AddressRecord, Hex } from "executable-address";
import type { Browser, Page } from "playwright-core";
import { rolldown } from "rolldown";
import { localChainId, payerAccount, shopAddress } from "../../scripts/local-chain.ts";
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

const example = resolve(import.meta.dirname, "../../docs/shop");

let service: Running;
let browser: Browser;
let shop: Server;
let origin: string;
let page: Page;

/** Bundles `entry` for a page, minified. Returns the entry and the files that it loads later. */
async function bundle(
  code: string,
  name = "entry",
): Promise<{ code: string; later: Record<string, string> }> {
  const build = await rolldown({
    input: "entry",
    cwd: resolve(import.meta.dirname, "../.."),
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? join(example, "entry.js") : null),
        load: (id) => (id === join(example, "entry.js") ? code : null),
      },
    ],
  });
  const { output } = await build.generate({
    ...{ format: "esm", minify: true, entryFileNames: `${name}.js` },
  });
  await build.close();
  const [entry, ...rest] = output;
  const chunks = rest.filter((part) => part.type === "chunk");
  return {
    code: entry.code,
    later: Object.fromEntries(chunks.map(({ fileName, code }) => [`/${fileName}`, code])),
  };
}

const bare = `import "executable-address-element";`;
const recovery = `import "executable-address-element/recovery";`;
const react = `
  import { createElement } from "react";
  import { createRoot } from "react-dom/client";
  import { ExecutableAddress } from "executable-address-element/react";
  const query = new URLSearchParams(location.search);
  const dispatched = (name) => () => document.body.append(" dispatched " + name);
  createRoot(document.querySelector("#payment")).render(createElement(ExecutableAddress, {
    address: query.get("address"), baseUrl: query.get("base"),
    words: { stateUnfunded: "En attente" }, onPaid: dispatched("paid"),
    onExecuted: dispatched("executed"),
  }));`;

/** Strict: permits the service only as a target of requests. */
const policyOf = (serviceOrigin: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self' ${serviceOrigin}`;

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  const text = (name: string) => readFileSync(join(example, name), "utf8");
  const serviceOrigin = new URL(service.baseUrl).origin;
  const { baseUrl, clientId } = service;
  const settings = { baseUrl, clientId, chainId: localChainId, token: token.address };
  const plain = text("index.html").replace("shop.js", "bare.js");
  const codes = { shop: text("shop.js"), bare, react, refund: recovery };
  const built = await Promise.all(Object.entries(codes).map(([name, code]) => bundle(code, name)));
  const [shopCode, bareCode, reactCode, recoveryCode] = built.map(({ code }) => code);
  const later = built.flatMap((each) => Object.entries(each.later));
  const files: Record<string, [string, string]> = {
    ...Object.fromEntries(later.map(([path, code]) => [path, ["text/javascript", code]])),
    "/": ["text/html", text("index.html")],
    "/shop.css": ["text/css", text("shop.css")],
    "/shop.js": ["text/javascript", shopCode!],
    "/settings.json": ["application/json", JSON.stringify({ ...settings, shop: shopAddress })],
    "/bare": ["text/html", plain],
    "/bare.js": ["text/javascript", bareCode!],
    "/react": ["text/html", plain.replace("bare.js", "react.js")],
    "/refund": [
      "text/html",
      `<!doctype html><html lang="en"><title>Refund</title><script type="module" src="/refund.js">
      </script><label>Refund <input id="refund"></label>
      <executable-recovery for="refund"></executable-recovery>`,
    ],
    "/refund.js": ["text/javascript", recoveryCode!],
    "/react.js": ["text/javascript", reactCode!],
  };
  shop = createServer((request, response) => {
    const [type, body] = files[request.url?.split("?")[0] ?? ""] ?? ["text/plain", ""];
    response.setHeader("content-security-policy", policyOf(serviceOrigin));
    response.setHeader("content-type", `${type}; charset=utf-8`).end(body);
  });
  await new Promise<void>((listening) => shop.listen(0, "localhost", listening));
  origin = `http://localhost:${(shop.address() as AddressInfo).port}`;
  const { accountId } = await admin(service.env, "account", "show", "--email", "shop@example.com");
  await admin(service.env, "origins", "set", "--account", `${accountId}`, origin);
});

after(async () => {
  await browser?.close();
  shop?.closeAllConnections();
  shop?.close();
  await service?.stop();
});

const part = (name: string) => page.locator(`executable-address [part~="${name}"]`);

/** Opens a page that contains only the element and records its events. */
async function show(address: string, baseUrl = service.baseUrl, mirrors = ""): Promise<void> {
  await page.goto(`${origin}/bare`);
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
  test("is at most 30 kB gzipped for the code, 8 kB more for wallets, without eval", async () => {
    const { code, later } = await bundle(bare);
    const bytes = gzipSync(code, { level: 9 }).length;
    assert.ok(bytes > 10_000 && bytes <= 30_000, `${bytes} bytes`);
    const wallet = Object.values(later).find((text) => text.includes("eth_sendTransaction"));
    const more = gzipSync(wallet!, { level: 9 }).length;
    assert.ok(more > 2_000 && more <= 8_000, `${more} bytes for wallets`);
    for (const text of [code, wallet!])
      assert.doesNotMatch(text, /\beval\(|new Function\(|innerHTML/);
  });

  test("offers no payment for an unverified, unknown, or unreachable record", async () => {
    page = await openFresh(browser);
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
    await page.context().close();
  });

  test("reads the record from a mirror if the service is down", async () => {
    page = await openFresh(browser);
    const [order, other] = [await createOrder(service), await createOrder(service)];
    const asked: string[] = [];
    for (const [name, record] of Object.entries({ lying: other, honest: order }))
      await page.route(`${origin}/${name}/v1/address/*`, (route) => {
        asked.push(name);
        return route.fulfill({ json: record });
      });
    const dead = "http://127.0.0.1:9/v1";
    await show(order.address, dead, `${origin}/lying/v1`);
    await page.getByText("Couldn’t load this payment. Don’t pay yet.").waitFor();
    assert.equal(await part("address").count(), 0);
    await show(order.address, dead, `${origin}/lying/v1 ${origin}/honest/v1`);
    await page.getByText("25\u202f000\u202f000 base units").waitFor();
    // The record is verified, but only the service could say that nothing was paid yet.
    await page.getByText("We can’t tell yet whether this is already paid.").waitFor();
    assert.equal(await part("qr").count(), 0);
    assert.deepEqual(new Set(asked), new Set(["lying", "honest"]));
    await page.context().close();
  });

  test("shows amount, QR code, and the wallet's expected text, and passes the checks", async () => {
    page = await openFresh(browser);
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
    await page.context().close();
  });

  test("shows no QR code for a token that the service does not list", async () => {
    page = await openFresh(browser);
    const { address } = await createOrder(service);
    await page.route("**/v1/chains", (route) => route.fulfill({ json: { chains: [] } }));
    await show(address);
    await page.getByText("Unknown token").waitFor();
    await page.getByText("Review what this payment does before you pay.").waitFor();
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await part("qr").count(), 0);
    await page.context().close();
  });

  test("formats an amount without ambiguity", async () => {
    page = await openFresh(browser);
    for (const [amount, said] of [
      ["1234000", "1.2340 DUSD"],
      ["1500000000", "1\u202f500 DUSD"],
    ] as const) {
      await show((await create(service, [approve(amount)], 3600, amount)).address);
      await part("qr").waitFor();
      assert.equal(await part("amount").textContent(), said);
      assert.ok((await part("must-show").textContent())?.includes(`: ${said} to 0x`));
    }
    await page.context().close();
  });

  test("shows the amount due, and offers no way to pay that cannot complete", async () => {
    page = await openFresh(browser);
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
    await page.context().close();
  });

  test("explains a look-alike and its return, and still offers to pay", async () => {
    page = await openFresh(browser);
    await showWrongToken(page);
    await show((await createOrder(service)).address);
    const said = page.locator("executable-address");
    await said.getByText("You sent Bridged USDC (USDC.e). This shop asked for DUSD.").waitFor();
    await said.getByText(/^25 USDC\.e will be returned to 0x5555.* after /).waitFor();
    await part("qr").waitFor();
    await page.context().close();
  });

  test("dispatches the events paid and executed once each", async () => {
    page = await openFresh(browser);
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
    await page.context().close();
  });

  test("shows the new address if its attribute changes, and uses the page's colors", async () => {
    page = await openFresh(browser);
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
    await page.context().close();
  });
});

describe("the element and a wallet", () => {
  const payButton = () => page.getByRole("button", { name: "Pay with Test Wallet" });

  test("names a hazard that gives money away, and shows no QR code", async () => {
    page = await openFresh(browser);
    const record = await create(service, [approve((2n ** 256n - 1n).toString())]);
    await show(record.address);
    await page.getByText("Step 1 allows unlimited spending").waitFor();
    await page.getByText("Review what this payment does before you pay.").waitFor();
    assert.equal(await part("qr").count(), 0);
    await assertSound(page, "the element with a hazard");
    await page.context().close();
  });

  test("sends nothing after a rejection, and then pays once, even after a reload", async () => {
    page = await openFresh(browser);
    const payer = payerAccount.address as Hex;
    const wallet = await announceWallet(page, service.anvil.rpcUrl, payer);
    await mint(service, payer, 100_000_000n);
    const order = await createOrder(service);
    await show(order.address);
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
    await page.context().close();
  });

  test("asks the payer to reject the request if the address has since been executed", async () => {
    page = await openFresh(browser);
    const payer = payerAccount.address as Hex;
    const wallet = await announceWallet(page, service.anvil.rpcUrl, payer);
    await mint(service, payer, 100_000_000n);
    const order = await createOrder(service);
    await show(order.address);
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
    await page.context().close();
  });

  test("after a payment by QR code, asks the payer to reject the open wallet request", async () => {
    page = await openFresh(browser);
    const payer = payerAccount.address as Hex;
    const wallet = await announceWallet(page, service.anvil.rpcUrl, payer);
    const order = await createOrder(service);
    await show(order.address);
    const { promise, resolve } = Promise.withResolvers<void>();
    wallet.asking = promise;
    await payButton().click();
    await page.getByText("Confirm in your wallet: 25").waitFor();
    await payFrom(service, payerAccount, order.address, 25_000_000n);
    await page.getByText("Reject the request in your wallet").waitFor();
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
    await page.context().close();
  });

  test("names the coin if an account cannot pay the fee", async () => {
    page = await openFresh(browser);
    const broke = "0x00000000000000000000000000000000000b20ce";
    await announceWallet(page, service.anvil.rpcUrl, broke);
    await mint(service, broke, 25_000_000n);
    await show((await createOrder(service)).address);
    await payButton().click();
    await page
      .getByText(/This account has 0 native coin and needs about 0\.\d+ native coin\./)
      .waitFor();
    await page.context().close();
  });

  test("hides the QR code if a later simulation fails", async () => {
    page = await openFresh(browser);
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
    await page.context().close();
  });

  test("uses the language of the page", async () => {
    page = await openFresh(browser, { locale: "fr-FR" });
    await show((await createOrder(service)).address);
    await page.evaluate("document.documentElement.lang = 'de'");
    await show((await createOrder(service)).address);
    await page.getByText("Waiting for payment").waitFor();
    await page.locator("executable-address").evaluate((node) => node.setAttribute("lang", "ar"));
    await page.getByText("يجب أن تعرض محفظتك").waitFor();
    await page.context().close();
  });
});

describe("<executable-recovery>", () => {
  test("enters the wallet's account into the field after the user agrees", async () => {
    page = await openFresh(browser);
    const faults = listenForFaults(page);
    const wallet = await announceWallet(page, service.anvil.rpcUrl, payerAccount.address as Hex);
    await page.goto(`${origin}/refund`);
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
    await page.context().close();
  });
});

describe("the example shop", () => {
  test("creates an address with a client ID, is paid, and completes", async () => {
    page = await openFresh(browser);
    const faults = listenForFaults(page);
    const answered = page.waitForResponse("**/v1/address/create");
    await page.goto(origin);
    const record = (await (await answered).json()) as AddressRecord;
    await page.getByText("Waiting for payment").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), record.address);
    await mint(service, record.address, 25_000_000n);
    await page.getByText("Paid. Your order is being confirmed").waitFor();
    const hash = await execute(service, record);
    await page.getByText(`Done: transaction ${hash}`).waitFor();
    assert.deepEqual(faults, []);
    await page.context().close();
  });
});

describe("the React wrapper", () => {
  test("passes the address, words, and handlers to the element", async () => {
    page = await openFresh(browser);
    const order = await createOrder(service);
    const base = encodeURIComponent(service.baseUrl);
    await page.goto(`${origin}/react?address=${order.address}&base=${base}`);
    await page.getByText("En attente").waitFor();
    assert.equal(await readCodeIn(page, part("qr")), order.address);
    await mint(service, order.address, 25_000_000n);
    await page.getByText("dispatched paid").waitFor();
    await execute(service, order);
    await page.getByText("dispatched executed").waitFor();
    await page.context().close();
  });
});
