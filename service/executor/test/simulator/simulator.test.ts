import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { tellHistories } from "./histories.ts";
import type { HistoryRequest } from "./histories-worker.ts";
import { simulate } from "./simulate.ts";

/**
 * One seed of each kind; in `npm run test:long` 1,000 of liars, 200 of every other, and the seeds
 * that once failed.
 * SEEDS=m asks m of each, from 1 or from SEED=n on, and SEED=n alone repeats one history. A
 * history takes a third of a second, and a liar is compared with one to twelve more.
 */
const isLong = process.env.TESTS === "long";
const { SEED, SEEDS } = process.env;
const first = Number(SEED ?? 1);
const seedsOf = (short: number, long: number) => {
  const count = Number(SEEDS ?? (SEED ? 1 : isLong ? long : short));
  return Array.from({ length: count }, (_, index) => first + index);
};
const seeds = seedsOf(1, 200);
const liars = seedsOf(1, 1000);
const onlyLong = { skip: !isLong && "npm run test:long" };

/** A test tells of so many at once, so that a long run shows how far it is. */
const together = 50;
const partsOf = (some: number[]) =>
  Array.from({ length: Math.ceil(some.length / together) }, (_, index) =>
    some.slice(index * together, (index + 1) * together),
  );
const nameOf = (some: number[]) => `seeds ${some[0]} to ${some.at(-1)}`;

/** @param options as {@link simulate} takes them */
const histories = (
  some: number[],
  options: HistoryRequest["options"] = {},
  kind: HistoryRequest["kind"] = "real",
) => tellHistories(some.map((seed) => ({ seed, kind, options })));
const faultsOf = (told: Awaited<ReturnType<typeof histories>>) =>
  told.flatMap(({ seed, faults }) => faults.map((fault) => `seed ${seed}: ${fault}`));

describe("in simulated worlds nothing is missing, nothing twice, nothing falsely done", () => {
  for (const [seed, what] of [
    [847, "the only endpoint went back behind what was swept: money was returned a second time"],
    [6260, "a deep reorg took back what was settled above the newest anchor: gas stayed booked"],
  ] as const) {
    test(`seed ${seed}, once: ${what}`, onlyLong, async () => {
      assert.deepEqual(faultsOf(await histories([seed])), []);
    });
  }

  for (const some of partsOf(seeds)) {
    test(nameOf(some), async (t) => {
      const told = await histories(some);
      const counts: Record<string, number> = {};
      for (const [kind, count] of told.flatMap((each) => Object.entries(each.counts))) {
        counts[kind] = (counts[kind] ?? 0) + count;
      }
      t.diagnostic(JSON.stringify(counts));
      assert.deepEqual(faultsOf(told), []);
    });
  }
});

describe("with two keys that refuse to sign now and then, and tips, the same holds", () => {
  for (const some of partsOf(seeds)) {
    test(nameOf(some), async () => {
      const told = await histories(some, { keys: 2, isTipped: true });
      assert.deepEqual(faultsOf(told), []);
      const failed = told.reduce((sum, { counts }) => sum + (counts.signer_failed ?? 0), 0);
      assert.ok(failed > 0, "no key refused");
    });
  }
});

/** Four minutes; of 1,000 seeds one took 16 blocks, the others 8 at most. */
const blocksMax = 20;

describe(`with hostile intents, ${blocksMax} blocks after faults end no money waits`, () => {
  for (const [seed, what] of [
    [143, "one false hash below the head was believed for 51 blocks"],
    [94, "an execution that reverted past its expiry put off the recovery for 21 blocks"],
  ] as const) {
    test(`seed ${seed}, once: ${what}`, onlyLong, async () => {
      const [told] = await histories([seed], { hostile: 12 });
      assert.ok(told!.waitBlocksMax <= blocksMax, `${told!.waitBlocksMax} blocks`);
    });
  }

  for (const some of partsOf(seeds)) {
    test(nameOf(some), async (t) => {
      const told = await histories(some, { hostile: 12 });
      t.diagnostic(`at most ${Math.max(...told.map((each) => each.waitBlocksMax))} blocks`);
      const stalled = told.filter((each) => each.waitBlocksMax > blocksMax);
      const waits = stalled.map((each) => `seed ${each.seed}: ${each.waitBlocksMax} blocks`);
      assert.deepEqual([...waits, ...faultsOf(told)], []);
    });
  }
});

/** Five minutes of blocks, which come 6 to 18 s apart. Of 200 seeds none took more than 27. */
const lateBlocksMax = 40;

describe("a chain without open addresses sleeps, in storms too, and all its money is late", () => {
  const unnoticed = "seed 138, once: asleep a deep reorg went unnoticed, and its money waited";
  test(unnoticed, onlyLong, async () => {
    const [told] = await histories([138], { isOver: true });
    assert.ok(told!.waitBlocksMax <= lateBlocksMax, `${told!.waitBlocksMax} blocks`);
  });

  for (const some of partsOf(seeds)) {
    test(`${nameOf(some)}: returned within five minutes once storms end`, async (t) => {
      const told = await histories(some, { isOver: true });
      t.diagnostic(`at most ${Math.max(...told.map((each) => each.waitBlocksMax))} blocks`);
      const awake = told.filter((each) => each.silentSecondsMax < 250);
      const late = told.filter((each) => each.waitBlocksMax > lateBlocksMax);
      assert.deepEqual(faultsOf(told), []);
      assert.deepEqual([awake, late], [[], []]);
    });
  }
});

describe("one of three lies, gas and tips are down to the wei, two blocks are lost at most", () => {
  for (const [seed, what] of [
    [1066, "an estimate that was no number ended each pass"],
    [6251, "a token that came as another left was counted as one long wait"],
    [6221, "an intent that expired between two looks of the executor was the lie's fault"],
    [6253, "the same, with the wait before there was a record"],
    [858, "a nonce that another took was held for ever by one that gave no receipts"],
    [129, "logs that one refused made each block a gap, and payments waited for it"],
    [192, "an empty key that was shown full was given what the other could have sent"],
    [325, "one trace that differed was enough to share gas as it was estimated"],
  ] as const) {
    test(`seed ${seed}, once: ${what}`, onlyLong, async () => {
      assert.deepEqual(faultsOf(await histories([seed], {}, "lie")), []);
    });
  }

  for (const some of partsOf(liars)) {
    test(nameOf(some), async (t) => {
      const told = await histories(some, {}, "lie");
      t.diagnostic(`at most ${Math.max(...told.map((each) => each.waitBlocksMax))} blocks more`);
      assert.deepEqual(faultsOf(told), []);
    });
  }
});

test("the same seed gives the same history", onlyLong, async () => {
  const [a, b] = [await simulate(3), await simulate(3)];
  assert.deepEqual(a.events, b.events);
  assert.ok(a.events.length > 100);
});

describe("the simulator finds what is wrong", onlyLong, () => {
  const few = seeds.slice(0, 50);
  const most = (t: TestContext, bad: number, what: string) => {
    t.diagnostic(`${bad} of ${few.length} seeds ${what}`);
    assert.ok(bad > few.length / 2, `only ${bad} of ${few.length} seeds ${what}`);
  };

  test("control: without isolation it stalls in most of them", async (t) => {
    const told = await histories(few, { hostile: 12, isolates: false });
    most(t, told.filter((each) => each.waitBlocksMax > blocksMax).length, "stall");
  });

  test("control: without looks a third of them or more miss what was paid early", async (t) => {
    const told = await histories(few, { looksPerPass: 0 });
    const isMissing = (each: { faults: string[] }) => each.faults.some((f) => /^missing/.test(f));
    const missing = told.filter(isMissing).length;
    t.diagnostic(`${missing} of ${few.length} seeds miss some`);
    assert.ok(missing >= few.length / 3, `only ${missing} of ${few.length} seeds miss some`);
  });

  test("control: believing the one that lies costs wei or blocks in most of them", async (t) => {
    const told = await histories(few, {}, "believing");
    most(t, told.filter((each) => each.faults.length > 0).length, "fail");
  });

  test("the naive control loses money or works twice in most of them", async (t) => {
    const told = await histories(few, {}, "naive");
    most(t, told.filter((each) => each.faults.length > 0).length, "fail");
  });
});
