// Starts Chromium for e2e tests and serves pages from other origins. Contains the checks that every
// page must pass.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import chromiumBinary from "@sparticuz/chromium";
import type { AxeResults } from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { isLong } from "../../scripts/long.ts";
import { findNewerThanPages } from "../../scripts/pages.ts";

const cache = resolve(import.meta.dirname, "../../node_modules/.cache");
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
);

const launchesMax = 3;

/**
 * Launches Chromium. Repeats and logs a failed launch, because Chromium sometimes crashes at
 * startup on busy machines.
 * @throws if the pages that the service serves are older than their sources
 */
export async function launchBrowser(): Promise<Browser> {
  assert.deepEqual(findNewerThanPages(), [], "newer than web/dist: npm run build -w web");
  const executablePath = await unpackBrowser();
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  for (let launches = 1; ; launches++) {
    try {
      return await chromium.launch({ executablePath, args });
    } catch (error) {
      if (launches === launchesMax) throw error;
      const [reason] = /signal=\w+|exitCode=\d+/.exec(`${error}`) ?? [`${error}`.slice(0, 200)];
      console.error(`Chromium did not start (${reason}): launch ${launches + 1} follows`);
    }
  }
}

/**
 * Unpacks Chromium once, and returns its path. Renames the folder when it is complete. Otherwise,
 * another test file could run an incomplete program.
 */
async function unpackBrowser(): Promise<string> {
  const folder = join(cache, "chromium");
  const program = join(folder, "chromium");
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const { TMPDIR } = process.env;
  // The folder in which the package unpacks Chromium.
  process.env.TMPDIR = mkdtempSync(`${folder}-`);
  const unpacked = dirname(await chromiumBinary.executablePath());
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  try {
    renameSync(unpacked, folder);
  } catch (error) {
    rmSync(unpacked, { recursive: true });
    // The rename fails if another process was faster.
    if (!existsSync(program)) throw error;
  }
  return program;
}

/** Serves an empty page with its own origin at `http://localhost:PORT`. */
export async function serveBlankPage(): Promise<{ origin: string; close: () => void }> {
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "text/html").end("<!doctype html><title>shop</title>");
  });
  await new Promise<void>((listening) => server.listen(0, "localhost", listening));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://localhost:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Collects every message on the page's console, including policy violations. */
export function listenForFaults(page: Page): string[] {
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // A failed request is not an error here, because the page explains it to the user.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) faults.push(message.text());
  });
  return faults;
}

/** Opens `url`, and waits until the page shows its heading and no placeholder. */
export async function openPage(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await untilShown(page);
}

/** Navigates to another dashboard page without a reload, as a link does. */
export async function followPath(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
  await untilDrawn(page);
  await untilShown(page);
}

async function untilShown(page: Page): Promise<void> {
  await page.locator("main h1:visible").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}

/** Waits for the next frame, in which the page adapts to a new width. */
export const untilDrawn = (page: Page): Promise<unknown> =>
  page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))");

/** Axe's default rules, and its rule for the size of buttons and links. */
const allRules = '{ rules: { "target-size": { enabled: true } } }';
/** Axe's color rules. The dark page differs from the light page only in its colors. */
const rulesOfColour =
  '{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }';

/**
 * Runs {@link assertSound} on the page in the light color scheme at 1280 px. Then checks its colors
 * and its width in the dark color scheme at 360 px, and restores the page. `npm run test:long` also
 * checks both color schemes at both widths. The page must use reduced motion, because color
 * transitions can lower the contrast of text.
 */
export async function assertSoundInAll(page: Page, name: string): Promise<void> {
  const before = page.viewportSize()!;
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    if (isLong || width === 1280) {
      await page.emulateMedia({ colorScheme: "light" });
      await assertSound(page, `${name}, light, ${width} px`);
    }
    if (isLong || width === 360) {
      await page.emulateMedia({ colorScheme: "dark" });
      await assertRules(page, `${name}, dark, ${width} px`, rulesOfColour);
      await assertFits(page, `${name}, dark, ${width} px`);
    }
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
}

/** Checks that axe reports no violation and that the page does not scroll horizontally. */
export async function assertSound(page: Page, name: string): Promise<void> {
  await assertRules(page, name, allRules);
  await assertFits(page, name);
  const viewport = page.viewportSize();
  if (viewport?.width !== 1280) return;
  // A width between a phone and a desktop.
  await page.setViewportSize({ ...viewport, width: 768 });
  await assertFits(page, `${name} at 768 px`);
  await page.setViewportSize(viewport);
}

async function assertRules(page: Page, name: string, rules: string): Promise<void> {
  await untilDrawn(page);
  if (!(await page.evaluate("Boolean(window.axe)"))) await page.evaluate(`${axeSource};0`);
  // Copies only the violations, because copying the whole result takes as long as the check.
  const violations: AxeResults["violations"] = await page.evaluate(
    `axe.run(document, { resultTypes: ["violations"], ...${rules} }).then((of) => of.violations)`,
  );
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`,
  );
  assert.deepEqual(found, [], name);
}

async function assertFits(page: Page, name: string): Promise<void> {
  const overflow = await page.evaluate(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  assert.equal(overflow, 0, `${name} scrolls sideways by ${overflow} px`);
}
