// Runs many simulations in parallel, on two threads.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { HistoryReport, HistoryRequest } from "./histories-worker.ts";

const threads = 2;

/** Idle threads, for reuse, because each new thread must load the simulator's modules. */
const idle: Worker[] = [];

/**
 * Runs the simulations, and returns their reports in the order of `requests`.
 *
 * @throws the first error of a simulation
 */
export async function reportHistories(
  requests: readonly HistoryRequest[],
): Promise<HistoryReport[]> {
  const reports: HistoryReport[] = [];
  let next = 0;
  const work = async () => {
    const worker = idle.pop() ?? new Worker(new URL("./histories-worker.ts", import.meta.url));
    worker.ref();
    for (let at = next++; at < requests.length; at = next++) {
      worker.postMessage(requests[at]);
      // An error in the thread rejects this promise.
      const [answer] = await once(worker, "message");
      reports[at] = answer as HistoryReport;
    }
    // An idle thread does not keep the process alive.
    worker.unref();
    idle.push(worker);
  };
  await Promise.all(Array.from({ length: Math.min(threads, requests.length) }, work));
  return reports;
}
