// What the last mutation run found is of the contracts as they are. The run itself is
// `npm run mutate -w contracts`: it takes too long for every test run.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keccak256 } from "viem";
import { factoryCreationCode } from "../../index.ts";
import { readSources } from "../published/standard-input.ts";
import { mutantsOf, nameOf } from "./mutants.ts";
import { readReport } from "./report.ts";

const { creationCodeHash, changes, tried, compiled, killed, survivors } = readReport();
const sources = readSources();
const names = new Set(mutantsOf(sources).map(nameOf));

describe("report.json", () => {
  test("is of the committed creation code and of what the operators make of the sources", () => {
    assert.equal(creationCodeHash, keccak256(factoryCreationCode));
    assert.equal(changes, names.size);
  });

  test("counts at least 150 mutants, of which at least 95 of 100 were killed", () => {
    assert.ok(compiled >= 150 && compiled <= tried && tried <= changes);
    assert.equal(killed + survivors.length, compiled);
    assert.ok(killed >= 0.95 * compiled, `${killed} of ${compiled}`);
  });

  test("gives a reason for each survivor, of which the sources still have the place", () => {
    for (const { name, reason } of survivors) {
      assert.ok(names.has(name), `the sources have this no more: ${name}`);
      assert.ok(reason.length >= 20, `no reason for: ${name}`);
    }
    const gone = sources["src/Vault.sol"]!.replaceAll("RESULT_BYTES_MAX", "ANSWER_MAX");
    const others = mutantsOf({ ...sources, "src/Vault.sol": gone }).map(nameOf);
    assert.notDeepEqual(new Set(others), names, "a name that changed is noticed");
  });
});
