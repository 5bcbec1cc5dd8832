// Runs the forge tests against one mutant. The tests are compiled only once, because only the
// factory's creation code is replaced.

import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { foundryBinary } from "../../anvil.ts";
import {
  compile,
  contractsRoot,
  readCollector,
  type Sources,
  standardInput,
} from "../published/standard-input.ts";
import type { Mutant } from "./mutants.ts";

export type Outcome =
  | { is: "killed"; by: string }
  | { is: "survived" | "no change of the code" | "not compiled" };

/**
 * The tests that do not run against mutants of the factory. Vectors.t.sol reads a file that is not
 * copied together with the tests. The canary test always fails. The tests of the periphery and the
 * demo do not test the factory. For a mutant of the Collector, only the Collector's test runs.
 */
const leftOut = ["Vectors.t.sol", "Demo.t.sol", "canary", "periphery"];

const collectorTest = "test/periphery/Collector.t.sol";
/**
 * The expression in the Collector's test that creates the Collector. A trial replaces this
 * expression with one that creates a mutant of the Collector.
 */
const collectorOfTest = "new Collector()";
const mutantOfTest = `Collector(
        created(vm.parseJsonBytes(vm.readFile("snapshots/deployment.json"), ".collector"))
    )`;
const created = `
function created(bytes memory code) returns (address at) {
    assembly {
        at := create(0, add(code, 32), mload(code))
    }
}
`;

/** These tests run first, because they take a second and kill most mutants. */
const quickTests = "test/guards/Every*.t.sol";

const secondsMax = 600;

/** The number of cases per fuzzed test, of sequences per invariant, and of calls per sequence. */
export const shortRuns = {
  FOUNDRY_FUZZ_RUNS: "32",
  FOUNDRY_INVARIANT_RUNS: "10",
  FOUNDRY_INVARIANT_DEPTH: "50",
};

const environment = {
  ...process.env,
  NO_COLOR: "1",
  FOUNDRY_PROFILE: "test",
  ...shortRuns,
  LADDER_STRIDE: "50000",
  // The gas limit ends an endless loop. The limit in foundry.toml is too high for this purpose.
  FOUNDRY_GAS_LIMIT: "10000000000",
};

type Laboratory = {
  /** Runs the tests with the code of a mutant of the factory or of the Collector. */
  try(mutant: Pick<Mutant, "file" | "source">): Outcome;
};

/**
 * Makes a compiled copy of the tests in `folder`.
 *
 * @param original the sources without a mutation
 * @throws if the tests fail on `original`
 */
export function openLaboratory(folder: string, original: Sources): Laboratory {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "snapshots"), { recursive: true });
  for (const name of ["foundry.toml", "solc.cjs", "test", "src"]) {
    cpSync(join(contractsRoot, name), join(folder, name), { recursive: true });
  }
  for (const name of leftOut) rmSync(join(folder, "test", name), { recursive: true });
  cpSync(join(import.meta.dirname, "Deployed.sol"), join(folder, "test/Deployed.sol"));
  const deployment = JSON.parse(
    readFileSync(join(contractsRoot, "snapshots/deployment.json"), "utf8"),
  );
  addCollectorTest(folder);
  const collector = readCollector();
  const codes = { factory: creationCodeOf(original), collector: creationCodeOf(collector) };
  const write = (changed: object) =>
    writeFileSync(
      join(folder, "snapshots/deployment.json"),
      JSON.stringify({ ...deployment, collector: codes.collector, ...changed }),
    );
  const testFactory = (creationCode: string): Outcome => {
    write({ creationCode });
    const outcome = runTests(folder, ["--match-path", quickTests]);
    return outcome.is === "survived"
      ? runTests(folder, ["--no-match-path", collectorTest])
      : outcome;
  };
  const testCollector = (code: string): Outcome => {
    write({ collector: code });
    return runTests(folder, ["--match-path", collectorTest]);
  };
  if (!codes.factory || !codes.collector) throw new Error("the sources do not compile");
  for (const untouched of [testFactory(codes.factory), testCollector(codes.collector)]) {
    if (untouched.is === "killed")
      throw new Error(`the tests fail without a mutation: ${untouched.by}`);
  }
  return {
    try({ file, source }) {
      const isCollector = file in collector;
      const code = creationCodeOf({ ...(isCollector ? collector : original), [file]: source });
      if (!code) return { is: "not compiled" };
      if (code === codes[isCollector ? "collector" : "factory"]) {
        return { is: "no change of the code" };
      }
      return isCollector ? testCollector(code) : testFactory(code);
    },
  };
}

function addCollectorTest(folder: string): void {
  const text = readFileSync(join(contractsRoot, collectorTest), "utf8");
  if (text.split(collectorOfTest).length !== 2) {
    throw new Error(`${collectorTest}: expected "${collectorOfTest}" once`);
  }
  for (const name of ["test/periphery", "periphery"]) mkdirSync(join(folder, name));
  const changed = text.replace(collectorOfTest, mutantOfTest) + created;
  writeFileSync(join(folder, collectorTest), changed);
  for (const [name, source] of Object.entries(readCollector())) {
    writeFileSync(join(folder, name), source);
  }
}

/** Returns the creation code of the factory or the Collector; undefined if it does not compile. */
export function creationCodeOf(sources: Sources): string | undefined {
  const selection = { "*": { "*": ["evm.bytecode.object"] } };
  const { contracts } = compile(standardInput(sources, selection));
  const { PaymentFactory } = contracts?.["src/PaymentFactory.sol"] ?? {};
  const { Collector } = contracts?.["periphery/Collector.sol"] ?? {};
  const code = (PaymentFactory ?? Collector)?.evm.bytecode.object;
  return code ? `0x${code}` : undefined;
}

function runTests(folder: string, chosen: string[] = []): Outcome {
  const { status, stdout, stderr, error } = spawnSync(
    foundryBinary("forge"),
    ["test", "--fail-fast", "--threads", "1", ...chosen],
    { cwd: folder, env: environment, encoding: "utf8", timeout: secondsMax * 1000 },
  );
  if (error && (error as NodeJS.ErrnoException).code === "ETIMEDOUT") {
    return { is: "killed", by: `not finished within ${secondsMax} seconds` };
  }
  if (error) throw error;
  if (status === 0) return { is: "survived" };
  const failed = /\[FAIL[^\n]*\] (\w+)\(/.exec(stdout) ?? /(\w+)\(\)[^\n]*FAIL/.exec(stdout);
  const suite = /for (test\/\S+):/.exec(stdout);
  if (!stdout.includes("FAIL")) throw new Error(`forge: ${stdout.slice(-2000)}${stderr}`);
  return { is: "killed", by: failed?.[1] ?? suite?.[1] ?? "a test" };
}
