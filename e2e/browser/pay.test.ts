// Tests the payment page with honest, hostile, and forged records. The chain and the service are
// real.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord } from "executable-address";
import { shortAddress } from "executable-address/payment";
import type { Page } from "playwright-core";
import { localChainId, shopAddress } from "../../scripts/local-chain.ts";
import { isLong, onlyLong } from "../../scripts/long.ts";
import { admin } from "../service.ts";
import { assertSound, assertSoundInAll } from "./browser.ts";
import {
  atTop,
  expire,
  naively,
  readCode,
  servePayPage,
  showAnyway,
  stranger,
  token,
} from "./pay-page.ts";

const {
  service,
  site,
  open,
  page,
  honest,
  hostile,
  partly,
  soon,
  paid,
  stuck,
  executed,
  returned,
} = await servePayPage();

describe("data that the page cannot verify", () => {
  const withIntent =
    (change: object) =>
    ({ intent, ...record }: AddressRecord) => ({ ...record, intent: { ...intent, ...change } });
  const forgeries: [string, (record: AddressRecord) => unknown][] = [
    ["another recovery address", withIntent({ recovery: shopAddress })],
    ["a field that imitates an instruction", withIntent({ [`pay_to_${stranger}`]: 1 })],
    ["another record", () => hostile],
    ["another factory", (record) => ({ ...record, factory: stranger })],
    ["another amount", withIntent({ amount: "1" })],
    ["an object without a record", () => ({ hello: "there" })],
    ["null", () => null],
  ];
  for (const [name, forge] of forgeries) {
    const options = /recovery|instruction|null/.test(name) ? {} : onlyLong;
    test(`the payment page shows only a warning if the server sends ${name}`, options, async () => {
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

  test("the payment page says that an address is unknown", async () => {
    await page.goto(`${site}/a/${stranger}`);
    await page.getByText("Payment not found").waitFor();
    await page.goto(`${site}/a/0x1234`);
    await page.getByText("This link isn’t valid").waitFor();
  });

  test("the page offers no payment if the server does not respond", async () => {
    await page.route("**/v1/address/**", (route) => route.abort());
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Couldn’t load this payment").waitFor();
    await page.unroute("**/v1/address/**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Amount due").first().waitFor();
  });
});

describe("a hostile intent", () => {
  test("the page escapes hidden characters and HTML", async () => {
    await page.goto(`${site}/a/${hostile.address}`);
    await page.getByText("Step 1 allows unlimited spending").waitFor();
    await page.getByText("Step 2 contains hidden characters").waitFor();
    assert.equal(await page.getByText("U+202E", { exact: true }).count(), 1);
    assert.equal(await page.locator("main img, main b img").count(), 0);
    assert.equal(await page.locator("main b", { hasText: "Verified" }).count(), 0);
    assert.doesNotMatch((await page.locator("main").textContent()) ?? "", /\u202e/);
    await page.getByText("in an unknown contract").waitFor();
  });

  test("the page shows an unlisted token as unknown", async () => {
    await page.route("**/v1/chains", (route) => route.fulfill({ json: { chains: [] } }));
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Unknown token").waitFor();
    await page.getByRole("heading", { name: "25\u202f000\u202f000 base units" }).waitFor();
    await page.getByText("Review what this payment does before you pay.").waitFor();
    assert.equal(await page.locator(".qr").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Copy Address" }).count(), 0);
  });
});

describe("paying an address", () => {
  const mustShow = (amount: string, { address }: AddressRecord) =>
    page
      .getByText(`Your wallet should show: ${amount} to ${shortAddress(address)} on Local`)
      .waitFor();
  const linkOf = ({ address }: AddressRecord, amount: string) =>
    `ethereum:${token.address}@${localChainId}/transfer?address=${address}&uint256=${amount}`;

  test("the page of an unpaid address shows a QR code with the address", async () => {
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

  test("the page of an underpaid address requests the missing amount", async () => {
    await page.goto(`${site}/a/${partly.address}`);
    await page.getByRole("heading", { name: `15 ${token.symbol}` }).waitFor();
    await page.getByText(`10 of 25 ${token.symbol} received`).waitFor();
    assert.equal(await readCode(page), partly.address);
    await mustShow(`15 ${token.symbol}`, partly);
    await page.getByRole("button", { name: "Payment link" }).click();
    assert.equal(await readCode(page), linkOf(partly, "15000000"));
  });

  test("the page works without a server", async () => {
    await page.route("**/v1/**", (route) => route.abort());
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    // Without the service, the page cannot know whether the address has been paid.
    await page.getByText("We can’t tell yet whether this is already paid.").waitFor();
    await page.getByText("Unknown token").waitFor();
    assert.equal(await page.locator(".qr").count(), 0);
    await showAnyway(page).click();
    assert.equal(await readCode(page), honest.address);
    assert.equal(naively(await atTop(page).innerText()), honest.address);
  });

  test("the page offers no payment if the status is unavailable", async () => {
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

  test("after the device slept, the page waits for a new status", async () => {
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

  test("after the tab was hidden, the page waits for a new status", async () => {
    const page = await open();
    await page.clock.install();
    await page.goto(`${site}/a/${honest.address}`);
    const asked = /\/v1\/address\/0x\w+\/(status|events)$/;
    for (const event of ["online", "visibilitychange", "resume"]) {
      await page.locator(".qr").waitFor();
      await page.route(asked, (route) => route.abort());
      await page.clock.runFor(20_000);
      assert.equal(await page.locator(".qr").count(), 1, event);
      await page.evaluate(`document.dispatchEvent(new Event("${event}", { bubbles: true }))`);
      await page.getByText("We can’t tell yet whether this is already paid.").waitFor();
      await page.unroute(asked);
      await page.clock.runFor(6_000);
    }
    await page.context().close();
  });

  test("a right-to-left page does not split a value across lines", async () => {
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

  test("the page of an executed address shows the paid amount and its recipient", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("There’s nothing more to do.").waitFor();
    const factOf = (name: RegExp) =>
      page.locator("dt", { hasText: name }).locator("xpath=following-sibling::dd[1]");
    assert.equal(await factOf(/^Paid$/).innerText(), `30 ${token.symbol}`);
    await factOf(/^Received by$/)
      .getByText(`25 ${token.symbol} · ${shopAddress} (Demo Shop)`)
      .waitFor();
  });

  test("the page of an executed address offers no way to pay", async () => {
    await page.goto(`${site}/a/${executed.address}`);
    await page.getByText("There’s nothing more to do.").waitFor();
    for (const folded of await page.locator("details").all())
      await folded.evaluate((node) => node.setAttribute("open", ""));
    assert.equal(await page.locator(".qr").count(), 0);
    assert.equal(await showAnyway(page).count(), 0);
    assert.equal(await page.getByText("Your wallet should show:").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Copy Address" }).count(), 0);
  });

  const doubtful: [string, () => AddressRecord, string | RegExp][] = [
    ["the simulation fails", () => hostile, "can’t complete right now: step 2 fails."],
    ["little time is left", () => soon, /This expires in [78] min/],
    ["the full amount has arrived", () => paid, "The full amount has already arrived"],
    ["the amount arrived, but the calls fail", () => stuck, "but nobody has received the money."],
  ];
  for (const [name, record, text] of doubtful) {
    test(`the page hides the payment options behind a button if ${name}`, async () => {
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

describe("the expected result on the payment page", () => {
  // Uses another client IP, because the earlier tests have nearly reached the rate limit for
  // simulations.
  before(() => page.setExtraHTTPHeaders({ "x-forwarded-for": "198.51.100.1" }));
  after(() => page.setExtraHTTPHeaders({}));

  const section = () =>
    page.locator("details", { has: page.getByRole("heading", { name: "Expected result" }) });
  const simulated = "**/v1/address/*/simulation";

  test("a payer can retry a simulation that failed", async () => {
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

  test("the simulation of another address is not shown", async () => {
    await page.route(simulated, async (route) => {
      const other = route.request().url().replace(honest.address, hostile.address);
      return route.fulfill({ response: await route.fetch({ url: other }) });
    });
    await page.goto(`${site}/a/${honest.address}`);
    await page.locator(".qr").waitFor();
    await section().getByText("The result couldn’t be tested").waitFor();
  });

  test("a failing call is shown with its reason as plain text", async () => {
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

  test("the page shows how balances will change after the payment has arrived", async () => {
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

describe("the name of the party that requests a payment", () => {
  const headOf = async (path: string) => (await fetch(`${site}/a/${path}`)).text();

  test("is omitted if the page does not know a name", async () => {
    await page.goto(`${site}/a/${hostile.address}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
    await page.getByText("The requester chose who receives the money.").waitFor();
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
    await page.getByText("The requester chose who receives the money.").waitFor();
  });

  test("is the account's name only if an API key created the address", async () => {
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
    await page.getByText("Ada & Sons <b> chose who receives the money.").waitFor();
    await page.goto(`${site}/a/${byPage}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
    assert.match(await headOf(honest.address), /content="Demo Shop/, "a label comes first");
    await admin(service.env, "account", "name", ...account);
    await page.goto(`${site}/a/${byKey}`);
    await page.locator("h1.amount").waitFor();
    assert.equal(await page.locator(".payee").count(), 0);
  });

  test("is part of the link preview, next to the amount and the status", async () => {
    const text = await headOf(honest.address.toLowerCase());
    assert.match(text, /<title>25 DUSD on Local<\/title>/);
    assert.match(text, /og:description" content="Demo Shop · Waiting for payment"/);
    assert.match(await headOf(executed.address), /content="Demo Shop · Completed"/);
    assert.match(await headOf(stranger), /<title>Payment<\/title>/);
  });
});

describe("an ordinary intent", () => {
  test("the page describes the payment and each call in words", async () => {
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByRole("heading", { name: `25 ${token.symbol}` }).waitFor();
    await page.locator(".payee", { hasText: "Demo Shop" }).waitFor();
    await page.getByText(`Demo Shop collects up to 25 ${token.symbol} of this payment.`).waitFor();
    assert.equal(await page.getByText("chose who receives the money").count(), 0);
    await page.getByText("Address verified").waitFor();
    await page.getByText(`spend up to 25 ${token.symbol} from this address`).waitFor();
  });

  test("the page verifies the terms in a link even if the API is unreachable", async () => {
    await page.route("**/v1/**", (route) => route.abort());
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    await page.getByText("Address verified").waitFor();
    await page.goto(`${site}/a/#terms=${honest.terms.slice(0, -2)}`);
    await page.getByText("Don’t pay this address").waitFor();
  });

  test("a payer can copy the amount and the token contract for an exchange", async () => {
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

test("every state of the payment page passes the accessibility checks", async () => {
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
  // `npm test` runs this check only once per state, after the details have been opened.
  if (isLong) await assertSound(page, path);
  await page.evaluate("for (const d of document.querySelectorAll('details')) d.open = true");
  await assertSoundInAll(page, `${path} unfolded`);
}

// This test runs last, because it advances the chain's clock.
describe("an address that can no longer be paid", () => {
  before(() => expire(service, 600, [returned]));

  test("the page explains the state and offers no payment", async () => {
    for (const [record, sentence] of [
      [soon, "This payment expired before it completed"],
      [returned, "The money was sent to the return address"],
    ] as const) {
      await assertSoundAt(page, record.address);
      await page.getByText(sentence).first().waitFor();
      assert.equal(await page.locator(".qr:visible").count(), 0);
    }
  });
});
