import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import measured from "executable-address-contracts/snapshots/gas.json" with { type: "json" };
import type { Purse } from "../transactions/send.ts";
import { estimateRecoveryCost } from "./batch.ts";

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
    test(`is above the measured cost of a plain token and below that of USDC (${title})`, () => {
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
