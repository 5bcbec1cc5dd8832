// Shared code for tests in which a payer uses a browser wallet on the payment page. The service and
// the chain are real.

import assert from "node:assert/strict";
import { after, afterEach } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import type { Page } from "playwright-core";
import { executorAccount, payerAccount } from "../../scripts/local-chain.ts";
import { launchBrowser, listenForFaults } from "../browser/browser.ts";
import { createOrder, mint, openFresh } from "../browser/pay-page.ts";
import { startService } from "../service.ts";
import { announceWallet, ask, newWallet } from "./test-wallet.ts";

/** Two accounts of the demo chain. Only the first account has demo dollars. */
export const rich = payerAccount.address as Hex;
export const poor = executorAccount.address as Hex;

/**
 * Starts the service and a browser, and stops both when all tests of the file have ended. After
 * each test, checks that `page` has logged no error.
 *
 * @returns helpers, and a `page` that most tests share. Reloading it takes half as long as opening
 *   a new browser context
 */
export async function startPayer() {
  const browser = await launchBrowser();
  after(() => browser.close());
  const service = await startService();
  after(service.stop);
  await mint(service, rich, 1_000_000_000n);
  const page = await openFresh(browser);
  const faults = listenForFaults(page);
  const wallet = await announceWallet(page, service.anvil.rpcUrl, rich);
  afterEach(async () => {
    await page.unrouteAll({ behavior: "wait" });
    for (const tab of page.context().pages()) if (tab !== page) await tab.close();
    assert.deepEqual(faults, []);
  });
  const payButton = () => page.getByRole("button", { name: "Pay with Test Wallet" });
  const show = ({ address }: AddressRecord) =>
    page.goto(`${new URL(service.baseUrl).origin}/a/${address}`);
  return {
    ...{ service, browser, page, wallet, payButton, show },
    chain: (method: string, ...params: unknown[]) => ask(service.anvil.rpcUrl, method, params),
    says: (text: string | RegExp, at: Page = page) => at.getByText(text).first().waitFor(),
    gone: (text: string) => page.getByText(text).first().waitFor({ state: "detached" }),
    /** Creates an address and opens its payment page with a new wallet of `account`. */
    async start(account = rich, secondsLeft?: number): Promise<AddressRecord> {
      const record = await createOrder(service, secondsLeft);
      Object.assign(wallet, newWallet(account));
      await show(record);
      await payButton().waitFor();
      return record;
    },
  };
}
