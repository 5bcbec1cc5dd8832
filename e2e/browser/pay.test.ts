// Tests the payment page with honest, hostile, and forged records, in a real browser, with the real
// service and a real chain.

import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { type AddressRecord, type Hex, makeRecord } from "executable-address";
import { shortAddress } from "executable-address/payment";
import { deriveReturns, mistakes } from "executable-address/status";
import { signShopLink } from "executable-address-shop";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { localChainId, shopAddress } from "../../scripts/local-chain.ts";
import { isLong, onlyLong } from "../../scripts/long.ts";
import { admin, type Running, startService } from "../service.ts";
import { announceWallet } from "../wallets/test-wallet.ts";
import { assertSound, assertSoundInAll, launchBrowser, listenForFaults } from "./browser.ts";
import {
  approve,
  create,
  createOrder,
  execute,
  expire,
  mint,
  naively,
  openFresh,
  readCode,
  showWrongToken,
  stranger,
  token,
  transferTo,
} from "./pay-page.ts";

const unlimited = (2n ** 256n - 1n).toString();

let labels: string;
let service: Running;
let site: string;
let browser: Browser;
/**
 * Most tests use this page, because a second load in it costs half of a first load in a new
 * context.
 */
let page: Page;
/** Collects faults of `page` in all tests. */
let faults: string[];
let honest: AddressRecord;
let hostile: AddressRecord;
let partly: AddressRecord;
let soon: AddressRecord;
let paid: AddressRecord;
let stuck: AddressRecord;
let executed: AddressRecord;
let returned: AddressRecord;

const open = (options?: BrowserContextOptions): Promise<Page> => openFresh(browser, options);
const atTop = (page: Page) => page.locator(".pay-card").first();
const showAnyway = (page: Page) =>
  page.getByRole("button", { name: "Show payment options anyway" });

before(async () => {
  browser = await launchBrowser();
  labels = join(mkdtempSync(join(tmpdir(), "labels-")), "labels.json");
  writeFileSync(labels, JSON.stringify({ [localChainId]: { [shopAddress]: "Demo Shop" } }));
  service = await startService({ LABELS_FILE: labels, TRUSTED_PROXIES: "127.0.0.1" });
  site = new URL(service.baseUrl).origin;
  const note = {
    target: stranger,
    function: "note(string text)",
    args: ["\u202eytrap tsurt\u202c <img src=x onerror=alert(1)> <b>Verified by your bank</b>"],
  };
  honest = await createOrder(service);
  hostile = await create(service, [approve(unlimited), note]);
  partly = await createOrder(service);
  soon = await createOrder(service, 500);
  paid = await createOrder(service);
  stuck = await create(service, [approve("25000000"), note]);
  executed = await createOrder(service);
  returned = await createOrder(service, 500);
  await mint(service, partly.address, 10_000_000n);
  await mint(service, paid.address, 25_000_000n);
  await mint(service, stuck.address, 25_000_000n);
  await mint(service, executed.address, 30_000_000n);
  await mint(service, returned.address, 25_000_000n);
  await execute(service, executed);
  page = await open();
  faults = listenForFaults(page);
});

afterEach(async () => {
  await page.unrouteAll({ behavior: "wait" });
  assert.deepEqual(faults, []);
});

after(async () => {
  await browser?.close();
  await service?.stop();
  rmSync(dirname(labels), { recursive: true });
});

describe("unverified data is never shown", () => {
  const forgeries: [string, (record: AddressRecord) => unknown][] = [
    [
      "another recovery",
      (record) => ({ ...record, intent: { ...record.intent, recovery: shopAddress } }),
    ],
    ["another record", () => hostile],
    ["another factory", (record) => ({ ...record, factory: stranger })],
    ["another amount", (record) => ({ ...record, intent: { ...record.intent, amount: "1" } })],
    ["no record", () => ({ hello: "there" })],
    ["no JSON object", () => null],
  ];
  for (const [name, forge] of forgeries) {
    const isVariant = !["another recovery", "no JSON object"].includes(name);
    const options = isVariant ? onlyLong : {};
    test(`rejects ${name} from a server, with a warning and no data`, options, async () => {
      await page.route(`**/v1/address/${honest.address}`, (route) =>
        route.fulfill({ json: forge(honest) }),
      );
      await page.goto(`${site}/a/${honest.address}`);
      await page.getByRole("alert").getByText("Don’t pay this address").waitFor();
      const text = await page.locator("main").textContent();
      assert.doesNotMatch(text ?? "", /25|0x[0-9a-f]{40}|Amount due/i);
      assert.equal(await page.locator(".qr").count(), 0);
    });
  }

  test("reports an address that the service does not know", async () => {
    await page.goto(`${site}/a/${stranger}`);
    await page.getByText("Payment not found").waitFor();
    await page.goto(`${site}/a/0x1234`);
    await page.getByText("This link isn’t valid").waitFor();
  });

  test("does not offer payment if the server does not respond", async () => {
    await page.route("**/v1/address/**", (route) => route.abort());
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Couldn’t load this payment").waitFor();
    await page.unroute("**/v1/address/**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Amount due").first().waitFor();
  });
});

describe("a hostile intent cannot mislead", () => {
  test("shows inert text, escapes hidden characters, and warns of permissions", async () => {
    await page.goto(`${site}/a/${hostile.address}`);
    await page.getByText("Step 1 allows unlimited spending").waitFor();
    await page.getByText("Step 2 contains hidden characters").waitFor();
    assert.equal(await page.getByText("U+202E", { exact: true }).count(), 1);
    assert.equal(await page.locator("main img, main b img").count(), 0);
    assert.equal(await page.locator("main b", { hasText: "Verified" }).count(), 0);
    assert.doesNotMatch((await page.locator("main").textContent()) ?? "", /\u202e/);
    await page.getByText("in an unknown contract").waitFor();
  });

  test("shows an unlisted token as unknown, and its amounts in base units", async () => {
    await page.route("**/v1/chains", (route) => route.fulfill({ json: { chains: [] } }));
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Unknown token").waitFor();
    await page.getByRole("heading", { name: "25\u202f000\u202f000 base units" }).waitFor();
    await page.getByText("Review what this payment does before you pay.").waitFor();
    assert.equal(await page.locator(".qr").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Copy Address" }).count(), 0);
  });
});

describe("what happens if something goes wrong", () => {
  const card = () => page.locator("#returns");
  const rowsOf = () =>
    card()
      .locator("dl > div")
      .evaluateAll((rows) => rows.map((row) => [...row.children].map((each) => each.textContent)));

  test("is shown for each mistake, from the verified record", async () => {
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
      "You pay too much",
      `Anything above 25 ${token.symbol} is returned · 12 blocks after the payment completes · ` +
        "automatically · anyone can trigger it",
    ]);
    const text = (await card().textContent())!;
    assert.ok(text.includes(shortAddress(honest.intent.recovery)));
    assert.ok(!text.includes(shortAddress(shopAddress)), "the server chooses no address");
    await assertSoundInAll(page, "returns");
  });

  test("names no executor if the server does not report an executor", async () => {
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

describe("something else that a payer sent", () => {
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

  test("is looked up by its contract or transaction", async () => {
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

  test("shows the token's name in quotes, its contract, and the return address", async () => {
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

describe("the link, the QR code, and the text of the page all name the address itself", () => {
  const mustShow = (amount: string, { address }: AddressRecord) =>
    page
      .getByText(`Your wallet should show: ${amount} to ${shortAddress(address)} on Local`)
      .waitFor();
  const linkOf = ({ address }: AddressRecord, amount: string) =>
    `ethereum:${token.address}@${localChainId}/transfer?address=${address}&uint256=${amount}`;

  test("waiting for payment: shows the QR code, and the link only if selected", async () => {
    await page.goto(`${site}/a/${honest.address.toLowerCase()}`);
    assert.equal(await readCode(page), honest.address);
    assert.equal(naively(await readCode(page)), honest.address);
    assert.equal(naively(await atTop(page).innerText()), honest.address);
    await mustShow(`25 ${token.symbol}`, honest);
    await page.getByRole("button", { name: "Payment link" }).click();
    assert.equal(await readCode(page), linkOf(honest, "25000000"));
    await page
      .getByText("Only for wallets that support payment links (ERC-681) on Local")
      .waitFor();
    await mustShow(`25 ${token.symbol}`, honest);
    const link = page.getByRole("link", { name: "Open in wallet app" });
    assert.equal(await link.getAttribute("href"), linkOf(honest, "25000000"));
  });

  test("underpaid: the headline and the payment link have the remaining amount", async () => {
    await page.goto(`${site}/a/${partly.address}`);
    await page.getByRole("heading", { name: `15 ${token.symbol}` }).waitFor();
    await page.getByText(`10 of 25 ${token.symbol} received`).waitFor();
    assert.equal(await readCode(page), partly.address);
    await mustShow(`15 ${token.symbol}`, partly);
    await page.getByRole("button", { name: "Payment link" }).click();
    assert.equal(await readCode(page), linkOf(partly, "15000000"));
  });

  test("without a server: shows the address", async () => {
    await page.route("**/v1/**", (route) => route.abort());
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    // Without a server, the page cannot know whether the address is paid.
    await page.getByText("We can’t tell yet whether this is already paid.").waitFor();
    await page.getByText("Unknown token").waitFor();
    assert.equal(await page.locator(".qr").count(), 0);
    await showAnyway(page).click();
    assert.equal(await readCode(page), honest.address);
    assert.equal(naively(await atTop(page).innerText()), honest.address);
  });

  test("does not offer payment for an executed address if the chain does not respond", async () => {
    for (const path of ["status*", "events*"])
      await page.route(`**/v1/address/*/${path}`, (route) =>
        route.fulfill({ status: 503, json: { error: { code: "chain_unavailable" } } }),
      );
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("We can’t tell yet whether this is already paid.").waitFor();
    assert.equal(await page.locator(".qr").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Copy Address" }).count(), 0);
    await page.waitForTimeout(2_000);
    assert.equal(await page.locator(".qr").count(), 0);
  });

  test("after sleep, offers no payment until a new status arrives", async () => {
    const page = await open();
    await page.addInitScript(`
      const now = Date.now.bind(Date);
      let slept = 0;
      Date.now = () => now() + slept;
      globalThis.sleepFor = (ms) => { slept += ms; };`);
    await page.goto(`${site}/a/${honest.address}`);
    await page.locator(".qr").waitFor();
    for (const path of ["status*", "events*"])
      await page.route(`**/v1/address/*/${path}`, (route) => route.abort());
    await page.context().setOffline(true);
    await page.evaluate("sleepFor(600_000)");
    await page.getByText("We can’t tell yet whether this is already paid.").waitFor({
      timeout: 20_000,
    });
    assert.equal(await page.locator(".qr").count(), 0);
    await page.unrouteAll();
    await page.context().setOffline(false);
    await page.locator(".qr").waitFor({ timeout: 20_000 });
    await page.context().close();
  });

  test("does not split a value across lines in right-to-left languages", async () => {
    for (const width of isLong ? [360, 1280] : [360]) {
      const arabic = await open({ locale: "ar", viewport: { width, height: 800 } });
      for (const { address } of [honest, hostile, executed]) {
        await arabic.goto(`${site}/a/${address}`);
        await arabic.locator("details.details").evaluate((node) => node.setAttribute("open", ""));
        await arabic.locator("dd code").first().waitFor();
        const broken = await arabic.evaluate(`[...document.querySelectorAll("main :is(bdi, code)")]
          .filter((node) => node.getClientRects().length > 1).map((node) => node.textContent)`);
        assert.deepEqual(broken, [], address);
      }
      await arabic.context().close();
    }
  });

  test("executed with an excess: shows the amount paid without ambiguity", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("Every step ran exactly once.").waitFor();
    const paid = page
      .locator("dt", { hasText: /^Paid$/ })
      .locator("xpath=following-sibling::dd[1]");
    assert.equal(await paid.innerText(), `30 ${token.symbol}`);
  });

  test("executed: offers no way to pay, not even in a folded section", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("Every step ran exactly once.").waitFor();
    for (const folded of await page.locator("details").all())
      await folded.evaluate((node) => node.setAttribute("open", ""));
    assert.equal(await page.locator(".qr").count(), 0);
    assert.equal(await showAnyway(page).count(), 0);
    assert.equal(await page.getByText("Your wallet should show:").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Copy Address" }).count(), 0);
  });

  const doubtful: [string, () => AddressRecord, string | RegExp][] = [
    [
      "a failing test run",
      () => hostile,
      /This payment can’t complete right now: step 2: “there is no contract at this address”/,
    ],
    ["little time left", () => soon, /This expires in [78] min/],
    ["enough there", () => paid, "The full amount has already arrived"],
    ["paid and unable to run", () => stuck, "The full amount has already arrived"],
  ];
  for (const [name, record, text] of doubtful) {
    test(`${name}: explains it, and hides payment options behind a button`, async () => {
      await page.goto(`${site}/a/${record().address}`);
      await page.getByText(text).waitFor();
      assert.equal(await page.locator(".qr").count(), 0);
      assert.equal(await page.getByRole("button", { name: "Copy Address" }).count(), 0);
      assert.equal(await page.getByText("Your wallet should show:").count(), 0);
      await showAnyway(page).click();
      assert.equal(await readCode(page), record().address);
      await page.getByText(text).waitFor();
    });
  }
});

describe("the status and its age", () => {
  test("paid but unable to run: shows the reason and the date of the return", async () => {
    await page.goto(`${site}/a/${stuck.address}`);
    await page
      .getByText("can’t complete right now: step 2: “there is no contract at this address”")
      .waitFor();
    await page
      .getByText(/If it doesn’t complete by .*, the money goes to the return address/)
      .waitFor();
    assert.equal(await page.locator(".badge-good, .notice-good").count(), 0);
    await page.getByText("Amount requested").waitFor();
    const copies = page.getByRole("button", { name: `Copy 25 ${token.symbol}` });
    assert.equal(await copies.count(), 0, "nothing is to pay, so no amount is to be typed");
  });

  test("uses the chain's clock, not the payer's", async () => {
    const page = await open();
    for (const days of [-400, 400]) {
      await page.clock.setSystemTime(Date.now() + days * 86_400_000);
      await page.goto(`${site}/a/${honest.address}`);
      await page.getByText(/Expires in (1 h|5\d min)/).waitFor();
      assert.equal(await readCode(page), honest.address);
    }
    await page.context().close();
  });

  test("shows within 30 s that a server is silent, and that it responds again", async () => {
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

  test("shows an excess and its destination", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText(/, \d{4}, \d+:\d\d\s[AP]M\s.* · block \d+/).waitFor();
    await page
      .getByText(`5 ${token.symbol} can be sent to the return address ${stranger}`)
      .waitFor();
    await page.locator("#returns > summary").click();
    await page.getByText("wallets may show this address as a smart contract").waitFor();
  });
});

describe("money that does not count", () => {
  test("names the coin, and shows an unlisted token in base units", async () => {
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
    await page.getByText(`1.2340 ETH can be sent to the return address`).waitFor();
    await page.getByText(`1\u202f234\u202f567 base units of token ${stranger}`).waitFor();
  });
});

describe("a look-alike of the requested token", () => {
  const showIn = async (record: AddressRecord, language: string) => {
    await showWrongToken(page);
    await page.goto(`${site}/a/${record.address}?lang=${language}`);
  };

  test("is named, with the destination and time of its return, in every language", async () => {
    const named = {
      en: "You sent Bridged USDC (USDC.e). This shop asked for",
      es: "Usted envió Bridged USDC (USDC.e). Esta tienda pidió",
      fr: "Vous avez envoyé Bridged USDC (USDC.e). Cette boutique a demandé",
      de: "Sie haben Bridged USDC (USDC.e) gesendet. Dieser Shop verlangt",
      // In a right-to-left language, isolate characters surround each value.
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

  test("waits at an open address until the expiry, and payment is still possible", async () => {
    await showIn(honest, "en");
    await page.getByText(/^25 USDC\.e will be returned to 0x5555.*5555 after \w+ \d+, /).waitFor();
    await page.locator(".qr").waitFor();
    await assertSound(page, "a look-alike");
  });

  test("is being returned from an executed address", async () => {
    await showIn(executed, "en");
    await page.getByText(/^25 USDC\.e is being returned to 0x5555/).waitFor();
  });
});

describe("the expected result", () => {
  // By now, this client has almost used up the simulations that it may request in a minute.
  before(() => page.setExtraHTTPHeaders({ "x-forwarded-for": "198.51.100.1" }));
  after(() => page.setExtraHTTPHeaders({}));

  /** The section, which is beside the card on a wide screen. */
  const section = () =>
    page.locator("details", { has: page.getByRole("heading", { name: "Expected result" }) });
  const simulated = "**/v1/address/*/simulation";

  test("works if the server cannot simulate, and offers to retry", async () => {
    const error = { code: "chain_unavailable", message: "away", issues: [] };
    await page.route(simulated, (route) => route.fulfill({ status: 503, json: { error } }));
    await page.goto(`${site}/a/${honest.address}`);
    await page.locator(".qr").waitFor();
    const card = section();
    await card.getByText("The result couldn’t be tested").waitFor();
    await page.unroute(simulated);
    await card.getByRole("button", { name: "Test again" }).click();
    await card.getByText("with these balance changes").waitFor();
  });

  test("does not show another address's simulation, or malformed data", async () => {
    await page.route(simulated, async (route) => {
      const other = route.request().url().replace(honest.address, hostile.address);
      return route.fulfill({ response: await route.fetch({ url: other }) });
    });
    await page.goto(`${site}/a/${honest.address}`);
    await page.locator(".qr").waitFor();
    await section().getByText("The result couldn’t be tested").waitFor();
  });

  test("is open if a call fails, and shows the reason as inert text", async () => {
    await page.goto(`${site}/a/${hostile.address}`);
    await section().getByText("Step 2 fails: “there is no contract at this address”").waitFor();
    await page.route(simulated, async (route) => {
      const answer = await (await route.fetch()).json();
      return route.fulfill({ json: { ...answer, reason: "\u202eok <img src=x> <b>paid</b>" } });
    });
    await page.reload();
    const reason = section().locator("p", { hasText: "Step 2 fails: " });
    await reason.getByText("U+202E", { exact: true }).waitFor();
    assert.equal(await page.locator("main img").count(), 0);
    assert.equal(await page.locator("main b", { hasText: "paid" }).count(), 0);
  });

  test("before payment: shows the changes, the block, and that it assumes a payment", async () => {
    await page.goto(`${site}/a/${honest.address}`);
    await page.locator(".qr").waitFor();
    const card = section();
    await card.getByText(`After 25 ${token.symbol} arrives, the payment would complete`).waitFor();
    assert.deepEqual(await card.locator(".divide-y > li").allTextContents(), [
      `−25 ${token.symbol}${honest.address} (this address)`,
      `+25 ${token.symbol}${shopAddress} (Demo Shop)`,
    ]);
    await card.getByText(/Tested by this server’s node at block \d+\./).waitFor();
  });
});

describe("the requester", () => {
  const headOf = async (path: string) => (await fetch(`${site}/a/${path}`)).text();

  test("shows a contract's label only if the contract receives all the money", async () => {
    await page.goto(`${site}/a/${hostile.address}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
  });

  test("names a confirmed account, but not for addresses of its client ID", async () => {
    const account = ["--email", "shop@example.com"];
    const origin = "https://shop.example.com";
    await admin(service.env, "origins", "set", "--account", service.accountId, origin);
    const createWith = async (headers: Record<string, string>) => {
      const { salt, ...intent } = hostile.intent;
      const answer = await fetch(`${service.baseUrl}/address/create`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(intent),
      });
      return ((await answer.json()) as AddressRecord).address;
    };
    const byKey = await createWith({ authorization: `Bearer ${service.apiKey}` });
    const byPage = await createWith({ "x-client-id": service.clientId, origin });
    assert.doesNotMatch(await headOf(byKey), /Ada/);
    await assert.rejects(admin(service.env, "account", "name", ...account, "--name", "A\u202eda"));
    await admin(service.env, "account", "name", ...account, "--name", "Ada & Sons <b>");
    await page.goto(`${site}/a/${byKey}`);
    await page.locator(".payee", { hasText: "Ada & Sons <b>" }).waitFor();
    await page.goto(`${site}/a/${byPage}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
    assert.match(await headOf(honest.address), /content="Demo Shop/, "a label comes first");
    await admin(service.env, "account", "name", ...account);
    await page.goto(`${site}/a/${byKey}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
  });

  test("appears in link previews with amount and status, without scripts", async () => {
    const text = await headOf(honest.address.toLowerCase());
    assert.match(text, /<title>25 DUSD on Local<\/title>/);
    assert.match(text, /og:description" content="Demo Shop · Waiting for payment"/);
    assert.match(await headOf(executed.address), /content="Demo Shop · Completed"/);
    assert.match(await headOf(stranger), /<title>Payment<\/title>/);
  });
});

describe("the shop in a link", () => {
  const keys = generateKeyPairSync("ed25519");
  const privateKey = keys.privateKey.export({ type: "pkcs8", format: "der" }).toString("base64");
  const { x } = keys.publicKey.export({ format: "jwk" });
  const logo = '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32"/>';
  const files: Record<string, [string, string]> = {
    "/logo.svg": ["image/svg+xml", logo],
    "/.well-known/executable-address.json": [
      "application/json",
      JSON.stringify({ version: 1, name: "Ada's Shoes", logo: "/logo.svg", keys: [x] }),
    ],
  };
  const origin = createServer(({ url }, response) => {
    const [type, body] = files[`${url}`] ?? ["text/plain", ""];
    response.setHeader("access-control-allow-origin", "*").setHeader("content-type", type);
    response.end(body);
  });
  let shop: string;
  before(async () => {
    await new Promise<void>((listening) => origin.listen(0, "127.0.0.1", listening));
    shop = `127.0.0.1:${(origin.address() as AddressInfo).port}`;
  });
  after(() => origin.close());
  const linkOf = ({ address }: AddressRecord) =>
    signShopLink(`${site}/a/${address}`, { shop, order: "No. 77", privateKey });

  test("warns if the shop does not confirm the link, and does not show its name", async () => {
    const stolen = new URL(await linkOf(honest));
    stolen.pathname = `/a/${hostile.address}`;
    await page.goto(stolen.href);
    await page.getByRole("alert").getByText(`${shop} doesn’t confirm`).waitFor();
    assert.equal(await page.getByText("Ada's Shoes").count(), 0);
  });

  test("shows a confirmed shop with its domain, name, logo, and order", async () => {
    await page.goto(await linkOf(honest));
    await page.locator(".shop", { hasText: `${shop} · Ada's Shoes · order No. 77` }).waitFor();
    assert.match((await page.locator(".shop img").getAttribute("src")) ?? "", /^data:image\/svg/);
    await assertSound(page, "a named shop");
  });

  test("ignores a shop that does not respond", async () => {
    await page.goto((await linkOf(honest)).replace(shop.replace(":", "%3A"), "localhost%3A9"));
    await page.getByRole("heading", { name: `25 ${token.symbol}` }).waitFor();
    assert.equal(await readCode(page), honest.address);
    assert.equal(await page.locator(".shop").count(), 0);
  });
});

describe("an honest intent", () => {
  test("describes the payment in words, and each call when opened", async () => {
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("heading", { name: `25 ${token.symbol}` }).waitFor();
    await page.locator(".payee", { hasText: "Demo Shop" }).waitFor();
    await page.getByText(`This payment lets Demo Shop collect up to 25`).waitFor();
    await page.getByText("Address verified").waitFor();
    await page.getByText(`spend up to 25 ${token.symbol} from this address`).waitFor();
  });

  test("opens from its terms without an API, and rejects invalid terms", async () => {
    await page.route("**/v1/**", (route) => route.abort());
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    await page.getByText("Address verified").waitFor();
    await page.goto(`${site}/a/#terms=${honest.terms.slice(0, -2)}`);
    await page.getByText("Don’t pay this address").waitFor();
  });

  test("exchange: shows the minimum amount and values to copy", async () => {
    const page = await open({ permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${site}/a/${partly.address}`);
    await page.getByRole("button", { name: "Exchange", exact: true }).click();
    await page.getByText(`At least 15 ${token.symbol} must arrive`).waitFor();
    await page.getByText(`Local (chain ID ${localChainId})`).waitFor();
    const copied = () => page.evaluate("navigator.clipboard.readText()");
    await page.getByRole("button", { name: `Copy 15 ${token.symbol}` }).click();
    await page.getByText(`15 ${token.symbol} copied`).waitFor();
    assert.equal(await copied(), "15");
    await page.getByRole("button", { name: "Copy Token contract" }).click();
    await page.getByText("Token contract copied").waitFor();
    assert.equal(await copied(), token.address);
    await page.context().close();
  });
});

/** A fixed record that no service created, so that tests can contain its address. */
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

describe("values that a payer compares or types are unambiguous", () => {
  test("shows the ends and the middle of the address, like the wallet", async () => {
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
    test(`${amount} base units are ${said}`, async () => {
      await page.goto(`${site}/a/#terms=${fixed(amount).terms}`);
      await showAnyway(page).click();
      await page.getByText("Your wallet should show:").waitFor();
      const text = await atTop(page).innerText();
      assert.match(text, new RegExp(`Amount due\\s+${said}`));
      assert.ok(text.includes(`Your wallet should show: ${said} to `), text);
      assert.doesNotMatch(text, /1\.234 |1[,.]500/);
    });
  }
});

describe("the return address", () => {
  test("is above the QR code on a phone or beside it on a desktop, and is read first", async () => {
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

  test("is named by a label or an address, not by a role", async () => {
    const gift = await create(service, [transferTo(stranger)]);
    await page.goto(`${site}/a/${gift.address}`);
    const short = shortAddress(stranger);
    await page.getByText(`This payment sends 25 ${token.symbol} to ${short}`).waitFor();
    await page
      .getByText(
        `If the payment can’t complete, the money goes to the return address ${short}. Not yours?`,
      )
      .waitFor();
  });

  test("is hidden if it is the address of the payer's wallet", async () => {
    const page = await open();
    await announceWallet(page, service.anvil.rpcUrl, stranger);
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "Pay with Test Wallet" }).waitFor();
    await page.getByText("If the payment can’t complete").waitFor({ state: "detached" });
    await page.context().close();
  });

  test("exchange: names networks on which money is lost", async () => {
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "Exchange", exact: true }).click();
    await page.getByText("On zkSync, related networks, and Tron").waitFor();
  });
});

describe("an unusual browser", () => {
  test("works if storage is blocked", async () => {
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

  test("supports a wallet that is only window.ethereum", async () => {
    const page = await open();
    await page.addInitScript(`window.ethereum = { request: async ({ method }) =>
      method === "eth_accounts" ? [] : "0x7a69" };`);
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("button", { name: "Pay with browser wallet" }).waitFor();
    await page.context().close();
  });
});

describe("the block explorer", () => {
  test("links the address and its transaction, unless the URL is unsafe", async () => {
    let explorer = "https://explorer.example?redirect=evil.example";
    let hash = "";
    await page.route("**/events", (route) => route.fulfill({ status: 503 }));
    await page.route("**/status", async (route) => {
      const status = await (await route.fetch()).json();
      hash = status.execution.transactionHash;
      return route.fulfill({ json: { ...status, explorer } });
    });
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("Every step ran exactly once.").waitFor();
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

test("every state of the page passes the checks", async () => {
  const records = isLong
    ? [honest, hostile, partly, soon, paid, stuck, executed]
    : [hostile, executed];
  const addresses = records.map(({ address }) => address);
  for (const path of [...addresses, ...(isLong ? [stranger] : []), "0x12"]) {
    await assertSoundAt(page, path);
  }
  await page.goto(`${site}/a/#terms=0x00`);
  await page.getByText("Don’t pay this address").waitFor();
  await assertSoundInAll(page, "refused");
});

async function assertSoundAt(page: Page, path: string) {
  await page.goto(`${site}/a/${path}`);
  await page.locator("main h1:visible:not(.sr-only)").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
  // The short form checks each state only after its details are open.
  if (isLong) await assertSound(page, path);
  await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true");
  await assertSoundInAll(page, `${path} unfolded`);
}

// This test runs last, because it advances the chain's clock.
describe("an address that expired or was returned", () => {
  before(() => expire(service, 600, [returned]));

  test("is explained, not offered for payment, and passes the checks in both themes", async () => {
    for (const [record, sentence] of [
      [soon, "This payment expired before it completed."],
      [returned, "so the money was sent to the return address"],
    ] as const) {
      await assertSoundAt(page, record.address);
      await page.getByText(sentence).first().waitFor();
      assert.equal(await page.locator(".qr:visible").count(), 0);
    }
  });

  test("uses the browser's share dialog if there is one", async () => {
    const page = await open();
    await page.addInitScript("navigator.share = async (what) => { window.shared = what; };");
    await page.goto(`${site}/a/${returned.address}`);
    await page.getByRole("button", { name: "Share" }).click();
    const shared = (await page.evaluate("window.shared")) as { url: string };
    assert.equal(shared.url, `${site}/a/${returned.address}`);
    await page.context().close();
  });
});
