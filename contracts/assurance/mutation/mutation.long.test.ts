// Tests one mutant. Also checks that the report of the last complete run matches the current
// contracts. A complete run (`npm run mutate -w contracts`) takes too long for this test.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { keccak256 } from "viem";
import { factoryCreationCode, periphery } from "../../index.ts";
import { contractsRoot, readSources } from "../published/standard-input.ts";
import { mutantsByHand } from "./by-hand.ts";
import { mutantsOfCollector, mutantsOfGuards } from "./guards.ts";
import { mutantsOf, nameOf } from "./mutants.ts";
import { readReport } from "./report.ts";
import { openLaboratory } from "./trial.ts";

const report = readReport();
const sources = readSources();
const byHand = mutantsByHand(sources).map(nameOf);
const guards = mutantsOfGuards(sources).map(nameOf);
const collector = mutantsOfCollector().map(nameOf);
const ofFactory = new Set([...mutantsOf(sources).map(nameOf), ...guards, ...byHand]);
const names = new Set([...ofFactory, ...collector]);

test("the tests detect a mutated contract", () => {
  const laboratory = openLaboratory(join(contractsRoot, "out/mutation/test"), sources);
  const [mutant] = mutantsByHand(sources).filter(({ to }) => to === "held + 1 < intent.amount");
  assert.equal(laboratory.try(mutant!).is, "killed");
});

describe("the report of mutation tests", () => {
  test("the report describes the current contracts", () => {
    assert.equal(report.creationCodeHash, keccak256(factoryCreationCode));
    const { changes } = report;
    assert.equal(changes + report.guards.changes + report.byHand.changes, ofFactory.size);
    assert.deepEqual(
      [report.guards.changes, report.byHand.changes],
      [guards.length, byHand.length],
    );
  });

  test("the tests detected at least 95% of the random mutants", () => {
    const { changes, tried, compiled, killed, survivors } = report;
    assert.ok(compiled >= 150 && compiled <= tried && tried <= changes);
    assert.equal(killed + survivors.length, compiled);
    assert.ok(killed >= 0.95 * compiled, `${killed} of ${compiled}`);
  });

  test("the tests detected every handwritten mutant", () => {
    const { changes, compiled, killed } = report.byHand;
    assert.ok(changes >= 25);
    assert.deepEqual({ compiled, killed }, { compiled: changes, killed: changes });
  });

  test("the report has a result for every weakened guard", () => {
    const { changes, tried, compiled, killed, survivors } = report.guards;
    assert.equal(tried, changes);
    assert.ok(compiled >= 0.9 * changes, `${compiled} of ${changes}`);
    assert.equal(killed + survivors.length, compiled);
  });

  test("the report has a result for every mutant of the Collector", () => {
    const { changes, tried, compiled, killed, survivors } = report.collector;
    assert.equal(report.collectorCodeHash, keccak256(periphery.collector.bytecode));
    assert.deepEqual([changes, tried], [collector.length, collector.length]);
    assert.ok(compiled >= 0.8 * changes, `${compiled} of ${changes}`);
    assert.equal(killed + survivors.length, compiled);
  });

  test("every undetected mutant has a reason", () => {
    const tallies = [report, report.guards, report.collector];
    for (const { name, reason } of tallies.flatMap((each) => each.survivors)) {
      assert.ok(names.has(name), `the sources no longer produce this mutant: ${name}`);
      assert.ok(reason.length >= 20, `no reason for: ${name}`);
    }
    const gone = sources["src/Vault.sol"]!.replaceAll("RESULT_BYTES_MAX", "ANSWER_MAX");
    const others = mutantsOf({ ...sources, "src/Vault.sol": gone }).map(nameOf);
    assert.notDeepEqual(new Set(others), ofFactory, "a changed name is detected");
  });
});
