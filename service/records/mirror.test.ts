// Tests the import of a mirror's records. e2e/from-mirror.test.ts tests an executor with mirrors.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type AddressRecord, fromHex, type Intent, makeRecord } from "executable-address";
import { openStore } from "../roles/open-store.ts";
import { newIntent } from "../testing/app.ts";
import { followMirrors } from "./mirror.ts";

const newRecord = () => makeRecord(newIntent() as Intent);

test("reads a shorter list from the start, even without a Content-Length", async (t) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), "mirror-"));
  const store = await openStore({ dataDirectory });
  let records = [newRecord(), newRecord()];
  const server = createServer((_, response) => {
    // A response that is written in parts has no Content-Length.
    for (const each of records) response.write(`${JSON.stringify(each)}\n`);
    response.end();
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const faults: string[] = [];
  const following = followMirrors([`http://127.0.0.1:${port}/v1`], {
    ...{ store, dataDirectory, isWanted: () => true },
    onFault: (_, fault) => faults.push(fault),
  });
  t.after(async () => {
    await following.stop();
    server.close();
    server.closeAllConnections();
    await store.close();
    rmSync(dataDirectory, { recursive: true });
  });
  const isSaved = async ({ address }: AddressRecord) =>
    (await store.findRecord(fromHex(address))) !== undefined;
  const saved = async (record: AddressRecord) => {
    for (let polls = 0; polls < 200 && !(await isSaved(record)); polls++) await sleep(50);
    assert.ok(await isSaved(record));
  };
  for (const record of records) await saved(record);
  const replacement = newRecord();
  records = [replacement];
  await saved(replacement);
  assert.deepEqual(faults, []);
});
