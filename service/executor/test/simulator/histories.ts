// Runs many histories in parallel, on two threads.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { HistoryReport, HistoryRequest } from "./histories-worker.ts";

const threads = 2;

/** Idle threads, which are reused because the start of a thread takes 0.5 s of CPU time. */
const idle: Worker[] = [];

/**
 * Runs the histories, and returns their reports in the order of `requests`.
 *
 * @throws the first error that a history throws
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
      // An error in the thread ends the thread and rejects this promise.
      const [answer] = await once(worker, "message");
      reports[at] = answer as HistoryReport;
    }
    // A thread keeps the process alive only while it runs a history.
    worker.unref();
    idle.push(worker);
  };
  await Promise.all(Array.from({ length: Math.min(threads, requests.length) }, work));
  return reports;
}
