// Anybody can show that the factory is made of these sources: snapshots/standard-input.json goes to
// solc, Sourcify or an explorer as it is. snapshot.test.ts holds it to the sources.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { type Hex, keccak256 } from "viem";
import { factoryAddress, factoryCodeHash, factoryCreationCode } from "../../index.ts";
import { compile, contractsRoot } from "./standard-input.ts";

const input = JSON.parse(readFileSync(`${contractsRoot}/snapshots/standard-input.json`, "utf8"));

describe("the standard JSON input, as solc alone compiles it", () => {
  const { evm } = compile(input).contracts!["src/PaymentFactory.sol"]!.PaymentFactory!;

  test("gives the creation code that the deployer is sent", () => {
    assert.equal(`0x${evm.bytecode.object}`, factoryCreationCode);
  });

  test("gives the code at the factory's address, its one immutable being that address", () => {
    const code = Buffer.from(evm.deployedBytecode.object, "hex");
    const places = Object.values(evm.deployedBytecode.immutableReferences);
    assert.equal(places.length, 1);
    for (const { start, length } of places.flat()) {
      Buffer.from(factoryAddress.slice(2), "hex").copy(code, start + length - 20);
    }
    assert.equal(keccak256(`0x${code.toString("hex")}` as Hex), factoryCodeHash);
  });

  test("leaves nothing to guess: no metadata, no library, no constructor argument", () => {
    assert.deepEqual(input.settings.metadata, { bytecodeHash: "none", appendCBOR: false });
    assert.equal(evm.deployedBytecode.object.includes("__$"), false);
  });
});
