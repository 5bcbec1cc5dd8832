// Tests the payment page's texts about mistaken payments, the shop, the return address, and unusual
// browsers.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, type Hex, makeRecord } from "executable-address";
import { shortAddress } from "executable-address/payment";
import { deriveReturns, mistakes } from "executable-address/status";
import { signShopLink } from "executable-address-shop";
import { localChainId, shopAddress } from "../../scripts/local-chain.ts";
import { isLong } from "../../scripts/long.ts";
import { announceWallet } from "../wallets/test-wallet.ts";
import { assertSound, assertSoundInAll, listenForFaults } from "./browser.ts";
import {
  atTop,
  create,
  readCode,
  servePayPage,
  showAnyway,
  showWrongToken,
  stranger,
  token,
  transferTo,
} from "./pay-page.ts";

const { service, site, open, page, honest, hostile, partly, executed } = await servePayPage();

describe("the explanations of mistaken payments", () => {
  const card = () => page.locator("#returns");
  const rowsOf = () =>
    card()
      .locator("dl > div")
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((each) => each.textContent)));

  test("the payment page takes the return address from the verified record", async () => {
    const policy = { confirmations: 12, paymentConfirmations: 0, amountMin: "10000" };
    const promised = deriveReturns(honest, policy);
    const lie = promised.returns.map((row) => ({ ...row, to: shopAddress as Hex }));
    await page.route("**/returns", (route) =>
      route.fulfill({ json: { ...promised, returns: lie } }),
    );
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "What if something goes wrong?" }).click();
    await card().locator("dl").waitFor();
    const rows = await rowsOf();
    assert.equal(rows.length, mistakes.length);
    assert.deepEqual(rows[1], [
      "If you pay too much",
      `Anything above 25 ${token.symbol} is returned · 12 blocks after the payment completes · ` +
        "automatically · anyone can trigger it",
    ]);
    const text = (await card().textContent())!;
    assert.ok(text.includes(shortAddress(honest.intent.recovery)));
    assert.ok(!text.includes(shortAddress(shopAddress)), "the server chooses no address");
    await assertSoundInAll(page, "returns");
  });

  test("the page promises no automatic return if the response is invalid", async () => {
    await page.route("**/returns", (route) => route.fulfill({ json: { executor: "yes" } }));
    for (const { language, late } of [
      {
        language: "en",
        late: "Everything is returned · as soon as it arrives · anyone can trigger it",
      },
      {
        language: "de",
        late: "Alles wird zurückgesendet · sobald es ankommt · jeder kann es auslösen",
      },
    ]) {
      await page.goto(`${site}/a/${honest.address}?lang=${language}`);
      await card().locator("summary").click();
      await card().locator("dl").waitFor();
      assert.equal((await rowsOf())[0]![1], late);
    }
  });
});

describe("the lookup of a mistaken payment", () => {
  const result = () => page.locator("#sent-result");
  const foreign: Hex = `0x${"6".repeat(40)}`;
  const lookUp = async (text: string) => {
    await page.locator("#sent-input").fill(text);
    await page.getByRole("button", { name: "Look up" }).click();
  };
  const open = async () => {
    await page.goto(`${site}/a/${honest.address}`);
    await page.locator("#returns > summary").click();
    await page.getByText("I sent something else").click();
  };

  test("a payer can enter a token contract or a transaction", async () => {
    await open();
    await lookUp("0x12");
    await result().getByText("Enter a token contract").waitFor();
    await lookUp(shopAddress);
    await result().getByText("This address has none left.").waitFor();
    await lookUp(`0x${"12".repeat(32)}`);
    await result().getByText("This transaction isn’t on Local.").waitFor();
    await page.goto(`${site}/a/${partly.address}`);
    await page.locator("#returns > summary").click();
    await page.getByText("I sent something else").click();
    await lookUp(token.address);
    await result().getByText("This counts as a payment.").waitFor();
  });

  test("the result shows the token's name in quotes and the return address", async () => {
    const { address, intent } = honest;
    const { chainId, expirationTimestamp } = intent;
    const lie = {
      ...{ address, chainId, recovery: shopAddress, problem: null, omitted: 2 },
      block: { number: 1, hash: `0x${"12".repeat(32)}`, timestamp: 1 },
      tokens: [
        {
          ...{ token: foreign, amount: "25000000", symbol: `${token.symbol}\u202e`, decimals: 6 },
          ...{ fate: "queued", notBefore: expirationTimestamp + 1 },
        },
      ],
    };
    await page.route("**/sent", (route) => route.fulfill({ json: lie }));
    await open();
    await lookUp(foreign);
    await result().getByText(`25 “${token.symbol}U+202E”`).waitFor();
    const text = (await result().textContent())!;
    assert.ok(text.includes(foreign), text);
    assert.ok(text.includes(shortAddress(intent.recovery)), text);
    assert.ok(!text.includes(shortAddress(shopAddress)), "the server chooses no address");
    await assertSoundInAll(page, "sent");
    await page.unroute("**/sent");
    for (const other of [{ ...lie, address: shopAddress }, { tokens: [] }]) {
      await page.route("**/sent", (route) => route.fulfill({ json: other }));
      await lookUp(foreign);
      await result().getByText("The server couldn’t look this up.").waitFor();
      await page.unroute("**/sent");
    }
  });
});

describe("money that does not count as payment", () => {
  test("the page shows the amount of an unlisted token in base units", async () => {
    await page.route("**/events", (route) => route.fulfill({ status: 503 }));
    await page.route("**/status", async (route) => {
      const status = await (await route.fetch()).json();
      const recoverable = [
        { token: `0x${"0".repeat(40)}`, amount: "1234000000000000000" },
        { token: stranger, amount: "1234567" },
      ];
      return route.fulfill({ json: { ...status, recoverable } });
    });
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText(`1.2340 ETH hasn’t been sent to the return address`).waitFor();
    await page.getByText(`1\u202f234\u202f567 base units of token ${stranger}`).waitFor();
  });
});

describe("a token that looks like the requested token", () => {
  const showIn = async (record: AddressRecord, language: string) => {
    await showWrongToken(page);
    await page.goto(`${site}/a/${record.address}?lang=${language}`);
  };

  test("the page names the look-alike token and its amount in every language", async () => {
    const named = {
      en: "You sent Bridged USDC (USDC.e). This shop asked for",
      es: "Usted envió Bridged USDC (USDC.e). Esta tienda pidió",
      fr: "Vous avez envoyé Bridged USDC (USDC.e). Cette boutique a demandé",
      de: "Sie haben Bridged USDC (USDC.e) gesendet. Dieser Shop verlangt",
      // In right-to-left languages, isolate characters surround every value.
      ar: "أرسلت \u2068Bridged USDC (USDC.e)\u2069. هذا المتجر طلب",
      zh: "您发送的是 Bridged USDC (USDC.e)，而本店要求的是",
    };
    for (const [language, text] of Object.entries(named)) {
      if (!isLong && !["en", "ar"].includes(language)) continue;
      await showIn(honest, language);
      await page.getByText(text).waitFor();
      const notice = page.locator(".ask-all", { hasText: "USDC.e" });
      assert.match((await notice.textContent()) ?? "", /25 USDC\.e/, language);
    }
  });

  test("before the execution, the page says when the token will be returned", async () => {
    await showIn(honest, "en");
    await page.getByText(/^25 USDC\.e will be returned to 0x5555.*5555 after \w+ \d+, /).waitFor();
    await page.locator(".qr").waitFor();
    await assertSound(page, "a look-alike");
  });

  test("after the execution, the page says that the token is being returned", async () => {
    await showIn(executed, "en");
    await page.getByText(/^25 USDC\.e is being returned to 0x5555/).waitFor();
  });
});

describe("the shop that a payment link names", () => {
  const keys = generateKeyPairSync("ed25519");
  const privateKey = keys.privateKey.export({ type: "pkcs8", format: "der" }).toString("base64");
  const { x } = keys.publicKey.export({ format: "jwk" });
  const logo = '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"/>';
  const manifest = JSON.stringify({
    version: 1,
    name: "Ada's Shoes",
    logo: "/logo.svg",
    keys: [x],
  });
  const files: Record<string, [string, string]> = {
    "/logo.svg": ["image/svg+xml", logo],
    "/.well-known/executable-address.json": ["application/json", manifest],
    "/moved.json": ["application/json", manifest],
  };
  type Fault = { status?: number; location?: string; padding?: string };
  let fault: Fault = {};
  const origin = createServer(({ url }, response) => {
    const [type, body] = files[`${url}`] ?? ["text/plain", ""];
    response.setHeader("access-control-allow-origin", "*").setHeader("content-type", type);
    const { status = 200, location, padding = "" } = url === "/moved.json" ? {} : fault;
    if (location) response.setHeader("location", location);
    response.writeHead(status).end(body + padding);
  });
  let shop: string;
  before(async () => {
    await new Promise<void>((listening) => origin.listen(0, "127.0.0.1", listening));
    shop = `127.0.0.1:${(origin.address() as AddressInfo).port}`;
  });
  after(() => origin.close());
  const linkOf = ({ address }: AddressRecord) =>
    signShopLink(`${site}/a/${address}`, { shop, order: "No. 77", privateKey });

  test("the page warns if the shop does not confirm the link", async () => {
    const stolen = new URL(await linkOf(honest));
    stolen.pathname = `/a/${hostile.address}`;
    await page.goto(stolen.href);
    await page.getByRole("alert").getByText(`${shop} doesn’t confirm`).waitFor();
    assert.equal(await page.getByText("Ada's Shoes").count(), 0);
  });

  test("the page shows the name and order of a confirmed shop", async () => {
    await page.goto(await linkOf(honest));
    await page.locator(".shop", { hasText: `${shop} · Ada's Shoes · order No. 77` }).waitFor();
    assert.match((await page.locator(".shop img").getAttribute("src")) ?? "", /^data:image\/svg/);
    await assertSound(page, "a named shop");
  });

  const faults: Record<string, Fault> = {
    "has the status 404": { status: 404 },
    "is redirected": { status: 302, location: "/moved.json" },
    "exceeds 65,536 bytes": { padding: " ".repeat(65_536) },
  };
  for (const [name, each] of Object.entries(faults)) {
    test(`the page omits a shop whose manifest ${name}`, async () => {
      fault = each;
      const read = page.waitForRequest(/executable-address\.json$/);
      await page.goto(await linkOf(honest));
      await read;
      await page.getByRole("heading", { name: `25 ${token.symbol}` }).waitFor();
      // A page that accepted the manifest would show the shop within this time.
      await page.waitForTimeout(1_000);
      assert.equal(await page.locator(".shop").count(), 0);
      assert.equal(await page.getByText(`${shop} doesn’t confirm`).count(), 0);
      fault = {};
    });
  }

  test("the page omits a shop that does not respond", async () => {
    await page.goto((await linkOf(honest)).replace(shop.replace(":", "%3A"), "localhost%3A9"));
    await page.getByRole("heading", { name: `25 ${token.symbol}` }).waitFor();
    assert.equal(await readCode(page), honest.address);
    assert.equal(await page.locator(".shop").count(), 0);
  });
});

/**
 * Returns the same record in every run, so tests can compare its address with a constant. The
 * service does not know this record.
 */
const fixed = (amount: string) =>
  makeRecord({
    chainId: localChainId,
    token: token.address,
    amount,
    calls: [transferTo(stranger)],
    expirationTimestamp: 4_000_000_000,
    recovery: stranger,
    salt: `0x${"07".repeat(32)}`,
  });
describe("values that a payer compares or types", () => {
  test("the page shortens an address in the same way as wallets", async () => {
    const record = fixed("25000000");
    assert.equal(record.address, "0xa08C0901eeEe88e4298912ECC00506bDF6Cc12e6");
    await page.goto(`${site}/a/#terms=${record.terms}`);
    await showAnyway(page).click();
    await page.getByText("Your wallet should show: 25 DUSD to 0xa08C…8912…12e6 on Local").waitFor();
  });

  for (const [amount, said] of [
    ["1234000", "1.2340 DUSD"],
    ["1500000000", "1\u202f500 DUSD"],
  ] as const) {
    test(`the page shows ${amount} base units as ${said}`, async () => {
      await page.goto(`${site}/a/#terms=${fixed(amount).terms}`);
      await showAnyway(page).click();
      await page.getByText("Your wallet should show:").waitFor();
      const text = await atTop(page).innerText();
      assert.match(text, new RegExp(`Amount due\\s+Expires in .*\\s+${said}`));
      assert.ok(text.includes(`Your wallet should show: ${said} to `), text);
      assert.doesNotMatch(text, /1\.234 |1[,.]500/);
    });
  }
});

describe("the return address", () => {
  test("the page shows the return address before the QR code", async () => {
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${site}/a/${honest.address}`);
      const line = page.getByText("If the payment can’t complete, the money goes to");
      await page.locator(".qr").waitFor();
      const [said, code] = [await line.boundingBox(), await page.locator(".qr").boundingBox()];
      assert.ok(said && code);
      if (width === 360) assert.ok(said.y + said.height <= code.y, "above");
      else assert.ok(said.x + said.width <= code.x, "beside");
      const isFirst = await line.evaluate(
        (node) => (node.compareDocumentPosition(node.ownerDocument.querySelector(".qr")!) & 4) > 0,
      );
      assert.ok(isFirst);
    }
  });

  test("the sentence about the return address contains the address itself", async () => {
    const gift = await create(service, [transferTo(stranger)]);
    await page.goto(`${site}/a/${gift.address}`);
    const short = shortAddress(stranger);
    await page.getByText(`This payment sends 25 ${token.symbol} to ${short}`).waitFor();
    await page
      .getByText(
        `If the payment can’t complete, the money goes to the return address ${short}, chosen by`,
      )
      .waitFor();
  });

  test("the page hides a return address that is the payer's own", async () => {
    const page = await open();
    await announceWallet(page, service.anvil.rpcUrl, stranger);
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "Pay with Test Wallet" }).waitFor();
    await page.getByText("If the payment can’t complete").waitFor({ state: "detached" });
    await page.context().close();
  });

  test("the page names the networks on which a payment is lost", async () => {
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "Exchange", exact: true }).click();
    await page.getByText("On zkSync, related networks, and Tron").waitFor();
  });
});

describe("an unusual browser", () => {
  test("the payment page works if storage is blocked", async () => {
    const page = await open();
    const faults = listenForFaults(page);
    await page.addInitScript(`for (const name of ["localStorage", "sessionStorage", "indexedDB"])
      Object.defineProperty(window, name, { get() {
        throw new DOMException("denied", "SecurityError"); } });`);
    await page.goto(`${site}/a/${honest.address}`);
    assert.equal(await readCode(page), honest.address);
    await page.getByRole("button", { name: /^Theme/ }).click();
    await page.getByRole("combobox", { name: "Language" }).selectOption("de");
    await page.getByText("Zu zahlen", { exact: true }).waitFor();
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("the payment page supports wallets that only set window.ethereum", async () => {
    const page = await open();
    await page.addInitScript(`window.ethereum = { request: async ({ method }) =>
      method === "eth_accounts" ? [] : "0x7a69" };`);
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "Pay with browser wallet" }).waitFor();
    await page.context().close();
  });
});

describe("the block explorer", () => {
  test("the page links to a block explorer with a safe URL", async () => {
    let explorer = "https://explorer.example?redirect=evil.example";
    let hash = "";
    await page.route("**/events", (route) => route.fulfill({ status: 503 }));
    await page.route("**/status", async (route) => {
      const status = await (await route.fetch()).json();
      hash = status.execution.transactionHash;
      return route.fulfill({ json: { ...status, explorer } });
    });
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("There’s nothing more to do.").waitFor();
    assert.equal(await page.locator("a[target]").count(), 0);
    explorer = "https://explorer.example";
    await page.reload();
    const link = page.getByRole("link", { name: "View this address on explorer.example" });
    assert.equal(await link.getAttribute("href"), `${explorer}/address/${executed.address}`);
    const transaction = page.getByRole("link", { name: hash }).first();
    assert.equal(await transaction.getAttribute("href"), `${explorer}/tx/${hash}`);
    assert.equal(await transaction.getAttribute("rel"), "noreferrer");
    await assertSound(page, "with an explorer");
  });
});
