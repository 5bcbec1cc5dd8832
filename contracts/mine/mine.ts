// Mines the factory's salt: `npm run mine -w contracts`. With `-- --from COUNT`, the search starts
// at the salt COUNT, for example to continue an earlier run. A search needs about 2^32 tries, in
// one thread per processor, and finds `factorySalt`.

import { once } from "node:events";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Hex } from "viem";
import { build, readArtifact } from "../build.ts";
import { create2Address } from "../deploy.ts";
import { newSearch, saltOf } from "./search.ts";

const chunk = 1 << 16;
const reportEveryMs = 10_000;

if (isMainThread) await mine();
else await work(workerData as Hex);

/**
 * Runs a worker thread, which receives the first salt of a chunk. Responds with the chunk's lowest
 * salt whose address starts with four zero bytes, or with undefined.
 */
async function work(creationCode: Hex): Promise<void> {
  const search = await newSearch(creationCode);
  parentPort!.on("message", (from: number) => parentPort!.postMessage(search(from, from + chunk)));
}

async function mine(): Promise<void> {
  const { values } = parseArgs({ options: { from: { type: "string", default: "0" } } });
  const first = Number(values.from);
  if (!Number.isSafeInteger(first) || first < 0)
    throw new Error(`--from: expected an integer of 0 or more, found ${values.from}`);
  build("out/deployed");
  const creationCode = readArtifact("out/deployed", "PaymentFactory").bytecode;
  const startedAtMs = performance.now();
  let [next, tried, lowest] = [first, 0, Number.POSITIVE_INFINITY];
  const rate = () => `${((tried / (performance.now() - startedAtMs)) * 1000).toFixed(0)} a second`;
  const report = setInterval(
    () => console.log(`up to ${next}: ${tried} tries, ${rate()}`),
    reportEveryMs,
  );
  const dig = async () => {
    const worker = new Worker(new URL(import.meta.url), { workerData: creationCode });
    while (next < lowest) {
      worker.postMessage(next);
      next += chunk;
      const [found] = (await once(worker, "message")) as [number | undefined];
      tried += chunk;
      lowest = Math.min(lowest, found ?? lowest);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, dig));
  clearInterval(report);
  const salt = saltOf(lowest);
  console.log(`count ${lowest}, ${rate()}`);
  console.log(`salt ${salt}: the factory is at ${create2Address(creationCode, salt)}`);
}
