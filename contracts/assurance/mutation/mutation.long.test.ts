// Checks that a mutation run starts, and that the report of the last complete one is of these
// contracts. A complete run, `npm run mutate -w contracts`, takes too long for every test run.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { keccak256 } from "viem";
import { factoryCreationCode } from "../../index.ts";
import { contractsRoot, readSources } from "../published/standard-input.ts";
import { mutantsByHand } from "./by-hand.ts";
import { mutantsOfGuards } from "./guards.ts";
import { mutantsOf, nameOf } from "./mutants.ts";
import { readReport } from "./report.ts";
import { openLaboratory } from "./trial.ts";

const report = readReport();
const sources = readSources();
const byHand = mutantsByHand(sources).map(nameOf);
const guards = mutantsOfGuards(sources).map(nameOf);
const names = new Set([...mutantsOf(sources).map(nameOf), ...guards, ...byHand]);

test("a run starts, and kills a mutant", () => {
  const laboratory = openLaboratory(join(contractsRoot, "out/mutation/test"), sources);
  const [mutant] = mutantsByHand(sources).filter(({ to }) => to === "held + 1 < intent.amount");
  const { file, source } = mutant!;
  assert.equal(laboratory.try({ ...sources, [file]: source }).is, "killed");
});

describe("report.json", () => {
  test("matches the committed creation code and the operators' results for the sources", () => {
    assert.equal(report.creationCodeHash, keccak256(factoryCreationCode));
    assert.equal(report.changes + report.guards.changes + report.byHand.changes, names.size);
    assert.deepEqual(
      [report.guards.changes, report.byHand.changes],
      [guards.length, byHand.length],
    );
  });

  test("has a random sample of at least 150 mutants, at least 95 % of them killed", () => {
    const { changes, tried, compiled, killed, survivors } = report;
    assert.ok(compiled >= 150 && compiled <= tried && tried <= changes);
    assert.equal(killed + survivors.length, compiled);
    assert.ok(killed >= 0.95 * compiled, `${killed} of ${compiled}`);
  });

  test("counts handwritten mutants separately: at least 25, and all were killed", () => {
    const { changes, compiled, killed } = report.byHand;
    assert.ok(changes >= 25);
    assert.deepEqual({ compiled, killed }, { compiled: changes, killed: changes });
  });

  test("lists each weakened guard, in a separate count", () => {
    const { changes, tried, compiled, killed, survivors } = report.guards;
    assert.equal(tried, changes);
    assert.ok(compiled >= 0.9 * changes, `${compiled} of ${changes}`);
    assert.equal(killed + survivors.length, compiled);
  });

  test("has a reason for each survivor, whose line still exists in the sources", () => {
    for (const { name, reason } of [report, report.guards].flatMap((each) => each.survivors)) {
      assert.ok(names.has(name), `the sources have this no more: ${name}`);
      assert.ok(reason.length >= 20, `no reason for: ${name}`);
    }
    const gone = sources["src/Vault.sol"]!.replaceAll("RESULT_BYTES_MAX", "ANSWER_MAX");
    const others = mutantsOf({ ...sources, "src/Vault.sol": gone }).map(nameOf);
    assert.notDeepEqual(new Set(others), names, "a name that changed is noticed");
  });
});
