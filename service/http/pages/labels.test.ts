import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import type { Call, Hex, Intent } from "executable-address";
import { labelsOf, readLabels, requesterOf } from "./labels.ts";

const folder = mkdtempSync(join(tmpdir(), "labels-"));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, "labels.json");
const read = (value: unknown) => {
  writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
  return readLabels(file);
};

const shop: Hex = "0x1111111111111111111111111111111111111111";
const thief: Hex = "0x2222222222222222222222222222222222222222";
const token: Hex = "0x3333333333333333333333333333333333333333";
const labels = read({ "1": { [shop]: "A Shop" } });

describe("the operator's file with labels of contracts", () => {
  const wrong: [string, unknown, RegExp][] = [
    ["is no JSON", "{", /cannot be read/],
    ["has no chain id", { Base: {} }, /Base: Invalid key/],
    ["has no address", { "1": { "0x12": "A Shop" } }, /1\.0x12/],
    [
      "hides characters",
      { "1": { [shop]: "A\u202eShop" } },
      /expected at most 64 visible characters/,
    ],
    [
      "has a letter that is invisible",
      { "1": { [shop]: "A\u3164Shop" } },
      /expected at most 64 visible characters/,
    ],
    ["has an empty name", { "1": { [shop]: "" } }, /expected at most 64 visible characters/],
    ["has a long name", { "1": { [shop]: "A".repeat(65) } }, /at most 64/],
  ];
  for (const [name, value, reason] of wrong) {
    test(`is refused if it ${name}`, () =>
      assert.throws(() => read(value), { name: "LabelsError", message: reason }));
  }

  test("can be missing, and can contain addresses in uppercase or lowercase", () => {
    assert.equal(readLabels(undefined).size, 0);
    const mixed = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
    assert.deepEqual(read({ "1": { [mixed]: "Münzen & Co." } }).get(1), {
      [mixed.toLowerCase()]: "Münzen & Co.",
    });
  });
});

const pay = (target: Hex): Call => ({ target, function: "pay(uint256 order)", args: ["1"] });
const approve = (spender: Hex): Call => ({
  target: token,
  function: "approve(address spender, uint256 amount)",
  args: [spender, "1"],
});
const transfer = (to: Hex): Call => ({
  target: token,
  function: "transfer(address to, uint256 amount)",
  args: [to, "1"],
});

describe("the label of the contract that requests the money", () => {
  const requester = (...calls: Call[]) =>
    requesterOf({ chainId: 1, token, calls } as unknown as Intent, labels);

  test("is missing if any call targets or pays another contract", () => {
    assert.equal(requester(pay(thief)), undefined);
    assert.equal(requester(approve(thief), pay(shop)), undefined);
    assert.equal(requester(approve(shop), pay(shop), pay(thief)), undefined);
    const odd = { target: token, function: "burn(uint256 amount)", args: ["1"] };
    assert.equal(requester(odd, pay(shop)), undefined);
    assert.equal(
      requesterOf({ chainId: 2, token, calls: [pay(shop)] } as never, labels),
      undefined,
    );
  });

  test("is shown only if all calls pay the same labeled contract", () => {
    assert.equal(requester(approve(shop), pay(shop)), "A Shop");
    assert.equal(requester(transfer(shop)), "A Shop");
  });
});

test("`labelsOf` returns the labels of contracts that the calls target, pay, or approve", () => {
  for (const call of [pay(shop), approve(shop), transfer(shop)])
    assert.deepEqual(labelsOf({ chainId: 1, token, calls: [call] } as never, labels), {
      [shop]: "A Shop",
    });
});
