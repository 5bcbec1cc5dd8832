import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { paymentFactoryAbi } from "executable-address-contracts";
import { encodeAbiParameters, encodeEventTopics } from "viem";
import type { Hex } from "../intent/intent.ts";
import { decodeFactoryEvent } from "./factory-events.ts";

const vault: Hex = `0x${"0a".repeat(20)}`;
const token: Hex = `0x${"0b".repeat(20)}`;

const topicsOf = (eventName: string, args: object) =>
  encodeEventTopics({ abi: paymentFactoryAbi, eventName, args } as never) as Hex[];

const amounts = (...values: bigint[]) =>
  encodeAbiParameters(
    values.map(() => ({ type: "uint256" })),
    values,
  );
const bytes = (value: Hex) => encodeAbiParameters([{ type: "bytes" }], [value]);

describe("decodeFactoryEvent", () => {
  test("decodeFactoryEvent returns undefined for an unknown event", () => {
    assert.equal(decodeFactoryEvent({ topics: [`0x${"00".repeat(32)}`], data: "0x" }), undefined);
    assert.equal(decodeFactoryEvent({ topics: [], data: "0x" }), undefined);
    const executed = topicsOf("Executed", { vault, token });
    const failed = topicsOf("ItemFailed", { caller: vault, index: 1n });
    const tooLong = bytes("0x01").replace(/01(0*)$/, "ff$1") as Hex;
    const other: Hex = `0x${"ff".repeat(32)}`;
    const [huge, cut] = [amounts(32n, 2n ** 40n), tooLong.slice(0, 2 + 128)];
    for (const [topics, data, message] of [
      [executed, amounts(1n), `log data: expected 64 bytes of hex, found "${amounts(1n)}"`],
      [executed.slice(0, 2), amounts(1n, 2n), "log: expected 3 topics, found 2"],
      [
        [executed[0], other, executed[2]],
        amounts(1n, 2n),
        `vault: expected an address, found ${other}`,
      ],
      [executed, "not hex", 'log data: expected 64 bytes of hex, found "not hex"'],
      [failed, "0x", 'log data: expected bytes, found "0x"'],
      [failed, huge, `log data: expected bytes, found "${huge}"`],
      [failed, cut, `log data: expected bytes, found "${cut}"`],
    ] as const) {
      const refused = { code: "rpc_inconsistent", message };
      assert.throws(() => decodeFactoryEvent({ topics, data }), refused);
    }
  });

  test("decodeFactoryEvent decodes every event that viem encoded", () => {
    const reason: Hex = `0x${"5a".repeat(37)}`;
    const cases = [
      [
        "Executed",
        { vault, token },
        amounts(5n, 2n ** 256n - 1n),
        { held: 5n, left: 2n ** 256n - 1n },
      ],
      ["Recovered", { vault, token }, amounts(7n), { amount: 7n }],
      ["RecoveryFailed", { vault, token }, bytes(reason), { reason }],
      ["RecoveryFailed", { vault, token }, bytes("0x"), { reason: "0x" }],
    ] as const;
    for (const [name, args, data, rest] of cases) {
      const log = { topics: topicsOf(name, args), data };
      assert.deepEqual(decodeFactoryEvent(log), { name, ...args, ...rest });
    }
    const topics = topicsOf("ItemFailed", { caller: vault, index: 49n });
    const found = decodeFactoryEvent({ topics, data: bytes(reason) });
    assert.deepEqual(found, { name: "ItemFailed", caller: vault, index: 49, reason });
  });
});
