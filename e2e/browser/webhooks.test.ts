// Tests the dashboard's webhooks in a real browser with a real receiver.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type ServiceEvent, verifyWebhook } from "executable-address/webhook";
import type { Browser, Page } from "playwright-core";
import { executorKey, localChains } from "../../scripts/local-chain.ts";
import { startWorld, type World } from "../../service/testing/chain/world.ts";
import { startReceiver } from "../../service/testing/webhooks/world.ts";
import { admin, type Running, startService } from "../service.ts";
import { assertSound, launchBrowser, listenForFaults } from "./browser.ts";
import { createOrder, mint, openFresh } from "./pay-page.ts";

const email = "ada@example.com";
const password = "correct horse battery";

const otherId = 31_338;

let service: Running;
let other: World;
let site: string;
let browser: Browser;
let page: Page;
let faults: string[];
let isGone = false;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let secret: string;
let apiKey: string;

before(async () => {
  browser = await launchBrowser();
  receiver = await startReceiver(() => ({ status: isGone ? 410 : 200, body: "taken, thank you" }));
  other = await startWorld(otherId);
  const [local] = localChains(other.rpcUrl);
  const tokens = [{ symbol: "DMO", address: other.token, decimals: 6 }];
  service = await startService(
    { ROLE: "all", EXECUTOR_KEY: executorKey, EXECUTOR_POLL_MS: "200", WEBHOOK_TARGETS: "any" },
    [{ ...local, chainId: otherId, name: "Other", tokens, confirmations: 0 }],
  );
  site = new URL(service.baseUrl).origin;
  page = await openFresh(browser);
  faults = listenForFaults(page);
});
after(async () => {
  await browser?.close();
  await service?.stop();
  await other?.stop();
  await receiver?.close();
});

const endpoint = () => page.getByRole("region", { name: receiver.url });
const press = (name: string) => endpoint().getByRole("button", { name }).click();
const takenTypes = () => receiver.taken.map(({ body }) => JSON.parse(body).type as string);
async function untilTaken(count: number): Promise<void> {
  while (receiver.taken.length < count) await sleep(20);
}

describe("webhooks in the dashboard", () => {
  test("a new secret is shown until the user has saved it", async () => {
    await page.goto(`${site}/sign-up`);
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("link", { name: "Webhooks" }).click();
    await page.getByLabel("URL").fill("ftp://shop.example.com");
    await page.getByRole("button", { name: "Add endpoint" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel("URL").fill(receiver.url);
    await page.getByRole("button", { name: "Add endpoint" }).click();
    secret = (await page.getByText(/^whsec_/).textContent()) ?? "";
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    assert.equal(await page.getByText(/^whsec_/).textContent(), secret);
    await page.getByRole("button", { name: "I’ve saved it" }).click();
    await endpoint().getByText("active").waitFor();
    await page.reload();
    await endpoint().waitFor();
    assert.ok(!(await page.content()).includes("whsec_"));
  });

  test("a user can send a test event and see the response", async () => {
    await press("Send test event");
    await untilTaken(1);
    const [{ body, headers }] = receiver.taken as [(typeof receiver.taken)[0]];
    assert.equal((await verifyWebhook(body, headers, { secret })).type, "webhook.test");
    await endpoint().getByText("200 after").click();
    await endpoint().getByText("taken, thank you").waitFor();
  });

  test("a user can set the number of confirmations for a chain", async () => {
    const depths = page.getByRole("region", { name: "Confirmations" });
    const save = () => depths.getByRole("button", { name: "Save" }).first().click();
    await depths.getByLabel("Local").fill("3");
    await save();
    await page.getByText("Local: 3 confirmations").waitFor();
    await page.reload();
    assert.equal(await depths.getByLabel("Local").inputValue(), "3");
    await depths.getByLabel("Local").fill("101");
    await save();
    await depths.getByText("Enter a whole number from 0 to 100.").waitFor();
    await depths.getByLabel("Local").fill("");
    await save();
    await page.getByText("Local: 0 confirmations").waitFor();
  });

  test("a user can replay one event or a time range", async () => {
    const { accountId } = await admin(service.env, "account", "show", "--email", email);
    const created = await admin(service.env, "key", "create", "--account", String(accountId));
    apiKey = String(created.apiKey);
    const { address } = await createOrder({ ...service, apiKey });
    await mint(service, address, 25_000_000n);
    while (!takenTypes().includes("address.executed")) await sleep(20);
    const before = receiver.taken.length;
    await press("Deliveries");
    const row = endpoint().getByRole("row").filter({ hasText: "address.executed" });
    await row.getByRole("button", { name: "Replay" }).click();
    await untilTaken(before + 1);
    const ids = receiver.taken.map(({ headers }) => headers["webhook-id"]);
    assert.ok(ids.slice(0, -1).includes(ids.at(-1)), "under its own id");
    const day = (ahead: number) =>
      new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 19);
    await endpoint().getByLabel("From").fill(day(-2));
    await endpoint().getByLabel("Until").fill(day(2));
    await press("Replay this range");
    await page.getByText(/sent again$/).waitFor();
    await untilTaken(before + 2);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await assertSound(page, `webhooks, ${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: null });
  });

  test("a delivery shows the name of the chain if the event is from another chain", async () => {
    const { address } = await createOrder({ ...service, apiKey });
    await other.pay(address, 2_500_000n);
    const told = () =>
      receiver.taken
        .map(({ body }) => JSON.parse(body) as ServiceEvent)
        .filter(({ data }) => data.chainId === otherId)
        .map(({ type }) => type);
    while (told().length < 2) await sleep(20);
    assert.deepEqual(told(), ["address.payment", "address.recovered"]);
    for (const type of told()) {
      await endpoint()
        .getByRole("row")
        .filter({ hasText: type })
        .filter({ hasText: "Other" })
        .waitFor();
    }
  });

  test("the overview shows the paid, completed, and returned amounts", async () => {
    const late = /0x[0-9a-fA-F]{40}/.exec(receiver.taken.map(({ body }) => body).join())![0];
    await mint(service, late as `0x${string}`, 5_000_000n);
    const other = await page.context().newPage();
    const sums = other.getByRole("region", { name: "Payments" }).locator("dl").first();
    let text = "";
    // Payments and refunds appear on the page only after the executor has observed them.
    while (!/Returned\s+5 DUSD/.test(text)) {
      await other.goto(site);
      text = await sums.innerText();
    }
    assert.match(text, /Paid\s+30 DUSD\s+Completed\s+25 DUSD/);
    await assertSound(other, "money");
    await other.close();
  });

  test("a 410 response disables an endpoint until the user resumes it", async () => {
    isGone = true;
    await press("Send test event");
    await endpoint().getByText("Disabled: the endpoint answered 410 Gone").waitFor();
    isGone = false;
    await press("Resume");
    await endpoint().getByText("active").waitFor();
    await press("Rotate secret");
    await page.getByRole("button", { name: "Rotate now" }).click();
    assert.notEqual(await page.getByText(/^whsec_/).textContent(), secret);
    await page.getByRole("button", { name: "I’ve saved it" }).click();
    await endpoint().getByText("also signed with the old secret").waitFor();
    await press("Pause");
    await endpoint().getByText("paused").waitFor();
  });

  test("an endpoint is deleted only after a confirmation", async () => {
    await press("Delete");
    await page.getByRole("button", { name: "Cancel" }).click();
    await press("Delete");
    await page.getByRole("button", { name: "Delete now" }).click();
    await page.getByText("No endpoints yet").waitFor();
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    assert.equal(await page.evaluate("document.activeElement.name"), "url");
    assert.deepEqual(faults, []);
  });
});
