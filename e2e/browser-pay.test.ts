// The public page of an address as a payer meets it: honest, hostile and forged records, in a real
// browser, against the real service and a real chain.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, encodeExecution, type Intent, toHex } from "executable-address";
import { demoToken, factoryAddress } from "executable-address-contracts";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import {
  demoTokens,
  localChainId,
  localWallet,
  payerAccount,
  shopAddress,
} from "../scripts/local-chain.ts";
import { appearances, assertSound, launchBrowser, listenForFaults } from "./browser.ts";
import { type Running, startService } from "./service.ts";

const token = demoTokens[0]!;
const unlimited = (2n ** 256n - 1n).toString();
const stranger = "0x5555555555555555555555555555555555555555";

let service: Running;
let site: string;
let browser: Browser;
let honest: AddressRecord;
let hostile: AddressRecord;
let unpaid: AddressRecord;

const approve = (amount: string) => ({
  target: token.address,
  function: "approve(address spender, uint256 amount)",
  args: [shopAddress, amount],
});

async function create(calls: Intent["calls"]): Promise<AddressRecord> {
  const answer = await fetch(`${service.baseUrl}/address/create`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${service.apiKey}`,
    },
    body: JSON.stringify({
      chainId: localChainId,
      token: token.address,
      amount: "25000000",
      calls,
      expirationTimestamp: Math.floor(Date.now() / 1000) + 3600,
      recovery: stranger,
    }),
  });
  assert.equal(answer.status, 200);
  return (await answer.json()) as AddressRecord;
}

/** A fresh page without cookies, as a payer has it. */
async function open(options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ reducedMotion: "reduce", ...options });
  return context.newPage();
}

before(async () => {
  browser = await launchBrowser();
  service = await startService();
  site = new URL(service.baseUrl).origin;
  const pay = {
    target: shopAddress,
    function: "pay(uint256 orderId, uint256 amount)",
    args: ["1042", "25000000"],
  };
  honest = await create([approve("25000000"), pay]);
  unpaid = await create([approve("25000000"), pay]);
  hostile = await create([
    approve(unlimited),
    {
      target: stranger,
      function: "note(string text)",
      args: ["\u202eytrap tsurt\u202c <img src=x onerror=alert(1)> <b>Verified by your bank</b>"],
    },
  ]);
});

after(async () => {
  await browser?.close();
  await service?.stop();
});

describe("what is not the address's own is never shown", () => {
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
    test(`a server that answers ${name} is refused, loudly and without its data`, async () => {
      const page = await open();
      await page.route(`**/v1/address/${honest.address}`, (route) =>
        route.fulfill({ json: forge(honest) }),
      );
      await page.goto(`${site}/a/${honest.address}`);
      await page.getByRole("alert").getByText("Do not pay this address").waitFor();
      const text = await page.locator("main").textContent();
      assert.doesNotMatch(text ?? "", /25|0x[0-9a-f]{40}|Pay exactly/i);
      await page.context().close();
    });
  }

  test("an address that the service does not hold says so", async () => {
    const page = await open();
    await page.goto(`${site}/a/${stranger}`);
    await page.getByText("Nothing is known about this address").waitFor();
    await page.goto(`${site}/a/0x1234`);
    await page.getByText("This link holds no address").waitFor();
    await page.context().close();
  });

  test("a server that does not answer is no reason to pay", async () => {
    const page = await open();
    await page.route("**/v1/address/**", (route) => route.abort());
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("The address could not be looked up").waitFor();
    await page.unroute("**/v1/address/**");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Pay exactly").waitFor();
    await page.context().close();
  });
});

describe("a hostile intent cannot mislead", () => {
  test("text is inert, what would not show is written out, permissions called out", async () => {
    const page = await open();
    const faults = listenForFaults(page);
    await page.goto(`${site}/a/${hostile.address}`);
    await page.getByText("Call 1 gives an unlimited permission").waitFor();
    await page.getByText("Call 2 contains characters that would not show").waitFor();
    assert.equal(await page.getByText("U+202E", { exact: true }).count(), 1);
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.doesNotMatch((await page.locator("main").textContent()) ?? "", /\u202e/);
    await page.getByText("on a contract this page does not know").waitFor();
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("a token that the service does not list is called unknown, amounts bare", async () => {
    const page = await open();
    await page.route("**/v1/chains", (route) => route.fulfill({ json: { chains: [] } }));
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Unknown token").waitFor();
    await page.getByRole("heading", { name: "25,000,000 base units" }).waitFor();
    await page.context().close();
  });
});

describe("what would happen now", () => {
  const card = (page: Page) => page.getByRole("region", { name: "What would happen now" });
  const simulated = "**/v1/address/*/simulation";

  test("a server that cannot simulate changes nothing else, and can be asked again", async () => {
    const page = await open();
    const error = { code: "chain_unavailable", message: "away", issues: [] };
    await page.route(simulated, (route) => route.fulfill({ status: 503, json: { error } }));
    await page.goto(`${site}/a/${honest.address}`);
    await card(page).getByText("It could not be simulated").waitFor();
    await page.getByText("Pay exactly").waitFor();
    await page.unroute(simulated);
    await card(page).getByRole("button", { name: "Simulate again" }).click();
    await card(page).getByText("it would run and change these balances").waitFor();
    await page.context().close();
  });

  test("another address's simulation, or one that is none, is not shown", async () => {
    const page = await open();
    await page.route(simulated, async (route) => {
      const other = route.request().url().replace(honest.address, hostile.address);
      return route.fulfill({ response: await route.fetch({ url: other }) });
    });
    await page.goto(`${site}/a/${honest.address}`);
    await card(page).getByText("It could not be simulated").waitFor();
    await page.context().close();
  });

  test("a call that fails is named with its reason, and a hostile reason is inert", async () => {
    const page = await open();
    const faults = listenForFaults(page);
    await page.goto(`${site}/a/${hostile.address}`);
    await card(page).getByText("It would not run now").waitFor();
    await card(page).getByText("Call 2 fails: “no contract is there”").waitFor();
    await page.route(simulated, async (route) => {
      const answer = await (await route.fetch()).json();
      return route.fulfill({ json: { ...answer, reason: "\u202eok <img src=x> <b>paid</b>" } });
    });
    await page.reload();
    await card(page).getByText("U+202E", { exact: true }).waitFor();
    assert.equal(await page.locator("main img, main b").count(), 0);
    assert.deepEqual(faults, []);
    await page.context().close();
  });

  test("before it is paid: the changes, that payment is assumed, and at which block", async () => {
    const page = await open();
    await page.goto(`${site}/a/${honest.address}`);
    await card(page).getByText(`Once it holds 25 ${token.symbol}, it would run`).waitFor();
    const rows = await card(page).getByRole("listitem").allTextContents();
    assert.deepEqual(rows, [
      `−25 ${token.symbol}${honest.address} (this very address)`,
      `+25 ${token.symbol}${shopAddress} (the contract of call 2)`,
    ]);
    await card(page)
      .getByText(/Simulated by this server's node at block \d+\./)
      .waitFor();
    await page.context().close();
  });

  test("a token that is not listed is shown by its address, in base units", async () => {
    const page = await open();
    await page.route("**/v1/chains", (route) => route.fulfill({ json: { chains: [] } }));
    await page.goto(`${site}/a/${honest.address}`);
    await card(page).getByText("−25,000,000 base units of a token not listed here").waitFor();
    await page.context().close();
  });
});

describe("an honest one", () => {
  test("is said in words, by any letter case of its address", async () => {
    const page = await open();
    await page.goto(`${site}/a/${honest.address.toLowerCase()}`);
    await page.getByText("Checked in your browser").waitFor();
    await page.getByRole("heading", { name: `25 ${token.symbol}` }).waitFor();
    await page.getByText(`take up to 25 ${token.symbol} from here`).waitFor();
    const link = page.getByRole("link", { name: "Open in a wallet app" });
    assert.equal(
      await link.getAttribute("href"),
      `ethereum:${token.address}@${localChainId}/transfer?address=${honest.address}&uint256=25000000`,
    );
    await page.context().close();
  });

  test("opens from its terms alone, with no API at all, and no mangled terms do", async () => {
    const page = await open();
    await page.route("**/v1/**", (route) => route.abort());
    await page.goto(`${site}/a/#terms=${honest.terms}`);
    await page.getByText("Checked in your browser").waitFor();
    await page.getByText(honest.address, { exact: true }).first().waitFor();
    await page.goto(`${site}/a/#terms=${honest.terms.slice(0, -2)}`);
    await page.getByText("Do not pay this address").waitFor();
    await page.context().close();
  });

  test("is paid by a wallet of the browser and followed live until its calls ran", async () => {
    const chain = localWallet(service.anvil.rpcUrl, payerAccount);
    const minted = await chain.writeContract({
      address: token.address,
      abi: demoToken.abi,
      functionName: "mint",
      args: [payerAccount.address, 25_000_000n],
    });
    await chain.waitForTransactionReceipt({ hash: minted });

    const page = await open();
    await announceWallet(page, service.anvil.rpcUrl);
    await page.goto(`${site}/a/${honest.address}`);
    await page.getByText("Waiting for payment").waitFor();
    await page.getByRole("button", { name: "Pay with Test Wallet" }).click();
    await page.getByText("Paid, about to run").waitFor();
    await page.getByText("It is paid").waitFor();
    await page.getByText("Set off now, it would run").waitFor();
    assert.equal(await page.getByRole("button", { name: /Pay with/ }).count(), 0);

    const data = toHex(encodeExecution(honest.intent));
    await chain.sendTransaction({ to: factoryAddress, data });
    await page.getByText("Done: the calls ran").waitFor();
    await page.getByText("Nothing any more: the calls ran").waitFor();
    await page.context().close();
  });
});

describe("an explorer that the operator names", () => {
  test("is linked, for the address and its transaction, unless it is no plain page", async () => {
    const page = await open();
    let explorer = "javascript:alert(1)";
    const transactionHash = `0x${"ab".repeat(32)}`;
    const execution = { transactionHash, blockNumber: 7 };
    await page.route("**/events", (route) => route.fulfill({ status: 503 }));
    await page.route("**/status", async (route) => {
      const status = await (await route.fetch()).json();
      return route.fulfill({ json: { ...status, state: "executed", execution, explorer } });
    });
    await page.goto(`${site}/a/${unpaid.address}`);
    await page.getByText(transactionHash).waitFor();
    assert.equal(await page.locator("a[target]").count(), 0);
    explorer = "https://explorer.example";
    await page.reload();
    const link = page.getByRole("link", { name: "This address on explorer.example" });
    assert.equal(await link.getAttribute("href"), `${explorer}/address/${unpaid.address}`);
    const transaction = page.getByRole("link", { name: transactionHash });
    assert.equal(await transaction.getAttribute("href"), `${explorer}/tx/${transactionHash}`);
    assert.equal(await transaction.getAttribute("rel"), "noreferrer");
    await assertSound(page, "with an explorer");
    await page.context().close();
  });
});

/** An EIP-6963 wallet that signs whatever is asked, with the payer's unlocked account. */
async function announceWallet(page: Page, rpcUrl: string): Promise<void> {
  await page.exposeFunction("askChain", async (method: string, params: unknown[]) => {
    if (method === "eth_requestAccounts") return [payerAccount.address];
    if (method === "wallet_switchEthereumChain") return null;
    const answer = await fetch(rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return ((await answer.json()) as { result: unknown }).result;
  });
  await page.addInitScript(`
    const detail = {
      info: { uuid: "7e57", name: "Test Wallet", icon: "", rdns: "example.wallet" },
      provider: { request: ({ method, params = [] }) => askChain(method, params) },
    };
    addEventListener("eip6963:requestProvider", () =>
      dispatchEvent(new CustomEvent("eip6963:announceProvider", { detail })));
  `);
}

describe("every state of the page is sound", () => {
  for (const appearance of appearances) {
    const name = `${appearance.colorScheme}, ${appearance.viewport?.width} px`;
    test(name, async () => {
      const page = await open(appearance);
      for (const path of [unpaid, honest, hostile]
        .map(({ address }) => address)
        .concat(stranger, "0x12")) {
        await page.goto(`${site}/a/${path}`);
        await page.locator("main h1:visible:not(.sr-only)").waitFor();
        await page.locator(".skeleton").first().waitFor({ state: "detached" });
        await assertSound(page, `${path} ${name}`);
      }
      await page.goto(`${site}/a/#terms=0x00`);
      await page.getByText("Do not pay this address").waitFor();
      await assertSound(page, `refused ${name}`);
      await page.context().close();
    });
  }
});
