// Measures how much longer accounts wait because other accounts have intents whose simulation takes
// long. Uses the real executor and database with simulated time. The gas estimate for a slow intent
// takes 0.8 s and then fails. The attacker pays nothing, because no transaction is sent.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLong } from "../../../../scripts/long.ts";
import { respond, simulatedEndpoint, timedOut } from "./faulty-rpc.ts";
import { keepRunning } from "./instance.ts";
import { waitsOf } from "./liveness.ts";
import { answer, simulationMs } from "./node-model.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import { type Crowd, createWorld } from "./world.ts";

const seeds = isLong ? [1, 2, 3, 4] : [1];
const danger = { crashRate: () => 0, freezeRate: () => 0 };

type Case = {
  crowd?: Crowd | undefined;
  /**
   * The time at which the executor starts. Before this time, no duration of a simulation is
   * recorded.
   */
  startSeconds?: number;
  blockSeconds: number;
  /**
   * Whether a node runs one simulation at a time, and finishes it even after the caller's timeout.
   */
  isSerial?: boolean;
};

/**
 * Runs a simulation with two endpoints.
 *
 * @returns the number of blocks that each address waited
 */
async function runHistory(seed: number, { crowd, startSeconds = 0, ...rest }: Case) {
  const { blockSeconds, isSerial = false } = rest;
  const scheduler = createScheduler();
  const world = await createWorld(scheduler, seededRandom(seed), () => false, {
    ...{ isPlain: true, blockSeconds },
    ...(crowd ? { crowd } : {}),
  });
  const random = seededRandom(seed + 1);
  const endpoints = [0, 1].map((index) => {
    let busyUntilMs = 0;
    return simulatedEndpoint(`rpc${index}`, scheduler, async (calls, timeoutMs) => {
      const nowMs = scheduler.now();
      const beganMs = isSerial ? Math.max(nowMs, busyUntilMs) : nowMs;
      busyUntilMs = beganMs + simulationMs(world.chain, calls);
      const neededMs = busyUntilMs - nowMs + 5 + random() * 100;
      await scheduler.sleep(Math.min(neededMs, timeoutMs));
      if (neededMs > timeoutMs) throw timedOut();
      return respond(calls.map((call) => answer(world.chain, 0, call)));
    });
  });
  scheduler.at(startSeconds * 1000, () =>
    keepRunning("a", world, endpoints, scheduler, random, danger, () => {}, { pollMs: 1000 }),
  );
  await scheduler.run(endSeconds * 1000);
  const waits = waitsOf(world, startSeconds);
  await world.close();
  return waits;
}

/** The duration of a simulation. Payments arrive only in the first 15 minutes. */
const endSeconds = 1300;
const moreBlocksMax = 3;

const quietHistories = new Map<string, ReturnType<typeof runHistory>>();
/**
 * Runs the simulation of a test case without its slow intents. Caches the result, because several
 * test cases need the same simulation.
 */
function quietOf(seed: number, { crowd: _, ...quiet }: Case): ReturnType<typeof runHistory> {
  const name = `${seed} ${JSON.stringify(quiet)}`;
  const history = quietHistories.get(name) ?? runHistory(seed, quiet);
  quietHistories.set(name, history);
  return history;
}

/** Returns how many more blocks each address waits because of the slow intents. */
async function moreBlocks(seed: number, given: Case): Promise<number[]> {
  const quiet = await quietOf(seed, given);
  const loud = await runHistory(seed, given);
  return [...quiet].map(([address, blocks]) => loud.get(address)! - blocks);
}

describe(`2,000 slow intents delay no other payment by more than ${moreBlocksMax} blocks`, () => {
  for (const [what, atSeconds, startSeconds] of [
    ["if the slow intents are paid before all others", 1, 0],
    ["if the slow intents are paid at the same time as others", 300, 0],
    ["if an executor without measured simulation times starts when they are due", 300, 320],
  ] as const) {
    test(what, async (t) => {
      for (const seed of seeds) {
        const crowd = { accounts: 100, each: 20, atSeconds };
        const more = await moreBlocks(seed, { crowd, startSeconds, blockSeconds: 12 });
        t.diagnostic(`seed ${seed}: ${more.join(" ")} blocks more`);
        assert.ok(Math.max(...more) <= moreBlocksMax);
      }
    });
  }
});

const moreSecondsMax = 5;

describe(`100 slow intents delay no other payment by more than ${moreSecondsMax} s`, () => {
  for (const [what, isSerial] of [
    ["at nodes that run simulations in parallel", false],
    ["at nodes that run one simulation at a time and continue after a timeout", true],
  ] as const) {
    test(what, async (t) => {
      for (const seed of seeds) {
        for (const atSeconds of [100, 600]) {
          const crowd = { accounts: 20, each: 5, atSeconds };
          const more = await moreBlocks(seed, { crowd, blockSeconds: 1, isSerial });
          t.diagnostic(`seed ${seed}, at ${atSeconds}: ${more.join(" ")} s more`);
          assert.ok(Math.max(...more) <= moreSecondsMax);
        }
      }
    });
  }
});
