// Notes describe possible changes by other parties. They are not findings about the intent.

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

describe("notes", () => {
  test("none for contracts that cannot change", () => {
    assert.deepEqual(notesOf(subject, new Map([[token, "0x6001"]]), new Map()), []);
  });

  test("token_may_change for a proxy, target_may_change", () => {
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

  test("token_may_change and target_may_change for one that can pause", () => {
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

  test("one note for a target that can pause and is a proxy, none for the token as target", () => {
    const twice = { ...subject, intent: { ...subject.intent, calls: [...calls, payToken] } };
    const can = new Map([token, target].map((contract) => [contract, false]));
    assert.deepEqual(
      notesOf(twice, new Map([[target, proxy]]), can).map(({ path }) => path.join(".")),
      ["token", "calls.0.target"],
    );
  });
});

describe("the code of a contract", () => {
  test("cannot send tokens without a call, or with only transferFrom", () => {
    assert.equal(canMoveTokens("0x00"), false);
    // PUSH4 of transferFrom, CALL.
    assert.equal(canMoveTokens("0x6323b872dd5af1"), false);
    // CALL as pushed data does not count as a call.
    assert.equal(canMoveTokens("0x63a9059cbb60f1"), false);
  });

  test("can send tokens with transfer and a call, copied calldata, or a delegated call", () => {
    assert.equal(canMoveTokens("0x63a9059cbb5af1"), true);
    assert.equal(canMoveTokens("0x375af1"), true);
    assert.equal(canMoveTokens("0x5af4"), true);
    assert.equal(isProxy(proxy), true);
  });

  test("excludes solc's metadata", () => {
    const metadata = "a264697066735822f4f1"; // An IPFS hash may have any byte.
    const length = (metadata.length / 2).toString(16).padStart(4, "0");
    assert.equal(canMoveTokens(`0x6000${metadata}${length}`), false);
  });
});
