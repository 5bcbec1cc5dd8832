// Tests that the same command continues a launch after its process was killed. `npm test` kills the
// process while it sends two of the transactions. `npm run test:long` kills the process before and
// after it sends each transaction, and at other steps.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { pathToFileURL } from "node:url";
import Database from "better-sqlite3";
import { makeRecord } from "executable-address";
import { onlyLong } from "../../scripts/long.ts";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import { countSent, journalOf, runLaunch } from "../testing/launch/run.ts";

const gone = { error: { code: -32000, message: "the process is gone" } };
const admin = resolve(import.meta.dirname, "../admin.ts");

async function startChain(t: TestContext): Promise<BareChain> {
  const chain = await startBareChain();
  t.after(chain.stop);
  return chain;
}

function start({ env, keyFile }: BareChain, more: Record<string, string> = {}): ChildProcess {
  const args = ["launch", "--chain", "base-sepolia", "--key-file", keyFile];
  return spawn(process.execPath, [admin, ...args], {
    env: { ...process.env, ...env, ...more },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/**
 * Starts the command, lets it send `through` transactions, and kills it while it sends the next
 * one. If `isAfter`, the node receives the next transaction, but the command does not receive the
 * response. Otherwise, the node never receives the next transaction. Returns false if the command
 * ends or waits for the payment before it sends the next transaction.
 */
async function killAtSend(chain: BareChain, isAfter: boolean, through: number): Promise<boolean> {
  const child = start(chain);
  let isKilled = false;
  let sends = 0;
  const kill = () => {
    isKilled = true;
    child.kill("SIGKILL");
  };
  chain.watch(async (call, forward) => {
    if (isKilled) return gone;
    if (call.method !== "eth_sendRawTransaction" || ++sends <= through) return forward();
    if (!isAfter) {
      kill();
      return gone;
    }
    const answer = await forward();
    kill();
    return answer;
  });
  let said = "";
  child.stderr!.on("data", (chunk) => {
    said += chunk;
    if (said.includes("Waiting for the payment")) child.kill("SIGKILL");
  });
  child.stdout!.resume();
  await once(child, "exit");
  chain.watch((_, forward) => forward());
  if (!isKilled && child.signalCode === null) assert.equal(child.exitCode, 0, said);
  return isKilled;
}

test("a launch sends no transaction twice, even if killed twice", async (t) => {
  const chain = await startChain(t);
  assert.ok(await killAtSend(chain, false, 1));
  assert.ok(await killAtSend(chain, true, 1));
  await runLaunch(chain).done;
  assert.equal(await countSent(chain), 8);
  assert.equal(journalOf(chain).sent.filter(({ mined }) => mined?.succeeded).length, 8);
});

test("a launch sends no transaction twice, even if killed at every send", onlyLong, async (t) => {
  const chain = await startChain(t);
  let kills = 0;
  let isPaid = false;
  for (let isAfter = false; ; isAfter = !isAfter) {
    const isKilled = await killAtSend(chain, isAfter, 0);
    if (isKilled) kills++;
    else if (isPaid) break;
    const { intent, saved } = journalOf(chain);
    if (!saved || isPaid) continue;
    await chain.pay(makeRecord(intent!).address);
    isPaid = true;
  }
  t.diagnostic(`killed ${kills} times`);
  assert.ok(kills >= 14, `${kills}`);
  // The eight transactions: the deployer's funding, the factory, five other contracts, and the
  // execution.
  assert.equal(await countSent(chain), 8);
  const { sent, receipt } = journalOf(chain);
  assert.equal(sent.filter(({ mined }) => mined?.succeeded).length, 8);
  assert.equal(
    JSON.parse(readFileSync(receipt!, "utf8")).record.address,
    journalOf(chain).saved!.address,
  );
});

describe("a launch that is killed", () => {
  /** Starts the command, which kills itself at the point that kill-at.ts describes. */
  async function killAt(chain: BareChain, point: string): Promise<void> {
    const { href } = pathToFileURL(resolve(import.meta.dirname, "../testing/launch/kill-at.ts"));
    const child = start(chain, { NODE_OPTIONS: `--import ${href}`, KILL_AT: point });
    let said = "";
    child.stderr!.on("data", (chunk) => {
      said += chunk;
      if (said.includes("Waiting for the payment")) child.kill("SIGTERM");
    });
    child.stdout!.resume();
    await once(child, "exit");
    assert.equal(child.signalCode, "SIGKILL", `${point}: ${said}`);
  }

  test("creates only one account and one address", onlyLong, async (t) => {
    const chain = await startChain(t);
    const file = `${chain.config.dataDirectory}/service.db`;
    const points = [
      "before rename with intent",
      "after rename with intent",
      "before insert into accounts",
      "after insert into accounts",
      "after insert into client_ids",
      "before insert into records",
      "after insert into records",
      "before rename with saved",
    ];
    const addresses = new Set<string>();
    for (const point of points) {
      await killAt(chain, point);
      const { intent } = journalOf(chain);
      if (intent) addresses.add(makeRecord(intent).address);
    }
    assert.equal(addresses.size, 1);
    await runLaunch(chain).done;
    const database = new Database(file, { readonly: true });
    const count = (table: string) =>
      database.prepare(`select count(*) from ${table}`).pluck().get();
    for (const table of ["accounts", "client_ids", "records"]) assert.equal(count(table), 1, table);
    database.close();
    assert.equal(addresses.has(journalOf(chain).saved!.address), true);
    assert.equal(await countSent(chain), 8);
  });

  test("creates the same proof if it is killed while it writes the proof", onlyLong, async (t) => {
    const chain = await startChain(t);
    await runLaunch(chain).done;
    const first = await runLaunch(chain).done;
    assert.ok("receipt" in first);
    const receipt = readFileSync(first.receipt, "utf8");
    for (const point of [
      "before write of launch-84532-receipt.json",
      "after write of launch-84532-receipt.json",
      "before rename with receipt",
      "after rename with receipt",
    ]) {
      await killAt(chain, point);
      assert.deepEqual(await runLaunch(chain).done, first, point);
      assert.equal(readFileSync(first.receipt, "utf8"), receipt, point);
    }
    assert.equal(await countSent(chain), 8);
  });
});
