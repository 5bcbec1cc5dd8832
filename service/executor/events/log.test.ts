import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { pino } from "pino";
import type { ExecutorEvent } from "./event.ts";
import { openEventLog } from "./log.ts";

const address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const hash: Hex = `0x${"ab".repeat(32)}`;

type Line = { msg: string; level: number; [name: string]: unknown };

/** Reports one event every `everyMs`, and returns the log lines. */
function linesOf(events: readonly ExecutorEvent[], everyMs = 1000): Line[] {
  const lines: Line[] = [];
  let now = 0;
  const log = pino({ level: "debug" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const report = openEventLog(log, () => now);
  for (const event of events) {
    report(event);
    now += everyMs;
  }
  return lines;
}

function lineOf(event: ExecutorEvent): Line {
  const lines = linesOf([event]);
  assert.equal(lines.length, 1);
  return lines[0]!;
}

describe("the log of the executor", () => {
  test("shows a corrupt address unchanged", () => {
    assert.equal(
      lineOf({ kind: "corrupt_record", address: "0x12", cause: "it derives another" }).address,
      "0x12",
    );
  });

  test("shows a hash in full, and an address with its checksum", () => {
    const lower = address.toLowerCase() as Hex;
    const line = lineOf({ kind: "executed", address: lower, hash });
    assert.deepEqual([line.msg, line.address, line.hash], ["executed", address, hash]);
  });

  test("shows amounts in wei without rounding", () => {
    const line = lineOf({
      kind: "settled",
      purpose: "execute",
      sender: address,
      nonce: 3,
      paid: 10n ** 18n,
      tips: 0n,
    });
    assert.equal(line.paid, "1000000000000000000");
  });

  test("shows a balance only if it is low", () => {
    const sender = "0x00000000000000000000000000000000000c0ffe";
    const balance = (isLow: boolean) =>
      ({ kind: "balance" as const, sender, wei: 7n, isLow }) as const;
    assert.deepEqual(linesOf([balance(false)]), []);
    const line = lineOf(balance(true));
    assert.deepEqual([line.msg, line.wei], ["the executor's balance is low", "7"]);
  });

  test("contains two lines for 1,000 similar failures, with the number of omitted lines", () => {
    const failed = Array.from({ length: 1000 }, (_, index) => ({
      kind: "attempt_failed" as const,
      address: `0x${index.toString(16).padStart(40, "0")}` as Hex,
      reason: `takes ${5_000_000 + index} gas, but the limit is 1000000`,
    }));
    const lines = linesOf(failed, 100);
    assert.deepEqual(
      lines.map(({ leftOut }) => leftOut),
      [undefined, 599],
    );
  });

  test("contains the executor's own messages despite hundreds of other messages", () => {
    const letter = (index: number) => String.fromCharCode(97 + (index % 26));
    const words = Array.from({ length: 300 }, (_, i) => letter(i) + letter(Math.floor(i / 26)));
    const theirs = words.map((reason) => {
      return { kind: "attempt_failed" as const, address: address as Hex, reason };
    });
    const ours: ExecutorEvent[] = [
      { kind: "rpc_failed", rpc: "0:one", message: "answered 502" },
      { kind: "stopped_for_balance" },
      { kind: "pass_failed", message: "ChainUnavailable: no endpoint responds to" },
    ];
    const lines = linesOf([...theirs, { kind: "executed", address, hash }, ...ours], 1);
    assert.deepEqual(
      lines.slice(-4).map(({ msg }) => msg),
      ["executed", "rpc failed", "stopped for balance", "pass failed"],
    );
    assert.ok(lines.length < 110, `${lines.length} lines`);
  });

  test("contains a line for each different reason and for each execution", () => {
    const address: Hex = `0x${"12".repeat(20)}`;
    const events: ExecutorEvent[] = [
      { kind: "attempt_failed", address, reason: "CallFailed" },
      { kind: "attempt_failed", address, reason: "not simulated within 1500 ms" },
      { kind: "rpc_failed", rpc: "0:one", message: "answered 502" },
      { kind: "rpc_failed", rpc: "1:two", message: "answered 502" },
      { kind: "executed", address, hash },
      { kind: "executed", address, hash },
    ];
    assert.equal(linesOf(events).length, events.length);
  });
});
