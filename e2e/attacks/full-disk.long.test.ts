// Tests a full disk. The servers reject create requests and keep all acknowledged records. After
// space is freed, they accept create requests without a restart.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isLong } from "../../scripts/long.ts";
import { deployments } from "./deployments.ts";
import type { Observations } from "./fill-disk.ts";

const cycles = isLong ? 8 : 2;
const refused = "503 service_unavailable";
const program = join(import.meta.dirname, "fill-disk.ts");

/**
 * Runs a command as an unprivileged user, after the disk has been mounted. Mounting in a user
 * namespace needs root, but PostgreSQL refuses to run as root.
 */
const asNobody = "exec unshare --map-user=65534 --map-group=65534";
const mount = "mount -t tmpfs -o size=128m tmpfs";
const canMount =
  spawnSync("unshare", ["-rm", "sh", "-c", `${mount} /mnt && ${asNobody} id -un`]).status === 0;

for (const kind of deployments) {
  test(`${kind}: no acknowledged record is lost if the disk is full`, {
    skip: canMount ? false : "this system cannot mount a file system of limited size",
  }, async () => {
    const observed = await fillDiskOf(kind);
    const message = JSON.stringify(observed);
    for (const { creates, lookups, lines } of observed.cycles) {
      const { before, full, back } = creates;
      assert.ok(full[refused]! > 0, message);
      const answers = [before, full, back, lookups].flatMap((counted) => Object.keys(counted));
      for (const answer of answers) assert.ok(["200", refused].includes(answer), message);
      for (const written of lines) assert.ok(written <= 5, message);
    }
    // The database's checkpoints determine how many create requests fit on the disk.
    assert.ok(observed.kept > 10, message);
    assert.equal(observed.lost, 0, message);
    assert.ok(observed.ready.every((status) => status === 200));
  });
}

/** Runs fill-disk.ts in its own mount namespace, so no other process uses the small disk. */
async function fillDiskOf(kind: string): Promise<Observations> {
  const disk = mkdtempSync(join(tmpdir(), "full-disk-"));
  const mounted = `${mount} "$0" && TMPDIR="$0" ${asNobody} "$@"`;
  const args = ["-rm", "sh", "-c", mounted, disk, process.execPath, program, kind, String(cycles)];
  const child = spawn("unshare", args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  rmSync(disk, { recursive: true });
  return JSON.parse(text) as Observations;
}
