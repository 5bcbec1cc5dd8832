// A whole history from a seed, with the real core and the real store.

import type { ExecutorEvent } from "../../parts.ts";
import { faultyRpc } from "./faulty-rpc.ts";
import { keepRunning } from "./instance.ts";
import { keepRunningNaively } from "./naive.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import { judge, judgeChain, type Verdict } from "./verdict.ts";
import { createWorld, endSeconds, sender, stormSeconds } from "./world.ts";

export type History = { verdict: Verdict; events: { instance: string; event: ExecutorEvent }[] };

export type Options = {
  watch?(line: string): void;
  /** As in the core's tuning; few, so that walks take several steps. */
  looksPerPass?: number;
};

export async function simulate(seed: number, options: Options = {}): Promise<History> {
  const { watch, looksPerPass = 3 } = options;
  const random = seededRandom(seed);
  const scheduler = createScheduler();
  const isStormy = () => scheduler.now() < stormSeconds * 1000;
  const world = await createWorld(scheduler, random, isStormy);
  const rpcCount = random() < 0.25 ? 1 : 3;
  const faultRate = random() * 0.5;
  const weather = { isStormy, faultRate };
  const events: History["events"] = [];
  const report = (instance: string, event: ExecutorEvent) => {
    events.push({ instance, event });
    const plain = (_key: string, value: unknown) =>
      typeof value === "bigint" ? value.toString() : value;
    watch?.(`${(scheduler.now() / 1000).toFixed(1)} ${instance} ${JSON.stringify(event, plain)}`);
  };
  const crashRate = random() * 0.004;
  const freezeRate = random() * 0.002;
  const danger = {
    crashRate: () => (isStormy() ? crashRate : 0),
    freezeRate: () => (isStormy() ? freezeRate : 0),
  };
  const instances = random() < 0.5 ? ["a"] : ["a", "b"];
  for (const name of instances) {
    const parts = { chain: world.chain, sender, scheduler, random, weather };
    const endpoints = Array.from({ length: rpcCount }, (_, i) =>
      faultyRpc(`${name}-rpc${i}`, parts, rpcCount > 1 && i === 0),
    );
    keepRunning(name, world, endpoints, scheduler, random, danger, report, looksPerPass);
  }
  await scheduler.run(endSeconds * 1000);
  const verdict = await judge(world);
  await world.close();
  return { verdict, events };
}

/** The same kind of world under the naive executor, judged by the chain alone. */
export async function simulateNaively(seed: number): Promise<ReturnType<typeof judgeChain>> {
  const random = seededRandom(seed);
  const scheduler = createScheduler();
  const isStormy = () => scheduler.now() < stormSeconds * 1000;
  const world = await createWorld(scheduler, random, isStormy);
  const weather = { isStormy, faultRate: random() * 0.5 };
  const parts = { chain: world.chain, sender, scheduler, random, weather };
  const crashRate = random() * 0.02;
  keepRunningNaively(world, faultyRpc("rpc", parts, false), scheduler, random, () =>
    isStormy() ? crashRate : 0,
  );
  await scheduler.run(endSeconds * 1000);
  await world.close();
  return judgeChain(world);
}
