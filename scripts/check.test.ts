// Runs the checks of `npm run check` as tests: types, code layout, and unused code. Tests run in
// parallel, so the checks use idle processors.

import assert from "node:assert/strict";
import { exec } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const env = {
  ...process.env,
  PATH: join(root, "node_modules/.bin") + delimiter + process.env.PATH,
};

describe("npm run check", () => {
  for (const command of (scripts.check as string).split(" && ")) {
    test(command, async () => {
      await promisify(exec)(command, { cwd: root, env }).catch(({ stdout, stderr }) => {
        assert.fail(`\n${stdout}${stderr}`);
      });
    });
  }
});
