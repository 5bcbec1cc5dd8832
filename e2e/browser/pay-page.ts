// What the tests of the public page share: addresses of the demo shop, money, and a reader of QR
// codes that sees only pixels.

import assert from "node:assert/strict";
import {
  type AddressRecord,
  encodeExecution,
  type Hex,
  type Intent,
  recoverCalldata,
  toHex,
} from "executable-address";
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
import type { Running } from "../service.ts";

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

/** For 25 demo dollars unless told otherwise, an hour from now. */
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

/** An order of the demo shop, each time another address. */
let orders = 1000;
export const createOrder = (service: Running, secondsLeft?: number): Promise<AddressRecord> =>
  create(service, [approve("25000000"), pay(`${orders++}`)], secondsLeft);

const chainOf = ({ anvil }: Running) => localWallet(anvil.rpcUrl, payerAccount);

/** New demo dollars for `to`, which is a payment like any other. */
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

/** A payment by `account` itself, which is given the money first. */
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

/** The chain's clock goes on by so much, and what the addresses hold goes back. */
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

/** A fresh page without cookies, as a payer has it. */
export async function openFresh(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  return context.newPage();
}

/** Reads as a camera in front of the screen does: only the pixels of the code that is shown. */
export const readCode = (page: Page): Promise<string> => readCodeIn(page, page.locator(".qr"));

/**
 * A page of its own decodes the pictures: the one under test lets no script in. A browser needs one
 * for all, since each takes a process that starts.
 */
const decoders = new WeakMap<Browser, Promise<Page>>();
function decoderOf(browser: Browser): Promise<Page> {
  const decoder = decoders.get(browser) ?? browser.newPage();
  decoders.set(browser, decoder);
  return decoder;
}

/** The same of a code that another page shows. */
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

/** A wallet or an exchange that takes the first address it finds. */
export const naively = (text: string): string | undefined => /0x[0-9a-fA-F]{40}/.exec(text)?.[0];
