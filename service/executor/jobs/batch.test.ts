import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { openBudgets } from "../money/budgets.ts";
import { defaultTuning } from "../settings.ts";
import type { Purse } from "../transactions/purse.ts";
import { admit, formBatches } from "./batch.ts";
import { computeShares, type Ready } from "./gas.ts";

const limits = {
  batchGasMax: 1_000_000,
  batchItemsMax: 4,
  batchBytesMax: 10_000,
  affords: (_: { gas: number; bytes: number }) => true,
};

const ready = (name: string, gas: number, failures = 0, bytes = 100): Ready =>
  ({
    kind: "execute",
    gas,
    item: { job: { address: name, terms: `0x${"00".repeat(bytes)}` as Hex, failures } },
  }) as never;
const names = (list: readonly Ready[], within = limits) =>
  formBatches(list, within).map((batch) =>
    batch.ready.map(({ item }) => item.job.address).join(""),
  );

describe("formBatches", () => {
  test("creates a separate transaction for a job that failed before", () => {
    assert.deepEqual(names([ready("a", 9), ready("b", 9, 1), ready("c", 9)]), ["ac", "b"]);
  });

  test("limits the number of items, the gas, and the bytes of a batch", () => {
    const many = [..."abcdef"].map((name) => ready(name, 1000));
    assert.deepEqual(names(many), ["abcd", "ef"]);
    const heavy = [..."abcd"].map((name) => ready(name, 300_000));
    assert.deepEqual(names(heavy), ["ab", "cd"]);
    const long = [..."abc"].map((name) => ready(name, 1000, 0, 6000));
    assert.deepEqual(names(long), ["a", "b", "c"]);
  });

  test("limits the cost of a batch to the available balance", () => {
    const many = [..."abc"].map((name) => ready(name, 100_000));
    const affords = ({ gas }: { gas: number }) => gas <= 350_000;
    assert.deepEqual(names(many, { ...limits, affords }), ["ab", "c"]);
  });

  test("creates a separate transaction for a job that exceeds the limits of a batch", () => {
    assert.deepEqual(names([ready("a", 2_000_000), ready("b", 1000)]), ["b", "a"]);
  });

  test("separates jobs with and without a tip, and expensive and cheap jobs", () => {
    const unlike = [ready("a", 104_000), ready("b", 100_000), ready("c", 2_400_000)];
    assert.deepEqual(names(unlike, { ...limits, batchGasMax: 12_000_000 }), ["ba", "c"]);
    const tipped = { ...ready("t", 100_000), isTipped: true };
    const own = { ...ready("o", 100_000), isTipped: false };
    assert.deepEqual(names([tipped, own]), ["o", "t"]);
  });

  test("gives each job 137.5 % of the highest gas estimate in the batch", () => {
    const [batch] = formBatches([ready("a", 100_000), ready("b", 70_000)], limits);
    assert.equal(batch?.gas, 40_000 + 2 * 100_000 * 1.375);
  });

  test("reserves at least 35 % more gas than a job uses", () => {
    for (const used of [100_000, 1_000_000, 8_000_000]) {
      const [batch] = formBatches([ready("a", used)], limits);
      assert.ok(batch!.gas >= (used * 4 * 64) / (3 * 63), `${used}: ${batch!.gas}`);
    }
  });
});

describe("computeShares", () => {
  test("splits a batch's gas in proportion to the estimates of its jobs", () => {
    const [batch] = formBatches(
      [ready("a", 84_000), ready("b", 60_000), ready("c", 60_001)],
      limits,
    );
    const shares = computeShares(batch!, 0);
    const gasOf = (name: string) => shares.find(({ address }) => address === name)!.gas;
    assert.equal((gasOf("a") / gasOf("b")).toFixed(2), "1.40");
    assert.equal(
      shares.reduce((sum, { gas }) => sum + gas, 0),
      batch!.gas,
    );
  });

  test("gives a job with more calldata a larger share if the chain has a data fee", () => {
    const [batch] = formBatches([ready("a", 60_000, 0, 9000), ready("b", 60_000)], limits);
    const [without, withFee] = [0, 100].map((gasPerByte) =>
      computeShares(batch!, gasPerByte).map(({ gas }) => gas),
    ) as [number[], number[]];
    assert.equal(without[0], without[1]);
    assert.ok(withFee[0]! > 9 * withFee[1]!, `${withFee}`);
    assert.equal(withFee[0]! + withFee[1]!, batch!.gas);
  });
});

describe("`admit` with `EXECUTOR_PAYS=tips`", () => {
  const wei = { suggested: { maxFee: 1n, priorityFee: 1n }, neededPerGas: 1n, perByte: 0n };
  const purse = { ...wei, nextBaseFee: 1n, balance: 10n ** 18n, balanceSure: 10n ** 18n };
  const noBudgets = openBudgets(
    { perDayMax: 0n, perAccountMax: 0n, perClientMax: 0n },
    { total: 0n, accounts: new Map() },
  );
  const pass = {
    parts: { chain: { pays: "tips", tipPrices: new Map() }, tuning: defaultTuning },
    view: { head: { gasLimit: 30_000_000n } },
    nowSeconds: 1000,
  };
  const reasonOf = (kind: "execute" | "recover") => {
    const [only] = [ready("a", 50_000)];
    const item = { ...only!.item, tips: [], job: { ...only!.item.job, detectedAtSeconds: 1000 } };
    const one = { ...only, kind, item, tokens: [] } as unknown as Ready;
    const all = { ...purse, reserved: 0n } satisfies Purse;
    const { batches, unpaid } = admit(pass as never, [one], all, noBudgets);
    assert.deepEqual(batches, []);
    return unpaid.map(({ reason, dueAtSeconds }) => [reason, dueAtSeconds]);
  };

  test("postpones a recovery with the reason `recovery_left_to_its_owner`", () => {
    assert.deepEqual(reasonOf("recover"), [["recovery_left_to_its_owner", 1060]]);
  });

  test("postpones an execution without a tip, with the reason `tip_does_not_cover_gas`", () => {
    assert.deepEqual(reasonOf("execute"), [["tip_does_not_cover_gas", 1060]]);
  });
});
