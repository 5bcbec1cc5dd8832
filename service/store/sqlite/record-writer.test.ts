import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";

const directory = mkdtempSync(join(tmpdir(), "record-writer-"));
after(() => rmSync(directory, { recursive: true }));

describe("the thread that writes records", () => {
  test("does not keep a program alive", async () => {
    const program = `
      import { openStore } from "${import.meta.resolve("../../roles/open-store.ts")}";
      await openStore({ dataDirectory: ${JSON.stringify(directory)} });`;
    const run = promisify(execFile);
    const args = ["--input-type=module", "--eval", program];
    await assert.doesNotReject(run(process.execPath, args, { timeout: 20_000 }));
  });
});
