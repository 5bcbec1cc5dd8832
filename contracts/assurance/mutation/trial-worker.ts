// A worker thread of a mutation run. It tests the mutants that it receives, one after the other.

import { parentPort, workerData } from "node:worker_threads";
import { readSources } from "../published/standard-input.ts";
import type { Mutant } from "./mutants.ts";
import { openLaboratory } from "./trial.ts";

const laboratory = openLaboratory((workerData as { folder: string }).folder, readSources());
parentPort!.on("message", (mutant: Mutant) => {
  parentPort!.postMessage(laboratory.try(mutant));
});
parentPort!.postMessage("ready");
