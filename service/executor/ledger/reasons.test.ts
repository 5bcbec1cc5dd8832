import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { allReasons, failureLabel, quoteText } from "./reasons.ts";

const docs = readFileSync(new URL("../../../docs/executor.md", import.meta.url), "utf8");

describe("the table of reasons in docs/executor.md", () => {
  test("contains every reason once", () => {
    const [, table = ""] = docs.split("| `reason` | meaning |\n|---|---|\n");
    const rows = table.split("\n\n")[0]!.split("\n");
    const documented = rows
      .flatMap((row) => [...row.split(" | ")[0]!.matchAll(/`([^`]+)`/g)])
      .map(([, reason]) => reason!)
      .toSorted();
    const others = [
      "CallFailed",
      "TooLittleGas(call, target)",
      "not simulated within N ms",
      "takes N gas, but the limit is M",
    ];
    assert.deepEqual(documented, [...allReasons, ...others].toSorted());
  });
});

describe("quoteText", () => {
  test("returns `Error(text)` for a contract's text that equals a reason", () => {
    for (const reason of allReasons) assert.equal(quoteText(reason), `Error(${reason})`);
  });

  test("returns every other text unchanged", () => {
    for (const text of ["CallFailed(0)", "paused", "constructor", ""]) {
      assert.equal(quoteText(text), text);
    }
  });
});

describe("failureLabel", () => {
  test("returns `other` for a text that a contract chose", () => {
    assert.equal(failureLabel("shop closed"), "other");
    assert.equal(failureLabel("not simulated within 1500 ms"), "other");
  });

  test("a factory error is labeled with only its name", () => {
    assert.equal(failureLabel("CallFailed(0, 0x12, shop closed)"), "CallFailed");
    assert.equal(failureLabel("BalanceUnknown(0x12)"), "BalanceUnknown");
    assert.equal(failureLabel("takes 5000000 gas, but the limit is 1000000"), "takes");
  });
});
