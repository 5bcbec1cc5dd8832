import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { simulate, simulateNaively } from "./simulate.ts";
import { faultsOf } from "./verdict.ts";

/** SEEDS=1000 for the long form; SEED=n repeats one history. A seed takes a third of a second. */
const count = Number(process.env.SEEDS ?? 40);
const first = Number(process.env.SEED ?? 1);
const seeds = Array.from({ length: process.env.SEED ? 1 : count }, (_, index) => first + index);

describe("the core, in simulated worlds", () => {
  test(`${seeds.length} seeds: nothing missing, nothing twice, nothing falsely done`, async (t) => {
    const bad: string[] = [];
    const counts = new Map<string, number>();
    for (const seed of seeds) {
      const { verdict, events } = await simulate(seed);
      for (const { event } of events) counts.set(event.kind, (counts.get(event.kind) ?? 0) + 1);
      bad.push(...faultsOf(verdict).map((fault) => `seed ${seed}: ${fault}`));
    }
    t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
    assert.deepEqual(bad, []);
  });

  /** Four minutes; the seeds tried took 3 blocks at most. */
  const blocksMax = 20;

  test(`with hostile intents, ${blocksMax} blocks after faults end no money waits`, async (t) => {
    const stalled: string[] = [];
    let longest = 0;
    for (const seed of process.env.SEEDS ? seeds : seeds.slice(0, 10)) {
      const { verdict, waitBlocksMax } = await simulate(seed, { hostile: 12 });
      longest = Math.max(longest, waitBlocksMax);
      if (waitBlocksMax > blocksMax) stalled.push(`seed ${seed}: ${waitBlocksMax} blocks`);
      stalled.push(...faultsOf(verdict).map((fault) => `seed ${seed}: ${fault}`));
    }
    t.diagnostic(`at most ${longest} blocks`);
    assert.deepEqual(stalled, []);
  });

  test("control: without isolation it stalls in most of them", async (t) => {
    const some = seeds.slice(0, 10);
    let stalled = 0;
    for (const seed of some) {
      const { waitBlocksMax } = await simulate(seed, { hostile: 12, isolates: false });
      if (waitBlocksMax > blocksMax) stalled++;
    }
    t.diagnostic(`${stalled} of ${some.length} seeds stall`);
    assert.ok(stalled > some.length / 2, `only ${stalled} of ${some.length} seeds stall`);
  });

  test("the same seed gives the same history", async () => {
    const [a, b] = [await simulate(3), await simulate(3)];
    assert.deepEqual(a.events, b.events);
    assert.ok(a.events.length > 100);
  });

  test("without looks, what was paid before its record is missing in most of them", async (t) => {
    const some = seeds.slice(0, 10);
    let failed = 0;
    for (const seed of some) {
      const { verdict } = await simulate(seed, { looksPerPass: 0 });
      if (verdict.missing.length > 0) failed++;
    }
    t.diagnostic(`${failed} of ${some.length} seeds fail`);
    assert.ok(failed > some.length / 2, `only ${failed} of ${some.length} seeds fail`);
  });

  test("the naive control loses money or works twice in most of them", async (t) => {
    let failed = 0;
    for (const seed of seeds) {
      const { missing, duplicate } = await simulateNaively(seed);
      if (missing.length + duplicate.length > 0) failed++;
    }
    t.diagnostic(`${failed} of ${seeds.length} seeds fail`);
    assert.ok(failed > seeds.length / 2, `only ${failed} of ${seeds.length} seeds fail`);
  });
});
