// Many histories, beside each other on two threads.

import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Asked, Told } from "./histories-worker.ts";

const threads = 2;

/** In the order of `asked`. @throws what a history threw */
export async function tellHistories(asked: readonly Asked[]): Promise<Told[]> {
  const told: Told[] = [];
  let next = 0;
  const work = async () => {
    const worker = new Worker(new URL("./histories-worker.ts", import.meta.url));
    try {
      for (let at = next++; at < asked.length; at = next++) {
        worker.postMessage(asked[at]);
        // An error in the thread rejects this too.
        const [answer] = await once(worker, "message");
        told[at] = answer as Told;
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(threads, asked.length) }, work));
  return told;
}
