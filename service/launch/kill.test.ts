// Tests a launch whose process is killed at each step and restarted with the same command. npm test
// kills it once before a send and after each send; npm run test:long before and after each.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { makeRecord } from "executable-address";
import { type BareChain, startBareChain } from "../testing/launch/bare-chain.ts";
import type { LaunchState } from "./journal.ts";

const isLong = process.env.TESTS === "long";
const gone = { error: { code: -32000, message: "the process is gone" } };
const admin = resolve(import.meta.dirname, "../admin.ts");

function start({ env, keyFile }: BareChain): ChildProcess {
  const args = ["launch", "--chain", "base-sepolia", "--key-file", keyFile];
  return spawn(process.execPath, [admin, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/**
 * Starts the command, and kills it at its first send: before the node sees the transaction, or
 * after that and before the answer arrives. Returns false if the command ended without a send.
 */
async function killAtSend(chain: BareChain, isAfter: boolean): Promise<boolean> {
  const child = start(chain);
  let isKilled = false;
  const kill = () => {
    isKilled = true;
    child.kill("SIGKILL");
  };
  chain.watch(async (call, forward) => {
    if (isKilled) return gone;
    if (call.method !== "eth_sendRawTransaction") return forward();
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
  });
  child.stdout!.resume();
  await once(child, "exit");
  if (!isKilled) assert.equal(child.exitCode, 0, said);
  return isKilled;
}

const journalOf = ({ config }: BareChain): LaunchState | undefined => {
  const file = join(config.dataDirectory, "launch-84532.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
};

test("sends nothing twice if it is killed before and after each send", async (t) => {
  const chain = await startBareChain();
  t.after(chain.stop);
  let isPaid = false;
  let kills = 0;
  for (let isAfter = false; ; isAfter = !isLong || !isAfter) {
    const { sent = [], intent, saved } = journalOf(chain) ?? {};
    // Everything except the execution was sent: the next run creates the address and waits for its
    // payment.
    const waits = sent.length === 7 && !isPaid;
    if (waits && !saved) await killWhenWaiting(chain);
    else if (waits && intent) {
      await chain.pay(makeRecord(intent).address);
      isPaid = true;
    } else if (await killAtSend(chain, isAfter)) kills++;
    else break;
  }
  t.diagnostic(`killed ${kills} times`);
  assert.ok(kills >= (isLong ? 14 : 8), `${kills}`);
  // Deployer's funding, factory, five contracts beside it, execution.
  assert.equal(await chain.client.getTransactionCount({ address: chain.wallet }), 8);
  const { sent, receipt } = journalOf(chain)!;
  assert.equal(sent.filter(({ mined }) => mined?.succeeded).length, 8);
  assert.ok(existsSync(receipt!));
});

/** Starts the command, and kills it while it waits for the payment. */
async function killWhenWaiting(chain: BareChain): Promise<void> {
  chain.watch((_, forward) => forward());
  const child = start(chain);
  child.stdout!.resume();
  child.stderr!.on("data", (chunk) => {
    if (String(chunk).includes("Waiting for the payment")) child.kill("SIGKILL");
  });
  await once(child, "exit");
}
