// Runs the example of README.md, and checks each word of the example in spec/terms.md.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import * as deployment from "../deployment.ts";
import { type Hex, type Intent, makeRecord } from "../index.ts";

const readme = new URL("../README.md", import.meta.url);
const terms = new URL("../../spec/terms.md", import.meta.url);
const shownAddress = /(The example prints|Its address is) `(0x[0-9a-fA-F]{40})`/;

/** Matches the places where the source contains an error code. */
const refusal =
  /(?:addFault\(\s*(?:context\.)?faults,\s*|stuck\(\s*cursor,\s*|code: |\? \[)"([a-z_]+)"/g;

/** Returns the first code block in `language` on the page. */
const block = (page: URL, language: string): string =>
  new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(readFileSync(page, "utf8"))![1]!;

/** Runs the page's JavaScript and returns its output. */
function printed(page: URL): string {
  const run = ["--input-type=module", "--eval", block(page, "js")];
  return execFileSync(process.execPath, run, {
    cwd: dirname(import.meta.dirname),
    encoding: "utf8",
  }).trim();
}

const exampleRecord = () => makeRecord(JSON.parse(block(terms, "json")) as Intent);

if (process.env.UPDATE_VECTORS) {
  const put = (page: URL, change: (text: string) => string) =>
    writeFileSync(page, change(readFileSync(page, "utf8")));
  put(terms, (text) =>
    text
      .replace(/(?<=factory = )0x\w+/, deployment.factoryAddress)
      .replace(/(?<=from: ")0x\w+/, deployment.factoryAddress)
      .replace(/(?<=PREFIX {2}= )0x\w+/, deployment.initCodePrefix)
      .replace(/(?<=concatHex\(\[")0x\w+/, deployment.initCodePrefix)
      .replace(shownAddress, `$1 \`${exampleRecord().address}\``),
  );
  put(readme, (text) => text.replace(shownAddress, `$1 \`${printed(readme)}\``));
} else {
  describe("README.md", () => {
    test("the example in README.md prints the documented address", () => {
      assert.equal(printed(readme), shownAddress.exec(readFileSync(readme, "utf8"))?.[2]);
    });
  });

  describe("spec/terms.md", () => {
    const text = readFileSync(terms, "utf8");
    test("the factory address and PREFIX match the library", () => {
      assert.ok(text.includes(`factory = ${deployment.factoryAddress}\n`));
      assert.ok(text.includes(`PREFIX  = ${deployment.initCodePrefix}\n`));
    });

    test("the example shows the complete terms", () => {
      const words = [...text.matchAll(/^([0-9a-f]{3}) ([0-9a-f]{64}) .+$/gm)];
      const bytes = words.map(([, at, word], index) => {
        assert.equal(Number.parseInt(at!, 16), 32 * index);
        return word;
      });
      assert.equal(`0x${bytes.join("")}`, exampleRecord().terms);
    });

    test("the table contains every error code of the library", () => {
      const room = dirname(import.meta.dirname);
      const names = readdirSync(room, { recursive: true, encoding: "utf8" });
      const others = /^(dist|test|client|cli|status)\b|\.(bench|test)\.ts$/;
      const codes = names
        .filter((name) => name.endsWith(".ts") && !others.test(name))
        .map((name) => readFileSync(join(room, name), "utf8"))
        .flatMap((code) => [...code.matchAll(refusal)]);
      assert.ok(codes.length > 40);
      for (const [, code] of codes) assert.ok(text.includes(`\`${code}\``), code);
    });

    test("the example with viem computes the same address as the library", () => {
      const shown: { terms: Hex; address: Hex } = JSON.parse(printed(terms));
      const { terms: wanted, address } = exampleRecord();
      assert.deepEqual(shown, { terms: wanted, address });
      assert.equal(address, shownAddress.exec(text)?.[2]);
    });
  });
}
