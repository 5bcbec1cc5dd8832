// A real Chromium for e2e tests, small pages of other origins, and the checks every page must pass.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { dirname, join, resolve } from "node:path";
import chromiumBinary from "@sparticuz/chromium";
import type { AxeResults } from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { findNewerThanPages } from "../../scripts/pages.ts";

const cache = resolve(import.meta.dirname, "../../node_modules/.cache");
/** In ASCII alone, which reaches a page and is compiled there in half the processor time. */
const axeSource = readFileSync(
  createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
  "utf8",
).replace(/[^\0-\x7f]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

const launchesMax = 3;

/**
 * Launches Chromium. On busy machines it sometimes ends by a signal before it is up, so a launch
 * that fails is tried again, with a line in the output.
 *
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
 * Whole or not at all: test files start at the same time, and what one has begun to write is no
 * program yet for the others.
 */
async function unpackBrowser(): Promise<string> {
  const folder = join(cache, "chromium");
  const program = join(folder, "chromium");
  if (existsSync(program)) return program;
  mkdirSync(cache, { recursive: true });
  const { TMPDIR } = process.env;
  // Where the package unpacks to.
  process.env.TMPDIR = mkdtempSync(`${folder}-`);
  const unpacked = dirname(await chromiumBinary.executablePath());
  if (TMPDIR === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = TMPDIR;
  try {
    renameSync(unpacked, folder);
  } catch (error) {
    rmSync(unpacked, { recursive: true });
    // Another was first.
    if (!existsSync(program)) throw error;
  }
  return program;
}

/** A page with nothing on it at `http://localhost:PORT`, an origin of its own. */
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

/** Everything the page's console and the policy complained of, while the test runs. */
export function listenForFaults(page: Page): string[] {
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("console", (message) => {
    // A refusal the page then explains is an error to the console, not to us.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isAnswer) faults.push(message.text());
  });
  return faults;
}

/** Waits until `path` shows what it loaded, its heading first. */
export async function openPage(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await untilShown(page);
}

/** Does the same for `path` of a dashboard that is open, without a load, as a link there does. */
export async function followPath(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, "", ${JSON.stringify(path)})`);
  await untilDrawn(page);
  await untilShown(page);
}

async function untilShown(page: Page): Promise<void> {
  await page.locator("main h1:visible").waitFor();
  await page.locator(".skeleton").first().waitFor({ state: "detached" });
}

/** A page takes the width it was given when it is next drawn. */
export const untilDrawn = (page: Page): Promise<unknown> =>
  page.evaluate("new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))");

/** The size of what is pressed is no part of what axe asks by itself. */
const allRules = '{ rules: { "target-size": { enabled: true } } }';
/** In the dark a page differs by its colours alone. */
const rulesOfColour =
  '{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } }';

/**
 * Does {@link assertSound} in both lights and both widths, after which the page is as it was. It
 * has to reduce motion: colours in the middle of a transition have no contrast to speak of.
 */
export async function assertSoundInAll(page: Page, name: string): Promise<void> {
  const before = page.viewportSize()!;
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    await assertSound(page, `${name}, light, ${width} px`);
    await page.emulateMedia({ colorScheme: "dark" });
    await assertRules(page, `${name}, dark, ${width} px`, rulesOfColour);
  }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
}

/** No finding of axe, and nothing that makes the page scroll sideways. */
export async function assertSound(page: Page, name: string): Promise<void> {
  await assertRules(page, name, allRules);
  await assertFits(page, name);
  const viewport = page.viewportSize();
  if (viewport?.width !== 1280) return;
  // Between a phone's width and a screen's.
  await page.setViewportSize({ ...viewport, width: 768 });
  await assertFits(page, `${name} at 768 px`);
  await page.setViewportSize(viewport);
}

async function assertRules(page: Page, name: string, rules: string): Promise<void> {
  await untilDrawn(page);
  if (!(await page.evaluate("Boolean(window.axe)"))) await page.evaluate(`${axeSource};0`);
  // The whole answer takes as much processor time to pass on as the check itself.
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
