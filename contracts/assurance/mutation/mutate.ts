// npm run mutate -w contracts -- [OPTION...]: runs the forge tests for several hundred changes of
// the contracts, one at a time. A changed contract is called a mutant.
//
// Options:
//
//     --jobs N       The number of threads, each with a compiler and forge (default: one per core).
//     --minutes N    Stops after N minutes.
//     --fresh        Discards the results of earlier runs for the same creation code.
//     --of KIND      Tests only mutants of this kind: operators, guards, byHand, or collector.
//     --only TEXT    Tests only mutants whose name contains TEXT.
//     --write        Writes the results of the tested kinds to report.json, but does not
//                    change the reasons that report.json contains.
//
// The order of the mutants depends on a hash of their names. The mutants of the first N minutes are
// therefore a fair sample. The next run continues with the remaining mutants. Each run also repeats
// the mutants that survived earlier runs. A new test may detect them.

import { once } from "node:events";
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { type Hex, keccak256, stringToHex } from "viem";
import { contractsRoot, readCollector, readSources } from "../published/standard-input.ts";
import { mutantsByHand } from "./by-hand.ts";
import { mutantsOfCollector, mutantsOfGuards } from "./guards.ts";
import { type Mutant, mutantsOf, nameOf } from "./mutants.ts";
import { type Report, readReport, reportFile, type Tally } from "./report.ts";
import { creationCodeOf, type Outcome } from "./trial.ts";

type Found = { name: string; outcome: Outcome };

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "Infinity" },
    jobs: { type: "string", default: String(availableParallelism()) },
    fresh: { type: "boolean", default: false },
    of: { type: "string" },
    only: { type: "string", default: "" },
    write: { type: "boolean", default: false },
  },
});

const sources = readSources();
const before = readReport();
const reasons = new Map(
  [before, before.guards, before.byHand, before.collector]
    .flatMap(({ survivors }) => survivors)
    .map(({ name, reason }) => [name, reason]),
);
const creationCodeHash = keccak256(creationCodeOf(sources) as Hex);
const collectorCodeHash = keccak256(creationCodeOf(readCollector()) as Hex);
const folder = join(contractsRoot, "out/mutation");
const journal = join(folder, `${creationCodeHash}-${collectorCodeHash.slice(2, 10)}.jsonl`);
mkdirSync(folder, { recursive: true });
if (options.fresh) rmSync(journal, { force: true });

const kinds = {
  operators: mutantsOf(sources),
  guards: mutantsOfGuards(sources),
  byHand: mutantsByHand(sources),
  collector: mutantsOfCollector(),
};
if (options.of && !Object.hasOwn(kinds, options.of)) {
  throw new Error(`--of ${options.of}: expected one of ${Object.keys(kinds).join(", ")}`);
}
const chosen = Object.entries(kinds).filter(([kind]) => (options.of ?? kind) === kind);
const mutants = chosen
  .flatMap(([, made]) => made)
  .filter((mutant) => nameOf(mutant).includes(options.only))
  .sort((a, b) => (shuffled(a) < shuffled(b) ? -1 : 1));
const found = new Map(readJournal().map(({ name, outcome }) => [name, outcome]));
const waiting = mutants.filter(
  (mutant) => (found.get(nameOf(mutant))?.is ?? "survived") === "survived",
);
const startMs = performance.now();
const endMs = startMs + Number(options.minutes) * 60_000;
console.log(
  `${waiting.length} of ${mutants.length} changes are left; trying ${options.jobs} at a time`,
);
await Promise.all(Array.from({ length: Number(options.jobs) }, (_, job) => work(job)));

const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
const tallies = Object.fromEntries(chosen.map(([kind, made]) => [kind, tallyOf(made)]));
for (const [kind, tally] of Object.entries(tallies)) {
  const share = ((100 * tally.killed) / tally.compiled).toFixed(1);
  console.log(`${kind}: ${tally.tried} of ${tally.changes} changes tried, ${minutes} min`);
  console.log(`${tally.killed} of ${tally.compiled} mutants killed, ${share} %`);
  for (const { name } of tally.survivors) console.log(`survived: ${name}`);
}
if (options.write) {
  const { operators, ...others } = tallies;
  const hashes = { creationCodeHash, collectorCodeHash };
  const report: Report = { ...before, ...hashes, ...operators, ...others };
  writeFileSync(reportFile, `${JSON.stringify(report, null, 2)}\n`);
}

function readJournal(): Found[] {
  try {
    const lines = readFileSync(journal, "utf8").trimEnd().split("\n");
    return lines.map((line) => JSON.parse(line) as Found);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Runs one worker thread until no mutant is left or the time is over. */
async function work(job: number): Promise<void> {
  const workerData = { folder: join(folder, `job-${job}`) };
  const worker = new Worker(new URL("./trial-worker.ts", import.meta.url), { workerData });
  // An error in the worker rejects the promise.
  const answer = async () => (await once(worker, "message"))[0] as Outcome;
  await answer();
  const next = () => (performance.now() < endMs ? waiting.shift() : undefined);
  for (let mutant = next(); mutant; mutant = next()) {
    const answered = answer();
    worker.postMessage(mutant);
    keep(mutant, await answered);
  }
  await worker.terminate();
}

function keep(mutant: Mutant, outcome: Outcome): void {
  const name = nameOf(mutant);
  found.set(name, outcome);
  appendFileSync(journal, `${JSON.stringify({ name, outcome } satisfies Found)}\n`);
  if (outcome.is === "survived") console.log(`survived: line ${mutant.line} of ${name}`);
}

function shuffled(mutant: Mutant): string {
  return keccak256(stringToHex(nameOf(mutant)));
}

function tallyOf(all: Mutant[]): Tally {
  const outcomes = all.flatMap((mutant) => {
    const outcome = found.get(nameOf(mutant));
    return outcome ? { mutant, outcome } : [];
  });
  const of = (is: Outcome["is"]) => outcomes.filter(({ outcome }) => outcome.is === is);
  const killed = of("killed").length;
  return {
    changes: all.length,
    tried: outcomes.length,
    compiled: killed + of("survived").length,
    killed,
    survivors: of("survived").map(({ mutant }) => {
      const name = nameOf(mutant);
      return { name, reason: reasons.get(name) ?? "" };
    }),
  };
}
