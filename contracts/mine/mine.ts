// Mines the salt that gives the factory an address with four leading zero bytes: `npm run mine -w
// contracts`. With `-- --from COUNT`, the search starts at the salt COUNT, for example to continue
// an earlier run. A search needs about 2^32 tries, in one thread per processor. Every search from 0
// finds the same salt, `factorySalt`, because it tries all salts in ascending order.

import { once } from "node:events";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { createKeccak } from "hash-wasm";
import { concat, type Hex, hexToBytes, keccak256, numberToHex } from "viem";
import { build, readArtifact } from "../build.ts";
import { create2Address } from "../deploy.ts";
import { deterministicDeployer } from "../deployer.ts";

const chunk = 1 << 16;
const reportEveryMs = 10_000;

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

/**
 * Runs a worker thread, which receives the first salt of a chunk. Responds with the chunk's lowest
 * salt whose address starts with four zero bytes, or with undefined.
 */
async function work(creationCode: Hex): Promise<void> {
  const search = await newSearch(creationCode);
  parentPort!.on("message", (from: number) => parentPort!.postMessage(search(from, from + chunk)));
}

/** The salt as the deterministic deployer expects it: 32 bytes. */
export const saltOf = (count: number): Hex => numberToHex(count, { size: 32 });

/**
 * Returns a function that derives a salt from each count in a range, and tries the salt. The range
 * is from `from` up to, but not including, `to`. Counts are at most 2^53. The function returns the
 * lowest count whose salt gives an address with four leading zero bytes.
 */
export async function newSearch(
  creationCode: Hex,
): Promise<(from: number, to: number) => number | undefined> {
  const keccak = await createKeccak(256);
  // EIP-1014: 0xff, deployer, salt, hash of the creation code.
  const preimage = hexToBytes(
    concat(["0xff", deterministicDeployer.address, saltOf(0), keccak256(creationCode)]),
  );
  const view = new DataView(preimage.buffer);
  const countAt = 1 + 20 + 24;
  return (from, to) => {
    for (let count = from; count < to; count++) {
      view.setUint32(countAt, Math.floor(count / 2 ** 32));
      view.setUint32(countAt + 4, count % 2 ** 32);
      const hash = keccak.init().update(preimage).digest("binary");
      // The address begins at byte 12.
      if (hash[12] === 0 && hash[13] === 0 && hash[14] === 0 && hash[15] === 0) return count;
    }
    return undefined;
  };
}

// Compares paths, because `import.meta.main` is false in a program that scripts/run.js imports.
if (resolve(process.argv[1] ?? "") === import.meta.filename) {
  if (isMainThread) await mine();
  else await work(workerData as Hex);
}
