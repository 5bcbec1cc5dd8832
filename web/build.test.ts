// Tests the built pages: script sizes, the origins of assets, and the absence of inline code.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

const dist = mkdtempSync(join(tmpdir(), "web-build-"));
const textOf = (path: string) => readFileSync(join(dist, path), "utf8");

/** Returns the scripts that a page loads at first: its own scripts and their imports. */
function scriptsOf(page: string): string[] {
  const found = new Set<string>();
  const visit = (path: string) => {
    if (found.has(path)) return;
    found.add(path);
    for (const [, name] of textOf(path).matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)) {
      visit(`assets/${name}`);
    }
  };
  for (const [, path] of textOf(page).matchAll(/src="\/(assets\/[^"]+\.js)"/g)) visit(path!);
  return [...found];
}

const gzipBytes = (paths: readonly string[]) =>
  paths.reduce((sum, path) => sum + gzipSync(readFileSync(join(dist, path))).length, 0);

describe("the web build", () => {
  before(() => {
    execFileSync(process.execPath, [join(import.meta.dirname, "build.ts"), dist]);
  });
  after(() => rmSync(dist, { recursive: true }));

  test("the pages stay within their size limits", () => {
    const found = {
      dashboard: gzipBytes(scriptsOf("index.html")),
      page: gzipBytes(scriptsOf("pay.html")),
      receipt: gzipBytes(["receipt.js"]),
    };
    assert.ok(found.dashboard < 85_000 && found.page < 67_000, JSON.stringify(found));
    for (const [name, bytes] of Object.entries(pinned))
      assert.ok(Math.abs(found[name as keyof typeof found] - bytes) <= 300, JSON.stringify(found));
  });

  test("the payment page loads no dashboard code", () => {
    for (const path of scriptsOf("pay.html"))
      assert.doesNotMatch(textOf(path), /\/dashboard\/api/, path);
  });

  test("the script of saved receipts has no imports", () => {
    assert.doesNotMatch(textOf("receipt.js"), /\bimport\b|\beval\(|new Function\(/);
  });

  test("the pages have no inline code and load nothing from other origins", () => {
    for (const page of ["index.html", "pay.html", "receipt.html"]) {
      const html = textOf(page);
      assert.doesNotMatch(html, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/, page);
      for (const [, url] of html.matchAll(/(?:src|href)="([^"]+)"/g)) assert.match(url!, /^\//);
    }
    for (const name of readdirSync(join(dist, "assets"))) {
      const text = textOf(`assets/${name}`);
      if (name.endsWith(".js")) assert.doesNotMatch(text, /\beval\(|new Function\(/, name);
      if (name.endsWith(".css")) assert.doesNotMatch(text, /@import|url\((?!['"]?#)/, name);
    }
  });

  test("the build contains files for crawlers", () => {
    assert.match(textOf("robots.txt"), /^Disallow: \/a\/$/m);
    assert.match(textOf("llms.txt"), /POST \/v1\/address\/create/);
    assert.equal(readFileSync(join(dist, "favicon.ico")).readUInt16LE(2), 1, "an icon");
  });

  test("every script and style sheet has a hash in its name", () => {
    for (const name of readdirSync(join(dist, "assets"))) {
      assert.match(name, /-[\w-]{8}\.(js|css)$/);
    }
  });
});

/**
 * The gzipped size of each page's scripts in bytes. The test accepts a difference of up to 300
 * bytes.
 */
const pinned = { dashboard: 75_400, page: 66_630, receipt: 42_400 };
