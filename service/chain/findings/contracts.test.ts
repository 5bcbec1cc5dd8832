// Tests notes. A note says that somebody could change a contract later. A note is not a problem
// with the intent.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex, Intent } from "executable-address";
import { canMoveTokens, isProxy, notesOf } from "./contracts.ts";

const [token, target]: [Hex, Hex] = [`0x${"11".repeat(20)}`, `0x${"22".repeat(20)}`];
const slot = "360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
const proxy: Hex = `0x7f${slot}545af4`;
const calls = [{ target, function: "visit()", args: [] }];
const payToken = { target: token, function: "pay()", args: [] };
const subject = { address: token, intent: { token, calls } as unknown as Intent };

describe("notesOf", () => {
  test("returns no notes if no contract can change", () => {
    assert.deepEqual(notesOf(subject, new Map([[token, "0x6001"]]), new Map()), []);
  });

  test("returns `token_may_change` or `target_may_change` for a proxy", () => {
    const codes = new Map<Hex, Hex>([
      [token, proxy],
      [target, proxy],
    ]);
    const notes = notesOf(subject, codes, new Map());
    assert.deepEqual(
      notes.map(({ code, path }) => [code, path.join(".")]),
      [
        ["token_may_change", "token"],
        ["target_may_change", "calls.0.target"],
      ],
    );
  });

  test("returns `token_may_change` or `target_may_change` for a pausable contract", () => {
    for (const isPaused of [true, false]) {
      for (const [contract, code] of [
        [token, "token_may_change"],
        [target, "target_may_change"],
      ] as const) {
        const [note, ...others] = notesOf(subject, new Map(), new Map([[contract, isPaused]]));
        assert.deepEqual([note?.code, others], [code, []]);
        assert.match(note!.message, /pause/);
      }
    }
  });

  test("returns one note per contract, even for a pausable proxy", () => {
    const twice = { ...subject, intent: { ...subject.intent, calls: [...calls, payToken] } };
    const can = new Map([token, target].map((contract) => [contract, false]));
    assert.deepEqual(
      notesOf(twice, new Map([[target, proxy]]), can).map(({ path }) => path.join(".")),
      ["token", "calls.0.target"],
    );
  });
});

describe("canMoveTokens", () => {
  test("returns false for code without calls, or with only `transferFrom`", () => {
    assert.equal(canMoveTokens("0x00"), false);
    // PUSH4 of transferFrom, CALL.
    assert.equal(canMoveTokens("0x6323b872dd5af1"), false);
    // A CALL byte in pushed data is not an instruction, so it does not count.
    assert.equal(canMoveTokens("0x63a9059cbb60f1"), false);
  });

  test("returns true for `transfer`, copied calldata, and delegated calls", () => {
    assert.equal(canMoveTokens("0x63a9059cbb5af1"), true);
    assert.equal(canMoveTokens("0x375af1"), true);
    assert.equal(canMoveTokens("0x5af4"), true);
    assert.equal(isProxy(proxy), true);
  });

  test("ignores the metadata that the Solidity compiler adds to the code", () => {
    const metadata = "a264697066735822f4f1"; // An IPFS hash may contain any byte.
    const length = (metadata.length / 2).toString(16).padStart(4, "0");
    assert.equal(canMoveTokens(`0x6000${metadata}${length}`), false);
  });
});
