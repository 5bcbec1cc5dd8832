// Tests the account page, and the parts that all dashboard pages share. Also tests the
// accessibility of each page.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { localChainId } from "../../scripts/local-chain.ts";
import { dashboardPaths } from "../../service/http/pages/pages.ts";
import { admin, type Running, startService } from "../service.ts";
import {
  assertSoundInAll,
  followPath,
  launchBrowser,
  listenForFaults,
  openPage,
} from "./browser.ts";
import { createApiKey, createWithKey, email, password, signUp } from "./dashboard-page.ts";

const docsUrl = "https://docs.example.com/pay";
const newPassword = "staple of another battery";
const resetPassword = "a third and last battery";

let service: Running;
let site: string;
let browser: Browser;
let context: BrowserContext;
let page: Page;
let faults: string[];

before(async () => {
  browser = await launchBrowser();
  service = await startService({ DOCS_URL: docsUrl });
  site = new URL(service.baseUrl).origin;
  context = await browser.newContext({ reducedMotion: "reduce" });
  page = await context.newPage();
  faults = listenForFaults(page);
  await signUp(page, site);
  await fillLists(await createApiKey(page, site));
});

/** Adds an address and an origin, so that the accessibility checks cover lists with rows. */
async function fillLists(apiKey: string): Promise<void> {
  const created = await createWithKey(service, apiKey);
  assert.equal(created.status, 200);
  await page.goto(`${site}/origins`);
  await page.getByLabel("Origin", { exact: true }).fill("https://app.example.com");
  await page.getByRole("button", { name: "Add origin" }).click();
  await page.getByText("1 of 20").waitFor();
}

after(async () => {
  await browser?.close();
  await service?.stop();
});

describe("an account in the dashboard", () => {
  test("the password changes only if the current password is right", async () => {
    await page.goto(`${site}/account`);
    await page.getByLabel("Current password", { exact: true }).fill("wrong wrong wrong");
    await page.getByLabel("New password", { exact: true }).fill(newPassword);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Your current password is incorrect").waitFor();
    await page.getByLabel("Current password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByText("Password changed").waitFor();
  });

  test("the account page lists another browser and can sign it out", async () => {
    const elsewhere = await browser.newContext({ userAgent: "Mozilla/5.0 (Windows) Firefox/150" });
    const other = await elsewhere.newPage();
    await other.goto(`${site}/account`);
    await other.getByLabel("Email").fill(email);
    await other.getByLabel("Password", { exact: true }).fill(newPassword);
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByRole("heading", { name: "Account" }).waitFor();
    await page.goto(`${site}/account`);
    await page.getByRole("row", { name: /Firefox on Windows/ }).waitFor();
    await page.getByRole("row").getByText("this device").waitFor();
    await page.getByRole("button", { name: "Sign out Firefox on Windows" }).click();
    await page.getByText("Firefox on Windows").waitFor({ state: "detached" });
    await other.reload();
    await other.getByRole("heading", { name: "Sign in" }).waitFor();
    await elsewhere.close();
  });

  test("one button signs out all other browsers", async () => {
    const others = await Promise.all([1, 2].map(() => browser.newContext()));
    for (const context of others) {
      const other = await context.newPage();
      await other.goto(`${site}/account`);
      await other.getByLabel("Email").fill(email);
      await other.getByLabel("Password", { exact: true }).fill(newPassword);
      await other.getByRole("button", { name: "Sign in" }).click();
      await other.getByRole("heading", { name: "Account" }).waitFor();
    }
    await page.goto(`${site}/account`);
    await page.getByRole("button", { name: "Sign out everywhere else" }).click();
    await page
      .getByRole("button", { name: /^End the session/ })
      .first()
      .waitFor({ state: "detached" });
    for (const context of others) {
      const [other] = context.pages();
      await other!.reload();
      await other!.getByRole("heading", { name: "Sign in" }).waitFor();
      await context.close();
    }
    await page.getByText("this device").waitFor();
  });

  test("the account page shows the gas cost by day and chain", async () => {
    await page.getByText("No gas spent yet.").waitFor();
    await page.route("**/dashboard/api/account", async (route) => {
      const answer = await (await route.fetch()).json();
      const more = { gasWei: "13000000000000000", tipsWei: "0", clientIdWei: "2000000000000000" };
      const rest = { chainId: localChainId, ...more, failedTipsWei: "0" };
      const gasSpent = [{ day: "2026-11-21", wei: "12345000000000000", ...rest }];
      await route.fulfill({ json: { ...answer, gasSpent } });
    });
    await page.reload();
    const row = page.getByRole("row", { name: /2026-11-21 Local/ });
    await row.waitFor();
    assert.match(await row.innerText(), /\s0\.012345\s+0\.0020\s+0$/);
    await page.unroute("**/dashboard/api/account");
  });

  test("a sign-in after an ended session opens the requested page", async () => {
    await context.clearCookies();
    await page.getByRole("link", { name: "Activity", exact: true }).click();
    await page.getByText("Your session ended").waitFor();
    await page.locator("h1:focus", { hasText: "Sign in" }).waitFor();
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Incorrect email or password").waitFor();
    await page.getByLabel("Password", { exact: true }).fill(newPassword);
    // Submits the form with the keyboard.
    await page.keyboard.press("Enter");
    await page.locator("h1:focus", { hasText: "Activity" }).waitFor();
  });

  test("a reset link works only once", async () => {
    const { resetUrl } = await admin(service.env, "account", "reset", "--email", email);
    const visitor = await browser.newPage();
    const holds = visitor.locator("h1:focus", { hasText: "Password changed" });
    const isUsed = visitor
      .getByRole("alert")
      .getByText("This link has expired or was already used");
    for (const outcome of [holds, isUsed]) {
      await visitor.goto("about:blank");
      await visitor.goto(String(resetUrl));
      await visitor.getByLabel("New password", { exact: true }).fill(resetPassword);
      await visitor.getByRole("button", { name: "Set password" }).click();
      await outcome.waitFor();
    }
    await visitor.close();

    // A password reset ends every session, including this one.
    await page.getByRole("link", { name: "Origins", exact: true }).click();
    await page.getByText("Your session ended").waitFor();
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(resetPassword);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Origins" }).waitFor();
  });

  test("the sign-up page has no form if sign-up is closed", async () => {
    const visitor = await browser.newPage();
    await visitor.route("**/dashboard/api/config", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...(await answer.json()), signup: "closed" } });
    });
    await visitor.goto(`${site}/sign-up`);
    await visitor.getByText("Sign-up is closed on this server").waitFor();
    assert.equal(await visitor.getByLabel("Email").count(), 0);
    await visitor.close();
  });
});

describe("the parts that every dashboard page has", () => {
  test("a keyboard user can skip the menu", async () => {
    await openPage(page, `${site}/account`);
    await page.keyboard.press("Tab");
    await page.locator(":focus", { hasText: "Skip to content" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Activity", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.locator("h1:focus", { hasText: "Activity" }).waitFor();
  });

  test("the dashboard links to the documentation and the API description", async () => {
    const link = (name: string) => page.getByRole("link", { name }).getAttribute("href");
    assert.equal(await link("Documentation"), docsUrl);
    const path = await link("OpenAPI");
    assert.equal((await fetch(site + path)).status, 200);
  });

  test("the chosen color scheme remains after a reload", async () => {
    await page.getByRole("button", { name: /^Theme: system/ }).click();
    await page.reload();
    await page.getByRole("button", { name: /^Theme: light/ }).click();
    await page.reload({ waitUntil: "commit" });
    await page.locator("html[data-theme=dark]").waitFor();
    await page.getByRole("button", { name: /^Theme: dark/ }).click();
  });

  test("a message appears while the browser is offline", async () => {
    await context.setOffline(true);
    await page.getByText("You’re offline").waitFor();
    await context.setOffline(false);
    await page.getByText("You’re offline").waitFor({ state: "detached" });
  });

  test("a page that fails to load has a retry button", async () => {
    await page.route("**/dashboard/api/activity*", (route) =>
      route.fulfill({
        status: 500,
        json: { error: { code: "internal", message: "", issues: [] } },
      }),
    );
    await page.goto(`${site}/activity`);
    await page.getByText("Couldn’t load this").waitFor();
    await page.unroute("**/dashboard/api/activity*");
    await page.getByRole("button", { name: "Try again" }).click();
    await page.getByText("Account created").waitFor();
  });
});

const paths = dashboardPaths.filter((path) => !/:|^\/(sign-in|sign-up|reset)$/.test(path));

describe("accessibility of the dashboard", () => {
  test("every page for signed-in users passes the accessibility checks", async () => {
    const seen = await context.newPage();
    for (const path of paths) {
      await openPage(seen, site + path);
      await assertSoundInAll(seen, path);
    }
    await openPage(seen, `${site}/addresses`);
    await seen.getByRole("link", { name: /^0x/ }).first().click();
    await seen.getByText("Awaiting payment").first().waitFor();
    await assertSoundInAll(seen, "an address");
    await openPage(seen, `${site}/credentials`);
    await seen.getByRole("button", { name: "Rotate" }).first().click();
    await assertSoundInAll(seen, "the dialog");
    await seen.close();
  });

  test("every page for signed-out users passes the accessibility checks", async () => {
    const signedOut = await browser.newContext({ reducedMotion: "reduce" });
    const seen = await signedOut.newPage();
    for (const path of ["/", "/sign-up", "/reset", "/reset#token=x"]) {
      await openPage(seen, site + path);
      await assertSoundInAll(seen, path);
    }
    await signedOut.close();
  });
});

test("the dashboard is in English regardless of the browser's language", async () => {
  const storageState = await context.storageState();
  const reader = await browser.newContext({ locale: "ar", storageState });
  const seen = await reader.newPage();
  await openPage(seen, site);
  // The payment page stores the user's language in localStorage. The dashboard has the same origin,
  // so it could read this value. The dashboard must ignore the value and show English texts.
  await seen.evaluate("localStorage.language = 'ar'");
  await followPath(seen, "/addresses");
  await seen.locator("a[href^='/addresses/0x']").first().click();
  await seen.locator(".flow").waitFor();
  const html = seen.locator("html");
  assert.deepEqual([await html.getAttribute("lang"), await html.getAttribute("dir")], ["en", null]);
  assert.doesNotMatch(await seen.locator("body").innerText(), /\p{Script=Arabic}/u);
  assert.equal(await seen.locator("select.language").count(), 0);
  await reader.close();
});

test("a failed sign-out shows an error and keeps the session", async () => {
  await page.goto(`${site}/credentials`);
  await page.route("**/auth/sign-out", (route) => route.abort());
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("The server didn’t respond").waitFor();
  await page.unroute("**/auth/sign-out");
  assert.equal(await page.getByRole("heading", { name: "Sign in" }).count(), 0);
});

test("signing out removes the account's data from the page", async () => {
  // Simulates a race between two requests. The server receives the page's request for the session
  // list only after the sign-out, so it returns 401. The page gets this response before the
  // response to the sign-out.
  const signedOut = Promise.withResolvers<void>();
  const heading = page.getByRole("heading", { name: "Sign in" });
  let shownEarly: number | undefined;
  await page.route("**/dashboard/api/sessions", async (route) => {
    await signedOut.promise;
    await route.continue();
  });
  await page.route("**/auth/sign-out", async (route) => {
    const response = await route.fetch();
    const refused = page.waitForResponse((answer) => answer.status() === 401);
    signedOut.resolve();
    await refused;
    // If the page treated the 401 response as an expired session, the sign-in form would appear
    // now.
    await page.waitForTimeout(200);
    shownEarly = await heading.count();
    await route.fulfill({ response });
  });
  await page.goto(`${site}/account`);
  await page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await heading.waitFor();
  await page.unrouteAll();
  assert.equal(shownEarly, 0);
  assert.equal(await page.getByText("Your session ended").count(), 0);
  await page.goto(`${site}/credentials`);
  await heading.waitFor();
});

test("no page violated the content security policy or threw an error", () =>
  assert.deepEqual(faults, []));
