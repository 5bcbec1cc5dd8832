// Tests that the search finds the salt that is stored in the repository.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { isLong } from "../../scripts/long.ts";
import { create2Address } from "../deploy.ts";
import { factoryAddress, factoryCreationCode, factorySalt } from "../index.ts";
import { newSearch, saltOf } from "./mine.ts";

const count = Number(factorySalt);

const program = new URL("./mine.ts", import.meta.url).pathname;

describe("the search for the factory's salt", () => {
  test("the program refuses a `--from` that is not a nonnegative integer", () => {
    for (const from of ["-1", "1.5", "near"]) {
      const { stderr } = spawnSync(process.execPath, [program, `--from=${from}`], {
        encoding: "utf8",
      });
      assert.match(
        stderr,
        new RegExp(`Error: --from: expected an integer of 0 or more, found ${from}\\n`),
      );
    }
  });

  test("the factory's address begins with four zero bytes", () => {
    assert.match(factoryAddress, /^0x00000000/);
    assert.equal(create2Address(factoryCreationCode, factorySalt), factoryAddress);
    assert.equal(saltOf(count), factorySalt);
  });

  test("a search of neighboring salts finds only the factory's salt", async () => {
    const search = await newSearch(factoryCreationCode);
    const near = isLong ? 20_000 : 5_000;
    assert.equal(search(count - near, count + near), count);
    assert.equal(search(count - near, count), undefined);
    assert.equal(search(count + 1, count + near), undefined);
  });

  test("the program prints the salt if the search starts 1,000 numbers below the salt", {
    skip: isLong ? false : "it compiles the contracts first: npm run test:long",
  }, () => {
    const args = [program, "--from", String(count - 1_000)];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.match(
      stdout,
      new RegExp(`salt ${factorySalt}: the factory is at ${factoryAddress}`),
      stderr,
    );
    assert.match(stdout, /\d+ a second/);
  });
});
