// Strangers whose intents take a node long to simulate: what others wait for them. Real core and
// store, simulated time; an estimate of theirs takes 0.8 s and fails, which costs them nothing.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import { ChainUnavailable } from "../../../chain/rpc/json-rpc.ts";
import { keepRunning } from "./instance.ts";
import { waitsOf } from "./liveness.ts";
import { answer, simulationMs } from "./node-model.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import { type Crowd, createWorld } from "./world.ts";

const seeds = process.env.TESTS === "long" ? [1, 2, 3, 4] : [1];
const danger = { crashRate: () => 0, freezeRate: () => 0 };

/** With two endpoints. @param startSeconds of the executor, which then knows no account */
async function historyOf(seed: number, crowd?: Crowd, startSeconds = 0) {
  const scheduler = createScheduler();
  const world = await createWorld(scheduler, seededRandom(seed), () => false, {
    isPlain: true,
    ...(crowd ? { crowd } : {}),
  });
  const random = seededRandom(seed + 1);
  const endpoints = [0, 1].map(
    (index): Endpoint => ({
      name: `rpc${index}`,
      async ask(calls, timeoutMs = 5000) {
        const neededMs = simulationMs(world.chain, calls) + 5 + random() * 100;
        await scheduler.sleep(Math.min(neededMs, timeoutMs));
        if (neededMs > timeoutMs) throw new ChainUnavailable("timed out", { isReached: true });
        return calls.map((call) => answer(world.chain, 0, call));
      },
    }),
  );
  scheduler.at(startSeconds * 1000, () =>
    keepRunning("a", world, endpoints, scheduler, random, danger, () => {}, { pollMs: 1000 }),
  );
  await scheduler.run(endSeconds * 1000);
  const waits = waitsOf(world, startSeconds);
  await world.close();
  return waits;
}

/** Payments come for 15 minutes. */
const endSeconds = 1300;
const moreBlocksMax = 3;

const quietHistories = new Map<string, ReturnType<typeof historyOf>>();
/** How many blocks payments wait without a crowd. Two of the cases compare with the same. */
function quietOf(seed: number, startSeconds: number): ReturnType<typeof historyOf> {
  const name = `${seed} ${startSeconds}`;
  const quiet = quietHistories.get(name) ?? historyOf(seed, undefined, startSeconds);
  quietHistories.set(name, quiet);
  return quiet;
}

describe(`of 100 accounts 20 slow intents each: nobody waits ${moreBlocksMax} blocks more`, () => {
  for (const [what, atSeconds, startSeconds] of [
    ["paid before any other", 1, 0],
    ["paid while others are", 300, 0],
    ["due when an executor starts that knows no account", 300, 320],
  ] as const) {
    test(what, async (t) => {
      for (const seed of seeds) {
        const quiet = await quietOf(seed, startSeconds);
        const crowd = { accounts: 100, each: 20, atSeconds };
        const loud = await historyOf(seed, crowd, startSeconds);
        const more = [...quiet].map(([address, blocks]) => loud.get(address)! - blocks);
        t.diagnostic(`seed ${seed}: ${more.join(" ")} blocks more`);
        assert.ok(Math.max(...more) <= moreBlocksMax);
      }
    });
  }
});
