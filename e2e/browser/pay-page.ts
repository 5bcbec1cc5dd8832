// Shared code of the payment page's tests. Creates and pays addresses of the demo shop. Reads QR
// codes from the pixels of the screen.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach } from "node:test";
import {
  type AddressRecord,
  encodeExecution,
  type Hex,
  type Intent,
  recoverCalldata,
  toHex,
} from "executable-address";
import type { WrongToken } from "executable-address/status";
import { demoToken, factoryAddress } from "executable-address-contracts";
import type { Browser, BrowserContextOptions, Locator, Page } from "playwright-core";
import decodeQr from "qr/decode.js";
import type { Account } from "viem";
import {
  demoTokens,
  localChainId,
  localWallet,
  payerAccount,
  shopAddress,
} from "../../scripts/local-chain.ts";
import { type Running, startService } from "../service.ts";
import { launchBrowser, listenForFaults } from "./browser.ts";

export const token = demoTokens[0]!;
export const stranger: Hex = "0x5555555555555555555555555555555555555555";

export const approve = (amount: string) => ({
  target: token.address,
  function: "approve(address spender, uint256 amount)",
  args: [shopAddress, amount],
});

export const transferTo = (receiver: Hex) => ({
  target: token.address,
  function: "transfer(address to, uint256 amount)",
  args: [receiver, "25000000"],
});

const pay = (order: string) => ({
  target: shopAddress,
  function: "pay(uint256 orderId, uint256 amount)",
  args: [order, "25000000"],
});

/** Creates an address. By default, the address requests 25 demo dollars and expires in an hour. */
export async function create(
  { baseUrl, apiKey }: Running,
  calls: Intent["calls"],
  secondsLeft = 3600,
  amount = "25000000",
): Promise<AddressRecord> {
  const answer = await fetch(`${baseUrl}/address/create`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({
      chainId: localChainId,
      token: token.address,
      amount,
      calls,
      expirationTimestamp: Math.floor(Date.now() / 1000) + secondsLeft,
      recovery: stranger,
    }),
  });
  assert.equal(answer.status, 200);
  return (await answer.json()) as AddressRecord;
}

/** Creates an order of the demo shop. Each order has its own address. */
let orders = 1000;
export const createOrder = (service: Running, secondsLeft?: number): Promise<AddressRecord> =>
  create(service, [approve("25000000"), pay(`${orders++}`)], secondsLeft);

const chainOf = ({ anvil }: Running) => localWallet(anvil.rpcUrl, payerAccount);

/** Mints demo dollars for `to`. If `to` is an address of the service, the mint is a payment. */
export async function mint(
  service: Running,
  to: Hex,
  amount: bigint,
  address: Hex = token.address,
): Promise<void> {
  const chain = chainOf(service);
  const hash = await chain.writeContract({
    address,
    abi: demoToken.abi,
    functionName: "mint",
    args: [to, amount],
  });
  await chain.waitForTransactionReceipt({ hash });
}

/** Pays from `account`, after minting the money for it. */
export async function payFrom(
  service: Running,
  account: Account,
  to: Hex,
  amount: bigint,
): Promise<Hex> {
  await mint(service, account.address, amount);
  const chain = localWallet(service.anvil.rpcUrl, account);
  const { abi } = demoToken;
  const { address } = token;
  const call = { address, abi, functionName: "transfer", args: [to, amount] } as const;
  const hash = await chain.writeContract(call);
  await chain.waitForTransactionReceipt({ hash });
  return hash;
}

export async function execute(service: Running, { intent }: AddressRecord): Promise<Hex> {
  const chain = chainOf(service);
  const data = toHex(encodeExecution(intent));
  const hash = await chain.sendTransaction({ to: factoryAddress, data });
  const { status } = await chain.waitForTransactionReceipt({ hash });
  assert.equal(status, "success");
  return hash;
}

/** Advances the chain's clock by `seconds`, and then recovers the balances of the addresses. */
export async function expire(service: Running, seconds: number, records: AddressRecord[]) {
  const chain = chainOf(service);
  await chain.request({ method: "evm_increaseTime" as never, params: [seconds] as never });
  for (const { terms } of records) {
    const data = toHex(recoverCalldata(terms, [token.address]));
    const hash = await chain.sendTransaction({ to: factoryAddress, data });
    const { status } = await chain.waitForTransactionReceipt({ hash });
    assert.equal(status, "success");
  }
}

/**
 * Changes the status so that the page shows a wrong token at the address. The status then contains
 * bridged USDC, which does not exist on the local chain.
 */
export async function showWrongToken(page: Page): Promise<void> {
  const wrongToken: WrongToken = {
    ...{ token: "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", amount: "25000000" },
    ...{ symbol: "USDC.e", name: "Bridged USDC", decimals: 6, looksLike: token.symbol },
    ...{ transactionHash: null, payer: null },
  };
  await page.route("**/events", (route) => route.fulfill({ status: 503 }));
  await page.route("**/status", async (route) => {
    const status = await (await route.fetch()).json();
    return route.fulfill({ json: { ...status, wrongTokens: [wrongToken] } });
  });
}

/** Creates addresses of the demo shop in several states, and one hostile address. */
async function createOrders(service: Running) {
  const note = {
    target: stranger,
    function: "note(string text)",
    args: ["\u202eytrap tsurt\u202c <img src=x onerror=alert(1)> <b>Verified by your bank</b>"],
  };
  const orders = {
    honest: await createOrder(service),
    hostile: await create(service, [approve(`${2n ** 256n - 1n}`), note]),
    partly: await createOrder(service),
    soon: await createOrder(service, 500),
    paid: await createOrder(service),
    stuck: await create(service, [approve("25000000"), note]),
    executed: await createOrder(service),
    returned: await createOrder(service, 500),
  };
  await mint(service, orders.partly.address, 10_000_000n);
  await mint(service, orders.paid.address, 25_000_000n);
  await mint(service, orders.stuck.address, 25_000_000n);
  await mint(service, orders.executed.address, 30_000_000n);
  await mint(service, orders.returned.address, 25_000_000n);
  await execute(service, orders.executed);
  return orders;
}

/**
 * Starts the service and creates the addresses of {@link createOrders}. After each test, checks
 * that `page` has logged no error. Stops the service when all tests of the file have ended.
 *
 * @param names the operator's labels of contracts
 * @returns helpers, and a `page` that most tests share. Reloading it takes half as long as opening
 *   a new browser context
 */
export async function servePayPage(names: Record<Hex, string> = { [shopAddress]: "Demo Shop" }) {
  const folder = mkdtempSync(join(tmpdir(), "labels-"));
  after(() => rmSync(folder, { recursive: true }));
  const labels = join(folder, "labels.json");
  writeFileSync(labels, JSON.stringify({ [localChainId]: names }));
  const browser = await launchBrowser();
  after(() => browser.close());
  const service = await startService({ LABELS_FILE: labels, TRUSTED_PROXIES: "127.0.0.1" });
  after(service.stop);
  const orders = await createOrders(service);
  const open = (options?: BrowserContextOptions) => openFresh(browser, options);
  const page = await open();
  const faults = listenForFaults(page);
  afterEach(async () => {
    await page.unrouteAll({ behavior: "wait" });
    assert.deepEqual(faults, []);
  });
  return { service, site: new URL(service.baseUrl).origin, open, page, ...orders };
}

export const atTop = (page: Page) => page.locator(".pay-card").first();
export const showAnyway = (page: Page) =>
  page.getByRole("button", { name: "Show payment options anyway" });

/** Opens a new page without cookies. */
export async function openFresh(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  return context.newPage();
}

/** Reads the QR code from the pixels of the screen, as a camera does. */
export const readCode = (page: Page): Promise<string> => readCodeIn(page, page.locator(".qr"));

/**
 * Maps each browser to a page that reads the pixels of screenshots. The tested page cannot always
 * read them, because its policy may forbid `data:` images. The tests of a browser share this page,
 * because each new page starts a process.
 */
const decoders = new WeakMap<Browser, Promise<Page>>();
function decoderOf(browser: Browser): Promise<Page> {
  const decoder = decoders.get(browser) ?? browser.newPage();
  decoders.set(browser, decoder);
  return decoder;
}

/** Reads the QR code `code` that `page` shows. */
export async function readCodeIn(page: Page, code: Locator): Promise<string> {
  await code.first().waitFor();
  assert.equal(await code.count(), 1, "one code at a time");
  await code.scrollIntoViewIfNeeded();
  const png = (await code.screenshot()).toString("base64");
  const decoder = await decoderOf(page.context().browser()!);
  const { width, height, pixels } = (await decoder.evaluate(`(async () => {
    const picture = new Image();
    picture.src = "data:image/png;base64,${png}";
    await picture.decode();
    const { width, height } = picture;
    const context = Object.assign(document.createElement("canvas"), { width, height })
      .getContext("2d");
    context.drawImage(picture, 0, 0);
    const { buffer } = context.getImageData(0, 0, width, height).data;
    return { width, height, pixels: new Uint8Array(buffer).toBase64() };
  })()`)) as { width: number; height: number; pixels: string };
  return decodeQr({ width, height, data: new Uint8ClampedArray(Buffer.from(pixels, "base64")) });
}

/** Returns the first address in a text, as wallets and exchanges do. */
export const naively = (text: string): string | undefined => /0x[0-9a-fA-F]{40}/.exec(text)?.[0];
