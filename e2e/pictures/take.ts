// node scripts/run.js e2e/pictures/take.ts [FOLDER] [PART]: takes screenshots of every state of the
// pages. Each state has screenshots at three widths in both color schemes, and as a printed page.
// Two more screenshots show the state in Arabic, at the smallest and the largest width. With PART,
// takes screenshots only of states whose name contains PART. FOLDER/index.html shows all
// screenshots. This program is not a test, because no program can judge how a page looks.

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { AddressRecord, Hex } from "executable-address";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { executorAccount, payerAccount } from "../../scripts/local-chain.ts";
import { launchBrowser } from "../browser/browser.ts";
import {
  approve,
  create,
  createOrder,
  execute,
  expire,
  payFrom,
  stranger,
  transferTo,
} from "../browser/pay-page.ts";
import { type Running, startService } from "../service.ts";

type Session = NonNullable<BrowserContextOptions["storageState"]>;
type State = { name: string; path: string; isSignedIn?: boolean };
type Look = BrowserContextOptions & { name: string; isPaper?: boolean };

/** Recipients that are neither payers nor the return address. */
const seller: Hex = `0x${"7".repeat(40)}`;
const platform: Hex = `0x${"8".repeat(40)}`;
const hourSeconds = 3600;
const settleMs = 700;
const folder = resolve(process.argv[2] ?? "node_modules/.cache/pictures");
const part = process.argv[3] ?? "";

const looks: Look[] = [
  ...(["light", "dark"] as const).flatMap((colorScheme) =>
    [360, 768, 1280].map((width) => ({
      name: `${width}-${colorScheme}`,
      ...screen(width),
      colorScheme,
    })),
  ),
  ...[360, 1280].map((width) => ({ name: `${width}-ar`, ...screen(width), locale: "ar" })),
  { name: "paper", ...screen(794), isPaper: true },
];

function screen(width: number) {
  return { viewport: { width, height: width < 700 ? 740 : 800 }, reducedMotion: "reduce" as const };
}

const service = await startService();
const browser = await launchBrowser();
try {
  const signedIn = await signUp(browser, service);
  const states = [
    ...(await payerStates(service)),
    ...(await dashboardStates(service, signedIn.page)),
  ];
  mkdirSync(folder, { recursive: true });
  const names = states.filter(({ name }) => name.includes(part));
  for (const look of looks) await takeAll(names, look, signedIn.session);
  writeFileSync(join(folder, "index.html"), sheet(names));
  console.log(`${folder}/index.html: ${names.length} states, ${looks.length} pictures of each`);
} finally {
  await browser.close();
  await service.stop();
}

async function payerStates(service: Running): Promise<State[]> {
  const order = (seconds = 5 * hourSeconds) => createOrder(service, seconds);
  const paid = async (record: AddressRecord, ...amounts: bigint[]) => {
    const payers = [payerAccount, executorAccount];
    for (const [at, amount] of amounts.entries())
      await payFrom(service, payers[at]!, record.address, amount);
    return record;
  };
  const page = (name: string, { address }: AddressRecord): State => ({
    name,
    path: `/a/${address}`,
  });
  const executed = await paid(await order(), 10_000_000n, 20_000_000n);
  await execute(service, executed);
  await payFrom(service, payerAccount, executed.address, 3_000_000n);
  const exact = await paid(await order(), 25_000_000n);
  await execute(service, exact);
  const [expired, recovered] = [
    await paid(await order(700), 10_000_000n),
    await paid(await order(700), 9_000_000n),
  ];
  const send = (to: Hex, units: string) => ({ ...transferTo(to), args: [to, units] });
  const stuck = await paid(
    await create(service, [transferTo(seller), transferTo(seller)], 5 * hourSeconds),
    25_000_000n,
  );
  const many = Array.from({ length: 12 }, () => send(seller, "1000"));
  const states = [
    page("unfunded", await order()),
    page(
      "split",
      await create(
        service,
        [send(seller, "15000000"), send(platform, "10000000")],
        5 * hourSeconds,
      ),
    ),
    page("partly", await paid(await order(), 10_000_000n)),
    page("paid", await paid(await order(), 25_000_000n)),
    page("stuck", stuck),
    page("hazard", await create(service, [approve(String(2n ** 256n - 1n))], 5 * hourSeconds)),
    page("many calls", await create(service, many, 5 * hourSeconds)),
    page("executed", exact),
    page("executed, two payers, late", executed),
    { name: "receipt", path: `/receipt/${executed.address}` },
    { name: "receipt to choose", path: "/receipt" },
    page("expired", expired),
    page("recovered", recovered),
    { name: "missing", path: `/a/${stranger}` },
    { name: "docs", path: "/docs/index.html" },
    { name: "docs, reference", path: "/docs/openapi.html" },
  ];
  await expire(service, 800, [recovered]);
  return [page("soon over", await order(900)), ...states];
}

async function signUp(browser: Browser, service: Running) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${siteOf(service)}/sign-up`);
  await page.getByLabel("Email").fill("ada@example.com");
  await page.getByLabel("Password", { exact: true }).fill("correct horse battery");
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  return { page, session: await context.storageState() };
}

/** Creates two addresses of the signed-in account. One address is paid and executed. */
async function dashboardStates(service: Running, page: Page): Promise<State[]> {
  const make = async (reference: string): Promise<AddressRecord> => {
    const { intent } = await createOrder(service, 5 * hourSeconds);
    const made = await page.evaluate(
      async ([url, body]) => {
        const headers = { "content-type": "application/json" };
        return (await fetch(url!, { method: "POST", headers, body: body! })).json();
      },
      [`/dashboard/api/addresses?reference=${reference}`, JSON.stringify(intent)],
    );
    return made as AddressRecord;
  };
  const open = await make("order-43");
  const done = await make("order-42");
  await payFrom(service, payerAccount, done.address, 12_000_000n);
  await payFrom(service, executorAccount, done.address, 16_000_000n);
  await execute(service, done);
  const paths = {
    overview: "/",
    addresses: "/addresses",
    "address open": `/addresses/${open.address}`,
    "address executed": `/addresses/${done.address}`,
    "address to make": "/addresses/new",
    credentials: "/credentials",
    webhooks: "/webhooks",
    account: "/account",
  };
  return Object.entries(paths).map(([name, path]) => ({
    ...{ name: `dashboard, ${name}`, path, isSignedIn: true },
  }));
}

/** Opens the public pages without a session. */
async function takeAll(states: readonly State[], look: Look, session: Session) {
  const { name, isPaper, ...options } = look;
  for (const isSignedIn of [false, true]) {
    const context = await browser.newContext({
      ...options,
      ...(isSignedIn && { storageState: session }),
    });
    const page = await context.newPage();
    for (const state of states.filter((each) => (each.isSignedIn ?? false) === isSignedIn)) {
      await page.emulateMedia({ media: "screen" });
      await page.goto(siteOf(service) + state.path);
      await page.locator("main :is(h1, [role=alert])").first().waitFor();
      await page.locator(".skeleton, .place").first().waitFor({ state: "detached" });
      // Gives the page time to load the status, the simulation, and the proof.
      await page.waitForTimeout(settleMs);
      if (isPaper) await page.emulateMedia({ media: "print" });
      await page.screenshot({ path: join(folder, fileOf(state.name, name)), fullPage: true });
    }
    await context.close();
  }
}

function fileOf(state: string, look: string): string {
  return `${state.replaceAll(/\W+/g, "-")}.${look}.png`;
}

function siteOf({ baseUrl }: Running): string {
  return new URL(baseUrl).origin;
}

function sheet(states: readonly State[]): string {
  const rows = states.map(({ name }) => {
    const pictures = looks.map(
      (look) => `<figure>${look.name}<br><img src="${fileOf(name, look.name)}"></figure>`,
    );
    return `<h2>${name}</h2><div>${pictures.join("")}</div>`;
  });
  const style = "div{display:flex;gap:16px;overflow-x:auto;align-items:start}figure{margin:0}";
  return `<!doctype html><meta charset="utf-8"><style>${style}</style>${rows.join("\n")}`;
}
