import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { pino } from "pino";
import { logEvent } from "./log.ts";
import type { ExecutorEvent } from "./parts.ts";

const address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const hash: Hex = `0x${"ab".repeat(32)}`;

function lineOf(event: ExecutorEvent) {
  const lines: string[] = [];
  logEvent(pino({ level: "debug" }, { write: (line: string) => lines.push(line) }), event);
  assert.equal(lines.length, 1);
  return JSON.parse(lines[0]!);
}

describe("what an operator reads", () => {
  test("a corrupt address as it is", () => {
    assert.equal(
      lineOf({ kind: "corrupt_record", address: "0x12", cause: "it derives another" }).address,
      "0x12",
    );
  });

  test("an address as the API answers it, and a hash as explorers have it", () => {
    const lower = address.toLowerCase() as Hex;
    const line = lineOf({ kind: "executed", address: lower, hash });
    assert.deepEqual([line.msg, line.address, line.hash], ["executed", address, hash]);
  });

  test("wei in full", () => {
    const line = lineOf({ kind: "settled", purpose: "execute", nonce: 3, paid: 10n ** 18n });
    assert.equal(line.paid, "1000000000000000000");
  });
});
