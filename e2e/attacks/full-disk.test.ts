// A disk that somebody, or a log, filled: what was acknowledged is kept, and when there is room
// again creates are acknowledged again, without a restart.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";

const open = resolve(import.meta.dirname, "../../service/store/open.ts");
const canMount =
  spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status === 0;

const script = `
  import { randomBytes } from "node:crypto";
  import { rmSync, writeFileSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { openStore } from ${JSON.stringify(open)};
  const [, dataDirectory] = process.argv;
  const store = await openStore({ dataDirectory });
  const kept = [];
  const save = async () => {
    const row = { address: randomBytes(20), terms: randomBytes(4000) };
    await store.saveRecord({ ...row, accountId: "acc", createdAtMs: 1 });
    kept.push(row.address);
  };
  const told = { failed: "", whileFull: 0, after: "" };
  writeFileSync(dataDirectory + "/ballast", randomBytes(5 * 2 ** 20));
  while (!told.failed) await save().catch((error) => (told.failed = error.message));
  // Checkpoints meet the full disk meanwhile.
  for (let i = 0; i < 8; i++) {
    await sleep(250);
    await save().catch(() => told.whileFull++);
  }
  rmSync(dataDirectory + "/ballast");
  const deadline = Date.now() + 10_000;
  while (told.after !== "saved" && Date.now() < deadline) {
    told.after = await save().then(() => "saved", (error) => error.message);
    await sleep(50);
  }
  told.lost = 0;
  for (const address of kept) if (!(await store.findTerms(address))) told.lost++;
  told.kept = kept.length;
  await store.check().catch((error) => (told.after = error.message));
  console.log(JSON.stringify(told));
  await store.close();`;

test("a full disk refuses creates while it is full, and no longer; nothing is lost", {
  skip: canMount ? false : "no file system of a size of its own can be mounted here",
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), "full-disk-"));
  const mounted =
    'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$1" --input-type=module -e "$2" "$0"';
  const args = ["-rm", "sh", "-c", mounted, directory, process.execPath, script];
  const child = spawn("unshare", args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) lines.push(line);
  rmSync(directory, { recursive: true });
  const told = JSON.parse(lines.at(-1) ?? "{}");
  assert.match(told.failed, /not committed: SQLITE_/);
  assert.deepEqual([told.after, told.lost], ["saved", 0], JSON.stringify(told));
  assert.ok(told.kept > 100 && told.whileFull > 0, JSON.stringify(told));
});
