// Many histories, beside each other on two threads.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { HistoryReport, HistoryRequest } from "./histories-worker.ts";

const threads = 2;

/** A thread that ended its histories waits here for more: to start one takes 0.5 s of CPU. */
const idle: Worker[] = [];

/** Gives them in the order of `asked`. @throws what a history threw */
export async function tellHistories(asked: readonly HistoryRequest[]): Promise<HistoryReport[]> {
  const told: HistoryReport[] = [];
  let next = 0;
  const work = async () => {
    const worker = idle.pop() ?? new Worker(new URL("./histories-worker.ts", import.meta.url));
    worker.ref();
    for (let at = next++; at < asked.length; at = next++) {
      worker.postMessage(asked[at]);
      // An error in the thread ends it, and rejects this too.
      const [answer] = await once(worker, "message");
      told[at] = answer as HistoryReport;
    }
    // A thread that waits keeps the process from ending only while it is asked.
    worker.unref();
    idle.push(worker);
  };
  await Promise.all(Array.from({ length: Math.min(threads, asked.length) }, work));
  return told;
}
