// Checks that the sources compile to the committed snapshots on every machine.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { getContractAddress, keccak256 } from "viem";
import { readSources, standardInput } from "./assurance/published/standard-input.ts";
import { build } from "./build.ts";
import * as contracts from "./index.ts";
import deployment from "./snapshots/deployment.json" with { type: "json" };
import { snapshotFiles } from "./snapshots/files.ts";

test("standard-input.json contains the current sources of the factory", () => {
  const path = `${import.meta.dirname}/snapshots/standard-input.json`;
  const committed = JSON.parse(readFileSync(path, "utf8"));
  assert.deepEqual(committed, standardInput(readSources()), "npm run snapshot -w contracts");
});

describe("the build", () => {
  test("the build produces the committed files", () => {
    build("out/snapshot");
    for (const [name, text] of Object.entries(snapshotFiles("out/snapshot"))) {
      const committed = readFileSync(`${import.meta.dirname}/snapshots/${name}`, "utf8");
      assert.equal(committed, text, `snapshots/${name}: npm run snapshot -w contracts, if meant`);
    }
  });

  test("the factory has no storage", () => {
    const path = `${import.meta.dirname}/out/snapshot/PaymentFactory.sol/PaymentFactory.json`;
    assert.deepEqual(JSON.parse(readFileSync(path, "utf8")).storageLayout.storage, []);
  });
});

test("every numbered assumption is cited in SECURITY.md and in a forge test", () => {
  const read = (path: string) => readFileSync(`${import.meta.dirname}/${path}`, "utf8");
  const numbers = [...read("src/IPaymentFactory.sol").matchAll(/^\/\/\/ (\d+)\. /gm)].map(
    (m) => m[1],
  );
  assert.ok(numbers.length >= 10);
  const forge = readdirSync(`${import.meta.dirname}/test`, {
    recursive: true,
    encoding: "utf8",
  }).filter((name) => name.endsWith(".t.sol"));
  const cited = (text: string) => [...text.matchAll(/[Aa]ssumption (\d+)/g)].map((m) => m[1]);
  for (const text of [read("../SECURITY.md"), forge.map((name) => read(`test/${name}`)).join()]) {
    assert.deepEqual(new Set(cited(text)), new Set(numbers));
  }
});

describe("index.ts", () => {
  test("contracts/index.ts exports exactly the documented names", () => {
    assert.deepEqual(Object.keys(contracts), [
      "closedCodeHash",
      "demoShop",
      "demoToken",
      "deterministicDeployer",
      "executedCodeHash",
      "factoryAddress",
      "factoryCodeHash",
      "factoryCreationCode",
      "factorySalt",
      "initCodePrefix",
      "localChainId",
      "meter",
      "paymentFactoryAbi",
      "periphery",
      "probe",
      "vaultCodeBytes",
    ]);
  });

  test("the documentation contains the code hashes of a vault", () => {
    for (const path of ["src/IPaymentFactory.sol", "../spec/terms.md"]) {
      const text = readFileSync(`${import.meta.dirname}/${path}`, "utf8");
      assert.match(text, new RegExp(`executed [ =]+${contracts.executedCodeHash}`), path);
      assert.match(text, new RegExp(`closed [ =]+${contracts.closedCodeHash}`), path);
    }
  });

  test("the factory's address is the CREATE2 address of its creation code", () => {
    const address = getContractAddress({
      opcode: "CREATE2",
      from: contracts.deterministicDeployer.address,
      salt: contracts.factorySalt,
      bytecode: contracts.factoryCreationCode,
    });
    assert.equal(contracts.factoryAddress, address);
    assert.match(address, /^0x00000000/, "the first four bytes are zero");
    assert.equal(deployment.initCodeHash, keccak256(contracts.factoryCreationCode));
  });
});
