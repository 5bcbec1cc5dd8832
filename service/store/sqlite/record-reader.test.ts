import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import Database from "better-sqlite3";
import { recordReader } from "../sqlite.ts";

test("a failed lookup of a record throws `UnavailableError` with SQLite's error", async () => {
  const directory = mkdtempSync(join(tmpdir(), "reader-"));
  const file = join(directory, "service.db");
  const database = new Database(file);
  database.exec("create table records (address blob primary key, terms blob)");
  const reader = recordReader(file);
  const address = new Uint8Array(20);
  assert.equal(await reader.find(address), undefined);
  database.exec("drop table records");
  await assert.rejects(reader.find(address), {
    name: "UnavailableError",
    message: "not read: SQLITE_ERROR: no such table: records",
  });
  await reader.stop();
  database.close();
  rmSync(directory, { recursive: true });
});
