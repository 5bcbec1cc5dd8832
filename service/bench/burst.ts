// Measures how long the executor takes to execute 2,000 addresses that are paid in the same block.
// Another 100,000 addresses are open. Run the benchmark with bench/burst.ts PAYMENTS OPEN ROUNDS
// LATENCY_MS. Blocks have 60 million gas and are mined at fixed intervals. The node, the database,
// and the executor run on the same machine. Prints medians.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultTuning } from "../executor/settings.ts";
import { openStore } from "../roles/open-store.ts";
import { startWorld } from "../testing/executor/anvil-world.ts";
import { type Burst, burst, callsIn, openAddresses } from "../testing/executor/burst.ts";
import { median } from "../testing/median.ts";
import { startPostgres } from "../testing/postgres.ts";

const args = process.argv.slice(2).map(Number);
const [payments = 2000, open = 100_000, rounds = 3, latencyMs = 0] = args;

/** Polls at the service's default interval instead of the tests' shorter interval. */
const tuning = { pollMs: defaultTuning.pollMs };

function print(what: string, bursts: readonly Burst[]): void {
  const of = (read: (each: Burst) => number) => median(bursts.map(read));
  console.log(
    `${what}: ${of(({ blocks }) => blocks)} blocks, ` +
      `${of(({ transactions }) => transactions)} transactions, ` +
      `${(of(callsIn) / payments).toFixed(2)} calls each, ` +
      `${of(({ cpuSeconds }) => cpuSeconds).toFixed(1)} s of CPU, ` +
      `${of(({ seconds }) => seconds).toFixed(1)} s in all, ` +
      `a pass that sends ${of(({ passesMs }) => median(passesMs)).toFixed(0)} ms`,
  );
}

const directory = mkdtempSync(join(tmpdir(), "burst-"));
const postgres = await startPostgres();
try {
  for (const databaseUrl of [undefined, postgres.url]) {
    const store = await openStore({ dataDirectory: directory, databaseUrl });
    const world = await startWorld();
    await openAddresses(world, store, open);
    for (const endpoints of [1, 2]) {
      for (const blockMs of [2000, 12_000]) {
        const bursts: Burst[] = [];
        for (let round = 0; round < rounds; round++) {
          const records = await openAddresses(world, store, payments);
          const options = { blockMs, latencyMs, endpoints, tuning };
          bursts.push(await burst(world, store, records, options));
        }
        const seconds = blockMs / 1000;
        print(`${store.dialect}, ${endpoints} endpoints, blocks of ${seconds} s`, bursts);
      }
    }
    await world.stop();
    await store.close();
  }
} finally {
  await postgres.stop();
  rmSync(directory, { recursive: true, force: true });
}
