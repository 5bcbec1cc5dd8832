import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { isLong, onlyLong } from "../../../../scripts/long.ts";
import { reportHistories } from "./histories.ts";
import type { HistoryRequest } from "./histories-worker.ts";
import { simulate } from "./simulate.ts";

/**
 * `npm test` runs one seed of each kind. `npm run test:long` runs 1,000 seeds with wrong answers
 * and 200 seeds of every other kind. `npm run test:long` also runs seeds that failed before.
 * SEEDS=m runs m consecutive seeds of each kind. The first seed is the value of SEED, or 1 by
 * default. SEED=n without SEEDS runs one seed. A simulation takes a third of a second. A simulation
 * with wrong answers is compared with up to twelve simulations with correct answers.
 */
const { SEED, SEEDS } = process.env;
const first = Number(SEED ?? 1);
const seedsOf = (short: number, long: number) => {
  const count = Number(SEEDS ?? (SEED ? 1 : isLong ? long : short));
  return Array.from({ length: count }, (_, index) => first + index);
};
const seeds = seedsOf(1, 200);
const liars = seedsOf(1, 1000);

/**
 * The number of seeds per test. The runner prints a line after each test, which shows the progress.
 */
const together = 50;
const partsOf = (some: number[]) =>
  Array.from({ length: Math.ceil(some.length / together) }, (_, index) =>
    some.slice(index * together, (index + 1) * together),
  );
const nameOf = (some: number[]) => `seeds ${some[0]} to ${some.at(-1)}`;

/** @param options the options of {@link simulate} */
const histories = (
  some: number[],
  options: HistoryRequest["options"] = {},
  kind: HistoryRequest["kind"] = "real",
) => reportHistories(some.map((seed) => ({ seed, kind, options })));
const faultsOf = (reports: Awaited<ReturnType<typeof histories>>) =>
  reports.flatMap(({ seed, faults }) => faults.map((fault) => `seed ${seed}: ${fault}`));

describe("simulated executors handle each payment exactly once, and report no false event", () => {
  for (const [seed, what] of [
    [847, "money was returned twice after the only endpoint lost blocks that had been read"],
    [6260, "gas stayed charged after a reorganization above the newest stored block"],
  ] as const) {
    test(`with seed ${seed} (earlier bug: ${what})`, onlyLong, async () => {
      assert.deepEqual(faultsOf(await histories([seed])), []);
    });
  }

  for (const some of partsOf(seeds)) {
    test(nameOf(some), async (t) => {
      const reports = await histories(some);
      const counts: Record<string, number> = {};
      for (const [kind, count] of reports.flatMap((each) => Object.entries(each.counts))) {
        counts[kind] = (counts[kind] ?? 0) + count;
      }
      t.diagnostic(JSON.stringify(counts));
      assert.deepEqual(faultsOf(reports), []);
    });
  }
});

describe("simulated executors with tips and two unreliable keys handle each payment once", () => {
  for (const some of partsOf(seeds)) {
    test(nameOf(some), async () => {
      const reports = await histories(some, { keys: 2, isTipped: true });
      assert.deepEqual(faultsOf(reports), []);
      const failed = reports.reduce((sum, { counts }) => sum + (counts.signer_failed ?? 0), 0);
      assert.ok(failed > 0, "no key refused");
    });
  }
});

/**
 * Money may wait for at most this number of blocks, which take about four minutes. In one of 1,000
 * simulations, money waited for 16 blocks. In all others, money waited for at most 8 blocks.
 */
const blocksMax = 20;

describe(`hostile intents delay payments by at most ${blocksMax} blocks after faults end`, () => {
  for (const [seed, what] of [
    [143, "one false hash below the head was believed for 51 blocks"],
    [94, "an execution that reverted after its expiry delayed the recovery for 21 blocks"],
  ] as const) {
    test(`with seed ${seed} (earlier bug: ${what})`, onlyLong, async () => {
      const [reports] = await histories([seed], { hostile: 12 });
      assert.ok(reports!.waitBlocksMax <= blocksMax, `${reports!.waitBlocksMax} blocks`);
    });
  }

  for (const some of partsOf(seeds)) {
    test(nameOf(some), async (t) => {
      const reports = await histories(some, { hostile: 12 });
      t.diagnostic(`at most ${Math.max(...reports.map((each) => each.waitBlocksMax))} blocks`);
      const stalled = reports.filter((each) => each.waitBlocksMax > blocksMax);
      const waits = stalled.map((each) => `seed ${each.seed}: ${each.waitBlocksMax} blocks`);
      assert.deepEqual([...waits, ...faultsOf(reports)], []);
    });
  }
});

/**
 * The maximum number of blocks that late money may wait. Five minutes have 25 blocks on average, at
 * intervals from 6 to 18 s. In a run of 200 seeds, the longest wait was 27 blocks.
 */
const lateBlocksMax = 40;

describe("late money on a sleeping chain is returned within five minutes after faults end", () => {
  const unnoticed =
    "seed 138, which failed before: a sleeping executor missed a deep reorg, and money waited";
  test(unnoticed, onlyLong, async () => {
    const [reports] = await histories([138], { isOver: true });
    assert.ok(reports!.waitBlocksMax <= lateBlocksMax, `${reports!.waitBlocksMax} blocks`);
  });

  for (const some of partsOf(seeds)) {
    test(nameOf(some), async (t) => {
      const reports = await histories(some, { isOver: true });
      t.diagnostic(`at most ${Math.max(...reports.map((each) => each.waitBlocksMax))} blocks`);
      const awake = reports.filter((each) => each.silentSecondsMax < 250);
      const late = reports.filter((each) => each.waitBlocksMax > lateBlocksMax);
      assert.deepEqual(faultsOf(reports), []);
      assert.deepEqual([awake, late], [[], []]);
    });
  }
});

describe("one wrong endpoint causes no loss, and delays payments by at most two blocks", () => {
  for (const [seed, what] of [
    [1066, "an estimate that was not a number ended each pass"],
    [6251, "two tokens that arrived one after the other were counted as one long wait"],
    [6221, "an intent that expired between two reads was counted as a delay"],
    [6253, "the time before a record existed was counted as a delay"],
    [858, "an endpoint without receipts blocked a nonce that another sender used"],
    [129, "logs refused by one endpoint made each block a gap, and payments waited"],
    [192, "a false balance made the executor use a key without funds"],
    [547, "the logs of 11 to 20 blocks were read more slowly than new blocks arrived"],
    [325, "one different trace caused gas to be split by the estimates"],
  ] as const) {
    test(`with seed ${seed} (earlier bug: ${what})`, onlyLong, async () => {
      assert.deepEqual(faultsOf(await histories([seed], {}, "lie")), []);
    });
  }

  for (const some of partsOf(liars)) {
    test(nameOf(some), async (t) => {
      const reports = await histories(some, {}, "lie");
      t.diagnostic(`at most ${Math.max(...reports.map((each) => each.waitBlocksMax))} blocks more`);
      assert.deepEqual(faultsOf(reports), []);
    });
  }
});

test("two simulations with the same seed have the same events", onlyLong, async () => {
  const [a, b] = [await simulate(3), await simulate(3)];
  assert.deepEqual(a.events, b.events);
  assert.ok(a.events.length > 100);
});

describe("the simulator detects the faults of", onlyLong, () => {
  const few = seeds.slice(0, 50);
  const most = (t: TestContext, bad: number, what: string) => {
    t.diagnostic(`${bad} of ${few.length} seeds ${what}`);
    assert.ok(bad > few.length / 2, `only ${bad} of ${few.length} seeds ${what}`);
  };

  test("an executor that does not isolate failing intents", async (t) => {
    const reports = await histories(few, { hostile: 12, isolates: false });
    most(t, reports.filter((each) => each.waitBlocksMax > blocksMax).length, "stall");
  });

  test("an executor that does not read balances", async (t) => {
    const reports = await histories(few, { recordsPerPass: 0 });
    const isMissing = (each: { faults: string[] }) => each.faults.some((f) => /^missing/.test(f));
    const missing = reports.filter(isMissing).length;
    t.diagnostic(`${missing} of ${few.length} seeds miss some`);
    assert.ok(missing >= few.length / 3, `only ${missing} of ${few.length} seeds miss some`);
  });

  test("an executor that trusts the answers of a single endpoint", async (t) => {
    const reports = await histories(few, {}, "believing");
    most(t, reports.filter((each) => each.faults.length > 0).length, "fail");
  });

  test("an executor that uses one endpoint and keeps its state in memory", async (t) => {
    const reports = await histories(few, {}, "naive");
    most(t, reports.filter((each) => each.faults.length > 0).length, "fail");
  });
});
