import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { batchCalldata, fromHex, type Hex, recoverCalldata } from "executable-address";
import measured from "executable-address-contracts/snapshots/gas.json" with { type: "json" };
import { computeRecoveryGas } from "../../chain/gas-limits.ts";
import type { Purse } from "../transactions/purse.ts";
import {
  baseGas,
  computeGasLimit,
  computeSizeMax,
  estimateRecoveryCost,
  planGas,
  type Ready,
} from "./gas.ts";

const purse = (neededPerGas: bigint, perByte: bigint) => ({ neededPerGas, perByte }) as Purse;
const item = (terms: Hex, hasCode: boolean) => ({ job: { terms }, vault: { hasCode } }) as never;
const bytes = (byte: string, count: number, hasCode = true) =>
  item(`0x${byte.repeat(count)}`, hasCode);

describe("the estimated cost of a recovery", () => {
  test("includes the EIP-7623 minimum price of long intent data", () => {
    assert.equal(estimateRecoveryCost(bytes("ff", 20_000), purse(1n, 0n)), 21_000n + 20_000n * 40n);
  });

  test("is low for ordinary intent data, because most bytes are zero", () => {
    const cost = estimateRecoveryCost(
      item(`0x${"00".repeat(800)}${"ff".repeat(200)}`, true),
      purse(1n, 0n),
    );
    assert.equal(cost, 50_000n + 4n * (800n + 4n * 200n));
  });

  for (const [title, figure, hasCode] of [
    ["an executed vault", "late sweep", true],
    ["an intent that was not executed", "refund, expired", false],
  ] as const)
    test(`is between the measured costs for a plain token and for USDC (${title})`, () => {
      // The encoded terms of an intent with one call have 21 words of 32 bytes.
      const cost = Number(estimateRecoveryCost(bytes("00", 21 * 32, hasCode), purse(1n, 0n)));
      const { plain, USDC } = measured[figure];
      assert.ok(plain < cost && cost < USDC, `${cost}`);
    });

  test("includes the data fee if the chain has one", () => {
    const [without, withFee] = [0n, 3n].map((perByte) =>
      estimateRecoveryCost(bytes("00", 1000), purse(1n, perByte)),
    ) as [bigint, bigint];
    assert.ok(withFee - without >= 3n * 1000n, `${withFee - without}`);
  });
});

describe("the gas and calldata limits of a transaction", () => {
  type Column = keyof (typeof measured)["one call"];
  const columns = Object.keys(measured["one call"]) as Column[];

  test("suffice for the batches in contracts/snapshots/gas.json", () => {
    for (const column of columns)
      for (const count of [1, 5, 20] as const) {
        const used = count * measured[`batch of ${count}, each`][column];
        assert.ok(used <= baseGas + count * measured["one call"][column], `${column}, ${count}`);
      }
  });

  test("suffice for the recoveries in contracts/snapshots/gas.json", () => {
    // The encoded terms of an intent with one call have 21 words of 32 bytes.
    const terms: Hex = `0x${"00".repeat(21 * 32)}`;
    const gas = (transfer: number) => computeRecoveryGas(terms, [{ gas: transfer }]);
    for (const token of ["plain", "USDC"] as const)
      assert.ok(measured["refund, expired"][token] <= gas(0), token);
    for (const column of columns) {
      const limit = computeGasLimit([{ gas: gas(30_000) }]);
      assert.ok(measured["refund, expired"][column] <= limit, `${column}: ${limit}`);
    }
  });

  test("suffice for the calldata of a batch of recoveries", () => {
    const token: Hex = `0x${"11".repeat(20)}`;
    for (const [count, tokens] of [
      [1, 1],
      [2, 1],
      [20, 1],
      [20, 9],
    ] as const) {
      const kind = "recover" as const;
      const list: Hex[] = Array(tokens).fill(token);
      const one: Ready = { kind, gas: 1000, item: bytes("00", 21 * 32), tokens: list };
      const calldata = recoverCalldata(fromHex(one.item.job.terms), list);
      const { length } = batchCalldata(Array(count).fill(calldata));
      const { bytes: bytesMax } = computeSizeMax(Array(count).fill(one));
      assert.ok(length <= bytesMax, `expected at most ${bytesMax}, found ${length}`);
    }
  });
});

describe("planGas", () => {
  const limit = 5_000_000;
  const plan = (estimate: number, use: number | undefined, gasMax = 12_000_000) =>
    planGas(estimate, use, limit, gasMax);

  test("returns the higher of the estimate and the used gas", () => {
    assert.equal(plan(100_000, 108_000), 108_000);
    assert.equal(plan(137_000, 100_000), 137_000);
    assert.equal(plan(137_000, undefined), 137_000);
  });

  test("gives the calls the simulation's gas if their work depends on the gas", () => {
    assert.ok(plan(178_000, 1_042_285) * 1.375 * (63 / 64) > limit - 2);
  });

  test("never returns more gas than fits in a transaction after the margin is added", () => {
    assert.ok(plan(178_000, 1_042_285, 4_000_000) * 1.375 + 40_000 <= 4_000_000);
  });
});
