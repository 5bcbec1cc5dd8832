// Runs simulations in a worker thread, because the test runner tracks every promise of its own
// thread.

import { parentPort } from "node:worker_threads";
import { faultsOfLie } from "./price.ts";
import { type Options, simulate, simulateNaively } from "./simulate.ts";
import { faultsOf } from "./verdict.ts";

/**
 * `real` runs the real executor, and `naive` the naive one. With `lie`, one of three endpoints
 * returns wrong answers. With `believing`, the executor asks only this endpoint.
 */
type Kind = "real" | "naive" | "lie" | "believing";

export type HistoryRequest = { seed: number; kind: Kind; options: Omit<Options, "watch"> };

export type HistoryReport = {
  seed: number;
  faults: string[];
  /** The number of the executors' events by kind. */
  counts: Record<string, number>;
  waitBlocksMax: number;
  silentSecondsMax: number;
};

parentPort!.on("message", async ({ seed, kind, options }: HistoryRequest) => {
  parentPort!.postMessage(await report(seed, kind, options));
});

function report(
  seed: number,
  kind: Kind,
  options: HistoryRequest["options"],
): Promise<HistoryReport> {
  if (kind === "naive") return naively(seed);
  return kind === "real" ? honestly(seed, options) : withLie(seed, kind === "believing");
}

async function honestly(seed: number, options: HistoryRequest["options"]): Promise<HistoryReport> {
  const { verdict, events, ...rest } = await simulate(seed, options);
  const counts: HistoryReport["counts"] = {};
  for (const { event } of events) counts[event.kind] = (counts[event.kind] ?? 0) + 1;
  return { seed, faults: faultsOf(verdict), counts, ...rest };
}

async function naively(seed: number): Promise<HistoryReport> {
  const { missing, duplicate } = await simulateNaively(seed);
  return { seed, faults: [...missing, ...duplicate], counts: {}, ...unmeasured };
}

async function withLie(seed: number, isControl: boolean): Promise<HistoryReport> {
  const { faults, waitedMore } = await faultsOfLie(seed, isControl);
  return { seed, faults, counts: {}, ...unmeasured, waitBlocksMax: waitedMore };
}

const unmeasured = { waitBlocksMax: 0, silentSecondsMax: 0 };
