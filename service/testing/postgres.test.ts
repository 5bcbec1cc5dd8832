// Tests that PostgreSQL starts even if only the owner can read the project's folder. Also tests
// that errors explain a failed start.

import assert from "node:assert/strict";
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { Client } from "pg";
import { findPrograms, startPostgres } from "./postgres.ts";

const home = mkdtempSync(join(tmpdir(), "home-"));
after(() => rmSync(home, { recursive: true }));
const programs = join(home, "native");
chmodSync(home, 0o700);
cpSync(findPrograms(), programs, { recursive: true, verbatimSymlinks: true });

describe("startPostgres", () => {
  test("throws an error that names a missing program", async () => {
    await assert.rejects(startPostgres({}, join(home, "none")), /ENOENT|no such file/i);
  });

  test("throws with the server's message if the server does not start", async () => {
    await assert.rejects(
      startPostgres({ shared_buffers: "nonsense" }, programs),
      /PostgreSQL ended: .*shared_buffers/s,
    );
  });

  test("throws an error that names a program that cannot run", async () => {
    const damaged = join(home, "damaged");
    cpSync(programs, damaged, { recursive: true, verbatimSymlinks: true });
    rmSync(join(damaged, "bin/postgres"));
    writeFileSync(join(damaged, "bin/postgres"), "not a program");
    await assert.rejects(startPostgres({}, damaged), /postgres (EACCES|ENOEXEC)/);
  });

  test("stores the data in a folder that only its owner can enter", async () => {
    process.chdir(home);
    const postgres = await startPostgres({}, programs);
    try {
      const client = new Client(postgres.url);
      await client.connect();
      assert.deepEqual((await client.query("select 1 as one")).rows, [{ one: 1 }]);
      await client.end();
    } finally {
      await postgres.stop();
    }
    assert.equal(await postgres.isRunning(), false);
  });
});
