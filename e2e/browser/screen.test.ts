// Tests what a payer sees without scrolling, in every language. Also tests the receipt and the link
// back to the shop.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { AddressRecord, Hex } from "executable-address";
import type { Browser, Page } from "playwright-core";
import { getAddress } from "viem";
import { isLong } from "../../scripts/long.ts";
import { type Running, startService } from "../service.ts";
import { announceWallet } from "../wallets/test-wallet.ts";
import { assertSound, launchBrowser, untilDrawn } from "./browser.ts";
import {
  approve,
  create,
  createOrder,
  execute,
  mint,
  openFresh,
  readCode,
  token,
} from "./pay-page.ts";

const payer: Hex = "0x1234567812345678123456781234567812345678";
/** The tested languages: English and Arabic, and all six in `npm run test:long`. */
const languages = isLong ? ["en", "es", "fr", "de", "ar", "zh"] : ["en", "ar"];
const screens = [
  { width: 1280, height: 800 },
  { width: 360, height: 740 },
];

let service: Running;
let browser: Browser;
/**
 * Most tests share these two pages. Reloading a page takes half as long as opening a new browser
 * context.
 */
let page: Page;
let pageWithWallet: Page;
let order: AddressRecord;
let many: AddressRecord;
let executed: AddressRecord;
let hash: Hex;

const urlOf = ({ address }: AddressRecord, query = "") =>
  `${new URL(service.baseUrl).origin}/a/${address}?${query}`;

before(async () => {
  browser = await launchBrowser();
  service = await startService({ TRUSTED_PROXIES: "127.0.0.1" });
  order = await createOrder(service);
  many = await create(service, transfers(32));
  executed = await createOrder(service);
  await mint(service, executed.address, 25_000_000n);
  hash = await execute(service, executed);
  page = await openFresh(browser);
  pageWithWallet = await openFresh(browser);
  await announceWallet(pageWithWallet, service.anvil.rpcUrl, payer);
});

let visitors = 0;
/**
 * Gives each test its own client IP address. The service permits bursts of only 30 simulations per
 * client.
 */
beforeEach(async () => {
  const headers = { "x-forwarded-for": `198.51.100.${++visitors}` };
  for (const each of [page, pageWithWallet]) {
    await each.setExtraHTTPHeaders(headers);
    await each.setViewportSize({ width: 1280, height: 720 });
  }
});

afterEach(() => page.unrouteAll({ behavior: "wait" }));

after(async () => {
  await browser?.close();
  await service?.stop();
});

const receiverOf = (at: number): string => getAddress(`0x${at.toString(16).padStart(40, "a")}`);
const transfers = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    target: token.address,
    function: "transfer(address to, uint256 amount)",
    args: [receiverOf(at + 1), "1000"],
  }));

/** Returns the distance in pixels from the top of the page to the bottom of an element. */
const bottomOf = async (page: Page, selector: string): Promise<number> => {
  const box = await page.locator(selector).first().boundingBox();
  assert.ok(box, selector);
  return box.y + box.height;
};

describe("paying without scrolling", () => {
  for (const language of languages) {
    const isEnglish = language === "en";
    const calls = isEnglish ? "2 and 32 calls" : "2 calls";
    test(`the payment options fit on one screen for ${calls} in language ${language}`, async () => {
      // The intent with 32 calls is tested only in English. The page shows at most three calls at
      // first, so even an intent with 32 calls needs little space.
      for (const record of isEnglish ? [many, order] : [order]) {
        await pageWithWallet.goto(urlOf(record, `lang=${language}`));
        for (const viewport of screens) {
          await pageWithWallet.setViewportSize(viewport);
          assert.equal(await readCode(pageWithWallet), record.address);
          const dir = await pageWithWallet.locator("html").getAttribute("dir");
          assert.equal(dir, language === "ar" ? "rtl" : "ltr");
          await assertOnScreen(pageWithWallet, viewport, `${record.intent.calls.length} calls`);
          assert.equal(await pageWithWallet.locator(".pay-card .button-primary").count(), 1);
          // Amounts and addresses look the same in every language.
          const text = await pageWithWallet.locator(".pay-card").innerText();
          assert.ok(text.includes(`25 ${token.symbol}`) && text.includes(record.address));
          if (record === order)
            await assertSound(pageWithWallet, `${language}, ${viewport.width} px`);
        }
      }
      // Without a wallet, the card needs more lines, because it shows a list of apps instead of one
      // button.
      await page.goto(urlOf(order, `lang=${language}`));
      await page.getByRole("link", { name: "Rainbow" }).waitFor();
      for (const viewport of screens) {
        await page.setViewportSize(viewport);
        await assertOnScreen(page, viewport, "without a wallet");
      }
    });
  }

  async function assertOnScreen(page: Page, { height }: (typeof screens)[number], name: string) {
    await untilDrawn(page);
    const bottom = await bottomOf(page, ".pay-card");
    assert.ok(bottom <= height, `${name}: ${bottom} px`);
  }
});

test("the page does not move when the money diagram appears", async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  const held = Promise.withResolvers<void>();
  await page.route("**/v1/address/*/simulation*", async (route) => {
    await held.promise;
    await route.continue();
  });
  await page.goto(urlOf(order));
  const below = page.getByRole("heading", { name: "What this payment does" });
  const early = await below.boundingBox();
  assert.ok(early && (await page.locator("figure.flow").count()) === 0);
  held.resolve();
  await page.locator("figure.flow").waitFor();
  assert.equal((await below.boundingBox())?.y, early.y);
});

/** Returns the page's cumulative layout shift, as defined by Core Web Vitals. */
const shiftOf = (page: Page) =>
  page.evaluate<number>(`new Promise((resolve) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
    }).observe({ type: "layout-shift", buffered: true });
    // Buffered entries arrive before the second frame.
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(sum)));
  })`);

describe("content that loads later", () => {
  test("the visible content does not move", async () => {
    const page = await openFresh(browser);
    await announceWallet(page, service.anvil.rpcUrl, payer);
    // Delays the parts that are loaded later, so that they arrive one after another.
    for (const [at, part] of ["money-flow", "simulation-card", "calls"].entries())
      await page.route(`**/${part}-*.js`, async (route) => {
        await sleep(200 * (at + 1));
        await route.continue();
      });
    // `most` is the maximum layout shift. The page of an executed address may shift more, because
    // the receipt replaces the payment options. Core Web Vitals rate a layout shift of at most 0.1
    // as good.
    const cases = [
      { record: order, shows: ".qr", most: 0.01 },
      { record: executed, shows: ".pay-card .timeline", most: 0.1 },
    ];
    for (const viewport of screens) {
      await page.setViewportSize(viewport);
      for (const { record, shows, most } of cases) {
        await page.goto(urlOf(record));
        await page.locator(shows).waitFor();
        await page.locator(".skeleton, .place").first().waitFor({ state: "detached" });
        const shift = await shiftOf(page);
        assert.ok(shift < most, `${shows} at ${viewport.width} px: ${shift}`);
      }
    }
    await page.unrouteAll({ behavior: "wait" });
    await page.context().close();
  });

  test("details remain searchable after they are closed again", async () => {
    const page = await openFresh(browser, { viewport: screens[1]! });
    await page.goto(urlOf(order));
    await page.locator(".qr").waitFor();
    const sections = page.locator(".details section");
    assert.equal(await sections.count(), 0, "a phone draws the code and not what is folded");
    const summary = page.locator(".details > summary");
    await summary.click();
    await sections.first().waitFor();
    const drawn = await sections.count();
    assert.ok(drawn >= 5, `${drawn}`);
    await page.locator("figure.flow").waitFor();
    await summary.click();
    assert.equal(await page.locator(".details").getAttribute("open"), null);
    assert.equal(await sections.count(), drawn, "a browser finds only what is drawn");
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.locator(".details").isVisible(), false);
    await page.context().close();
  });
});

test("the page shows the address even if the charts do not load", async () => {
  await page.route("**/money-flow-*.js", (route) => route.abort());
  await page.goto(urlOf(order));
  assert.equal(await readCode(page), order.address);
  await page.getByRole("heading", { name: "What this payment does" }).waitFor();
  assert.equal(await page.locator("figure.flow").count(), 0);
});

describe("an intent with 32 calls", () => {
  const callsOf = (page: Page) => page.locator("details.details");
  const narrow = { width: 360, height: 740 };

  test("the page lists three calls and a button for the others", async () => {
    await page.setViewportSize(narrow);
    await page.goto(urlOf(many));
    const calls = callsOf(page);
    await calls.locator("summary").first().click();
    const items = calls.locator("li:has(dl)");
    const rest = page.getByText("29 more steps");
    await rest.waitFor();
    assert.equal(await items.filter({ visible: true }).count(), 3);
    await rest.focus();
    await page.keyboard.press("Enter");
    assert.equal(await items.filter({ visible: true }).count(), 32);
    const texts = await items.allInnerTexts();
    texts.forEach((text, at) => {
      const said = text.replaceAll(/\s/g, "").toLowerCase();
      assert.ok(said.includes(receiverOf(at + 1).toLowerCase()), `call ${at + 1}: ${text}`);
    });
    assert.equal(await calls.locator("ol:has(dl)").last().getAttribute("start"), "4");
    await assertSound(page, "32 calls");
  });

  test("the page lists all calls if the last call is dangerous", async () => {
    const unlimited = approve(String(2n ** 256n - 1n));
    const record = await create(service, [...transfers(31), unlimited]);
    await page.goto(urlOf(record));
    await page.getByText("Step 32", { exact: false }).first().waitFor();
    assert.equal(await callsOf(page).locator("li:has(dl)").filter({ visible: true }).count(), 32);
  });

  test("the list of calls is collapsed if no call is dangerous", async () => {
    await page.setViewportSize(narrow);
    await page.goto(urlOf(many));
    await readCode(page);
    assert.equal(await callsOf(page).getAttribute("open"), null);
    assert.equal(await callsOf(page).locator("li:has(dl)").filter({ visible: true }).count(), 0);
  });
});

describe("large text on a narrow screen", () => {
  for (const language of isLong ? ["en", "de", "ar"] : ["de", "ar"]) {
    test(`text of twice the size fits the screen's width in language ${language}`, async () => {
      await pageWithWallet.setViewportSize({ width: 360, height: 740 });
      for (const record of [order, executed]) {
        await pageWithWallet.goto(urlOf(record, `lang=${language}`));
        await pageWithWallet.locator(".pay-card .button").first().waitFor();
        await pageWithWallet.evaluate("document.documentElement.style.fontSize = '200%'");
        await pageWithWallet.locator(".details > summary").click();
        await assertSound(pageWithWallet, `200 %, ${language}`);
      }
    });
  }
});

describe("the identicon, a picture of an address", () => {
  test("the identicon is symmetric and depends only on the address", async () => {
    const picture = async (record: AddressRecord) => {
      await page.goto(urlOf(record));
      await page.locator(".ask-words .identicon").waitFor();
      return (await page.evaluate(
        "[...document.querySelectorAll('.ask-words .identicon path')].map((path) => " +
          "['d', 'fill'].map((name) => path.getAttribute(name)).join())",
      )) as string[];
    };
    const drawn = await picture(order);
    const colourOf = (x: number, y: number) =>
      drawn.findIndex((path) => path.includes(`M${x} ${y}h1v1h-1z`));
    for (let y = 0; y < 8; y++) {
      for (let x = 0; x < 4; x++) {
        assert.ok(colourOf(x, y) >= 0, `${x} ${y}`);
        assert.equal(colourOf(x, y), colourOf(7 - x, y), `${x} ${y}`);
      }
    }
    assert.notDeepEqual(await picture(many), drawn);
    assert.deepEqual(await picture(order), drawn);
  });
});

/** JavaScript that returns each full address that the page shows without an identicon. */
const bare = `[...document.querySelectorAll("main code")]
  .map((code) => [code.textContent, code.previousElementSibling])
  .filter(([text, before]) => /^0x[0-9a-f]{40}$/i.test(text) && !before?.matches(".identicon"))
  .map(([text]) => text)`;

test("every full address has an identicon", async () => {
  for (const record of [order, executed]) {
    await page.goto(urlOf(record));
    await page.locator("figure.flow").waitFor();
    assert.deepEqual(await page.evaluate(bare), []);
  }
  await page.goto(urlOf(order));
  await page.getByRole("button", { name: "Exchange" }).click();
  await page.getByText("Token contract", { exact: true }).waitFor();
  assert.deepEqual(await page.evaluate(bare), []);
});

describe("the four steps of a payment", () => {
  test("the page shows the four steps and their times", async () => {
    const record = await createOrder(service);
    const page = await openFresh(browser, { viewport: { width: 1280, height: 800 } });
    const startMs = Date.now();
    await page.clock.setFixedTime(startMs);
    await page.goto(urlOf(record));
    const rail = page.locator(".rail");
    const steps = rail.locator("li");
    await page.getByText("Waiting for payment").first().waitFor();
    assert.deepEqual(await steps.allInnerTexts(), ["Requested", "Sent", "Paid", "Completed"]);
    await mint(service, record.address, 10_000_000n);
    await page.getByText("Underpaid").waitFor();
    assert.equal(await steps.nth(0).getAttribute("aria-current"), "step", "a part is no step");
    await page.clock.setFixedTime(startMs + 30_000);
    await mint(service, record.address, 15_000_000n);
    await rail.getByText("30 s").waitFor();
    const texts = (await steps.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " "));
    assert.deepEqual(texts, ["Requested", "Sent", "Paid 30 s", "Completed"]);
    assert.equal(await steps.nth(2).getAttribute("aria-current"), "step");
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(urlOf(order));
    await page.locator(".qr").waitFor();
    assert.equal(await rail.isVisible(), false, "a narrow screen has room for it once money came");
    await page.context().close();
  });
});

describe("the language of the payment page", () => {
  test("the page uses the browser's language or a chosen language", async () => {
    const page = await openFresh(browser, { locale: "fr-CA" });
    await page.goto(urlOf(order));
    await page.getByText("En attente du paiement").waitFor();
    await page.getByRole("combobox").selectOption("de");
    await page.getByText("Wartet auf Zahlung").waitFor();
    await page.reload();
    await page.getByText("Wartet auf Zahlung").waitFor();
    assert.equal(await page.locator("html").getAttribute("lang"), "de");
    await page.context().close();
  });
});

describe("the receipt on the payment page", () => {
  test("the receipt opens the browser's share dialog", async () => {
    const page = await openFresh(browser);
    await page.addInitScript("navigator.share = async (what) => { window.shared = what; };");
    await page.goto(urlOf(executed));
    await page.getByRole("button", { name: "Share" }).click();
    const shared = (await page.evaluate("window.shared")) as { url: string };
    assert.equal(shared.url, urlOf(executed).replace("?", ""));
    await page.context().close();
  });

  test("the receipt shows the amount, time, and transaction", async () => {
    const page = await openFresh(browser, { timezoneId: "America/New_York" });
    await page.goto(urlOf(executed));
    await page.getByText("There’s nothing more to do.").waitFor();
    const text = await page.locator(".pay-card").first().innerText();
    assert.ok(text.includes(hash) && text.includes(executed.address));
    assert.match(text, /Paid\s+25 DUSD/);
    assert.match(text, /\d{4}, \d+:\d\d\s[AP]M E[DS]T · block \d+/);
    assert.doesNotMatch(text, /Expires in|in 1 hour|would/);
    const proof = page.getByRole("link", { name: "View and save the verified receipt" });
    assert.equal(await proof.getAttribute("href"), `/receipt/${executed.address}`);
    await page.context().close();
  });

  test("only the receipt is printed", async () => {
    const page = await openFresh(browser, { colorScheme: "dark" });
    await page.goto(urlOf(executed));
    await page.getByText("There’s nothing more to do.").waitFor();
    await page.emulateMedia({ media: "print" });
    const ink = await page.evaluate("getComputedStyle(document.body).color");
    assert.equal(ink, "rgb(26, 28, 30)", "dark on white paper, whatever the screen shows");
    assert.equal(await page.getByRole("button", { name: "Print" }).isVisible(), false);
    assert.equal(await page.getByText("How this was verified").isVisible(), false);
    assert.equal(await page.locator(".pay-card").first().isVisible(), true);
    await page.context().close();
  });
});

describe("return_to, a link back to the shop", () => {
  const shop = encodeURIComponent("https://shop.example/orders/7?paid=1");

  test("the link appears after the payment is completed", async () => {
    await page.goto(urlOf(order, `return_to=${shop}`));
    await page.getByText("After you pay, you can go back to shop.example.").waitFor();
    assert.equal(await page.getByRole("link", { name: /shop\.example/ }).count(), 0);
    await page.goto(urlOf(executed, `return_to=${shop}`));
    const back = page.getByRole("link", { name: "Back to shop.example" });
    assert.equal(await back.getAttribute("href"), "https://shop.example/orders/7?paid=1");
    assert.equal(await back.getAttribute("rel"), "noreferrer");
  });

  test("a value that is not a safe https URL is ignored", async () => {
    for (const wrong of [
      "javascript:alert(1)",
      "http://shop.example/",
      "//shop.example/",
      "https://shop.example@evil.example/",
      "data:text/html,hi",
      "nothing",
    ]) {
      await page.goto(urlOf(executed, `return_to=${encodeURIComponent(wrong)}`));
      await page.getByText("There’s nothing more to do.").waitFor();
      assert.equal(await page.getByText(/Back to|evil\.example/).count(), 0, wrong);
    }
  });
});
