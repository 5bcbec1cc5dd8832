// Checks that anybody can reproduce the factory from its sources. solc, Sourcify, and explorers
// accept snapshots/standard-input.json as input. snapshot.test.ts compares this file with the
// sources.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Hex, keccak256 } from "viem";
import { factoryAddress, factoryCodeHash, factoryCreationCode } from "../../index.ts";
import { compile, contractsRoot } from "./standard-input.ts";

const input = JSON.parse(readFileSync(`${contractsRoot}/snapshots/standard-input.json`, "utf8"));

describe("the standard JSON input", () => {
  const { evm } = compile(input).contracts!["src/PaymentFactory.sol"]!.PaymentFactory!;

  test("the standard JSON input compiles to the factory's creation code", () => {
    assert.equal(`0x${evm.bytecode.object}`, factoryCreationCode);
  });

  test("the compiled code matches the code of the factory", () => {
    const code = Buffer.from(evm.deployedBytecode.object, "hex");
    const places = Object.values(evm.deployedBytecode.immutableReferences);
    assert.equal(places.length, 1);
    for (const { start, length } of places.flat()) {
      Buffer.from(factoryAddress.slice(2), "hex").copy(code, start + length - 20);
    }
    assert.equal(keccak256(`0x${code.toString("hex")}` as Hex), factoryCodeHash);
  });

  test("the compiled code contains no metadata and links no library", () => {
    assert.deepEqual(input.settings.metadata, { bytecodeHash: "none", appendCBOR: false });
    assert.equal(evm.deployedBytecode.object.includes("__$"), false);
  });
});
