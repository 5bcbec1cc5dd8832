// One thread of a mutation run. It tests the mutants that it receives, one after the other.

import { parentPort, workerData } from "node:worker_threads";
import { readSources } from "../published/standard-input.ts";
import type { Mutant } from "./mutants.ts";
import { openLaboratory } from "./trial.ts";

const sources = readSources();
const laboratory = openLaboratory((workerData as { folder: string }).folder, sources);
parentPort!.on("message", ({ file, source }: Mutant) => {
  parentPort!.postMessage(laboratory.try({ ...sources, [file]: source }));
});
parentPort!.postMessage("ready");
