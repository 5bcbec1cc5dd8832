// A wallet on another device: the page on one end, WalletConnect's own client as the wallet on the
// other, a relay between them. Only where the operator has a project id.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import type { Browser, Page } from "playwright-core";
import { localChainId, payerAccount } from "../../scripts/local-chain.ts";
import { type Running, startService } from "../service.ts";
import { openPhone, projectId } from "../wallets/phone.ts";
import { ask } from "../wallets/test-wallet.ts";
import { startRelay } from "../wallets/walletconnect-relay.ts";
import { assertSound, launchBrowser, listenForFaults } from "./browser.ts";
import { createOrder, mint, openFresh, readCode } from "./pay-page.ts";

const payer = payerAccount.address as Hex;

/** Attests for a page as far as the client in the page asks: gives a token with the asked id. */
const attestation = `<script>
  const id = new URLSearchParams(location.search).get("id");
  const part = (value) => btoa(JSON.stringify(value)).replaceAll("=", "");
  const token = [part({ alg: "ES256", typ: "JWT" }), part({ id }), "AAAA"].join(".");
  parent.postMessage(JSON.stringify({ type: "verify_attestation", attestation: token }), "*");
</script>`;

let browser: Browser;
let relay: Awaited<ReturnType<typeof startRelay>>;
let service: Running;
let phone: Awaited<ReturnType<typeof openPhone>>;
let isDeclined = false;

before(async () => {
  browser = await launchBrowser();
  relay = await startRelay();
  service = await startService({
    WALLETCONNECT_PROJECT_ID: projectId,
    WALLETCONNECT_RELAY: relay.url,
  });
  await mint(service, payer, 100_000_000n);
  phone = await openPhone(relay.url, `eip155:${localChainId}`, async ({ method, params = [] }) => {
    if (method === "eth_requestAccounts") return [payer];
    if (isDeclined) throw Object.assign(new Error("User rejected."), { code: 4001 });
    return (await ask(service.anvil.rpcUrl, method, [...params])).result;
  });
});

after(async () => {
  await browser?.close();
  await service?.stop();
  await phone?.close();
  relay?.close();
});

const urlOf = ({ address }: AddressRecord) => `${new URL(service.baseUrl).origin}/a/${address}`;
const button = (page: Page) => page.getByRole("button", { name: "Pay with WalletConnect" });

async function open(record: AddressRecord): Promise<Page> {
  const page = await openFresh(browser, { viewport: { width: 360, height: 740 } });
  // Nobody reaches the true one from here, and the client would wait five seconds for it each time.
  await page.route("https://verify.walletconnect.org/**", (route) =>
    route.fulfill({ contentType: "text/html", body: attestation }),
  );
  await page.goto(urlOf(record));
  return page;
}

describe("a wallet on another device", () => {
  test("is not among the first bytes, and still the card is whole on a small screen", async () => {
    const page = await openFresh(browser, { viewport: { width: 360, height: 740 } });
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(urlOf(await createOrder(service)));
    await button(page).waitFor();
    assert.deepEqual(
      asked.filter((url) => /walletconnect/.test(url)),
      [],
    );
    const box = await page.locator(".pay-card").boundingBox();
    assert.ok(box && box.y + box.height <= 740, `${box && box.y + box.height}`);
    await page.context().close();
  });

  test("cancelled before a wallet came: nothing was sent, and the address is back", async () => {
    const record = await createOrder(service);
    const page = await open(record);
    await button(page).click();
    await page.getByText("Connect a wallet").waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.getByText("Nothing was sent.").waitFor();
    assert.equal(await readCode(page), record.address);
    await page.context().close();
  });

  test("scans the only code there is, declines once, and pays", async () => {
    const record = await createOrder(service);
    const page = await open(record);
    const faults = listenForFaults(page);
    await button(page).click();
    await page.getByText("Connect a wallet").waitFor();
    const uri = await readCode(page);
    assert.match(uri, /^wc:[0-9a-f]{64}@2\?/);
    await assertSound(page, "pairing");
    const link = page.getByRole("link", { name: "Open in a wallet app" });
    assert.equal(await link.getAttribute("href"), uri);
    isDeclined = true;
    await phone.pair(uri);
    await page.getByText("You declined it in the wallet. Nothing was sent.").waitFor();
    assert.equal(await readCode(page), record.address);
    isDeclined = false;
    await button(page).click();
    await page.getByText("Paid, about to run").waitFor();
    assert.deepEqual(faults, []);
    await page.context().close();
  });
});
