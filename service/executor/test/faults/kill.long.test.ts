import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { AddressRecord } from "executable-address";
import { rounds } from "../../../../scripts/long.ts";
import {
  fatesOf,
  saveRecords,
  tipPrices,
  tipper,
  unit,
  until,
} from "../../../testing/executor/anvil-world.ts";
import {
  assertBooksAreExact,
  isAtRest,
  prepare,
  startCore,
  twoKeys,
} from "../../../testing/executor/executor.ts";

const program = fileURLToPath(new URL("../../../testing/executor/dying.ts", import.meta.url));
const steps = [
  "before_sign",
  "before_store",
  "after_store",
  "after_broadcast",
  "before_settle",
  "after_settle",
];

const { world, store, directory, place } = await prepare({ tickMs: 100 });
const chainsFile = join(directory, "chains.json");
const chains = world.chains([world.rpcUrl], { tipPrices });
writeFileSync(chainsFile, JSON.stringify(chains));

describe("an executor that is killed with `kill -9`", () => {
  const wellMade: AddressRecord[] = [];
  const reverting: AddressRecord[] = [];

  const dieAt = async (step: string) => {
    const child = spawn(process.execPath, [program, JSON.stringify(place), chainsFile, step], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const limit = setTimeout(() => child.kill("SIGTERM"), 60_000);
    const signal = await new Promise((resolve) => child.once("exit", (_code, by) => resolve(by)));
    clearTimeout(limit);
    assert.equal(signal, "SIGKILL", `the process ended by ${signal} before it reached ${step}`);
  };

  for (const step of steps) {
    const times = rounds(1, 50);
    test(`starts again after ${times} kills at the step ${step}`, async () => {
      for (let round = 0; round < times; round++) {
        const good = await world.newRecord();
        const bad = await world.newRecord({ reverts: true, amount: unit });
        const tipped = await world.newRecord({ tip: unit });
        wellMade.push(good, tipped);
        reverting.push(bad);
        await saveRecords(store, [good, bad]);
        await saveRecords(store, [tipped], tipper);
        const made = [good, bad, tipped];
        await world.pay(made.map((r) => ({ to: r.address, amount: r.intent.amount })));
        await dieAt(step);
      }
    });
  }

  test("executes or returns every payment exactly once after its last restart", async (context) => {
    const running = startCore(store, chains, (core) => ({ ...core, signers: twoKeys }));
    context.after(running.stop);
    await until("all are executed", async () =>
      (await fatesOf(world, wellMade)).every((fate) => fate.executed === 1 && fate.held === 0n),
    );
    await world.client.increaseTime({ seconds: 90_000 });
    await until(
      "the other payments are returned",
      async () =>
        (await fatesOf(world, reverting)).every((fate) => fate.recovered > 0n && fate.held === 0n),
      120,
    );
    await until("no transaction is pending", () => isAtRest(store));
    await running.stop();
    const outcomes = await store.db.selectFrom("executor_outcomes").selectAll().execute();
    const executed = outcomes.filter((row) => row.kind === "executed");
    assert.equal(executed.length, wellMade.length);
    assert.equal(outcomes.filter((row) => row.kind === "recovered").length, reverting.length);
    await assertBooksAreExact(world, store);
  });
});
