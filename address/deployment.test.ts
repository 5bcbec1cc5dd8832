import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import * as contracts from "executable-address-contracts";
import { toHex } from "./abi/hex.ts";
import * as copies from "./deployment.ts";
import { keccak256 } from "./keccak/keccak.ts";
import { vaultCodeHashes } from "./proof/vault-code.ts";

/** `npm run vectors` updates the constants from the snapshot. */
if (process.env.UPDATE_VECTORS) {
  const file = new URL("./deployment.ts", import.meta.url);
  const text = readFileSync(file, "utf8")
    .replace(copies.factoryAddress, contracts.factoryAddress)
    .replace(copies.tipAddress, contracts.periphery.tip.address)
    .replace(copies.conditionsAddress, contracts.periphery.conditions.address)
    .replace(copies.guardsAddress, contracts.periphery.guards.address)
    .replace(copies.collectorAddress, contracts.periphery.collector.address)
    .replace(copies.initCodePrefix, contracts.initCodePrefix);
  writeFileSync(file, text);
} else {
  test("the library's addresses, PREFIX, and vault code match the contracts", () => {
    assert.equal(copies.factoryAddress, contracts.factoryAddress);
    assert.equal(copies.tipAddress, contracts.periphery.tip.address);
    assert.equal(copies.conditionsAddress, contracts.periphery.conditions.address);
    assert.equal(copies.guardsAddress, contracts.periphery.guards.address);
    assert.equal(copies.collectorAddress, contracts.periphery.collector.address);
    assert.equal(copies.initCodePrefix, contracts.initCodePrefix);
    assert.deepEqual(copies.vaultCodeBytes, contracts.vaultCodeBytes);
    const hashes = vaultCodeHashes(copies.factoryAddress, keccak256);
    assert.equal(toHex(hashes.executed), contracts.executedCodeHash);
    assert.equal(toHex(hashes.closed), contracts.closedCodeHash);
  });
}
