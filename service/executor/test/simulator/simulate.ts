// Runs one simulation from a seed, with the real executor and a real database.

import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import { ChainUnavailable } from "../../../chain/rpc/json-rpc.ts";
import type { ExecutorEvent } from "../../events/event.ts";

import { faultyRpc } from "./faulty-rpc.ts";
import { keepRunning } from "./instance.ts";
import { longestWait } from "./liveness.ts";
import { keepRunningNaively } from "./naive.ts";
import { createScheduler, seededRandom } from "./scheduler.ts";
import { judge, judgeChain, type Verdict } from "./verdict.ts";
import { tippedWidth } from "./width.ts";
import { createWorld, endSeconds, overTimes, senders, stormSeconds } from "./world.ts";

export type History = {
  verdict: Verdict;
  events: { instance: string; event: ExecutorEvent }[];
  /** The highest number of blocks that movable money stayed at an address after the faults. */
  waitBlocksMax: number;
  /** The longest time without a request to any endpoint. */
  silentSecondsMax: number;
};

export type Options = {
  /** The number of intents whose simulation takes long. */
  hostile?: number;
  /**
   * Whether the executor separates slow simulated calls from the other calls. Only a control test
   * sets this to `false`. A slow call then makes its endpoint unavailable.
   */
  isolates?: boolean;
  /** Whether all intents are expired. */
  isOver?: boolean;
  watch?(line: string): void;
  /**
   * The number of balances that the executor reads at a time. It is low, so that a scan takes
   * several steps.
   */
  recordsPerPass?: number;
  /** The number of keys that pay gas. If there are two keys, each key sometimes refuses to sign. */
  keys?: number;
  /** If true, some intents pay a tip, and executions use more or less gas than estimated. */
  isTipped?: boolean;
};

export async function simulate(seed: number, options: Options = {}): Promise<History> {
  const { watch, recordsPerPass = 3, hostile = 0, isolates = true, isOver = false } = options;
  const { keys = 1, isTipped = false } = options;
  const random = seededRandom(seed);
  const scheduler = createScheduler();
  const times = isOver ? overTimes : 1;
  const isStormy = () => scheduler.now() < stormSeconds * times * 1000;
  const world = await createWorld(scheduler, random, isStormy, {
    ...{ hostile, isOver },
    ...(isTipped && { width: tippedWidth(seededRandom(seed * 104_729), keys) }),
  });
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
  let askedMs = 0;
  let silentMsMax = 0;
  const heard = ({ name, ask }: Endpoint): Endpoint => ({
    name,
    ask(...asked) {
      silentMsMax = Math.max(silentMsMax, scheduler.now() - askedMs);
      askedMs = scheduler.now();
      return ask(...asked);
    },
  });
  const instances = random() < 0.5 ? ["a"] : ["a", "b"];
  for (const name of instances) {
    const parts = { chain: world.chain, scheduler, random, weather };
    const endpoints = Array.from({ length: rpcCount }, (_, i) =>
      heard(faultyRpc(`${name}-rpc${i}`, parts, rpcCount > 1 && i === 0)),
    );
    const shown = isolates ? endpoints : endpoints.map(goneWhenSlow);
    const tuning = isolates ? { recordsPerPass } : { recordsPerPass, intentGasMax: 60_000_000 };
    const own = senders.slice(0, keys);
    keepRunning(name, world, shown, scheduler, random, danger, report, tuning, own);
  }
  await scheduler.run(endSeconds * times * 1000);
  const verdict = await judge(world);
  await world.close();
  const waitBlocksMax = longestWait(world, stormSeconds * times);
  return { verdict, events, waitBlocksMax, silentSecondsMax: silentMsMax / 1000 };
}

/** Wraps `rpc`: after a slow simulation, the endpoint is unavailable for the rest of the poll. */
function goneWhenSlow(rpc: Endpoint): Endpoint {
  let isSlow = false;
  return {
    name: rpc.name,
    async ask(calls, timeoutMs) {
      const isCheck = calls.length === 1 && calls[0]!.method === "eth_chainId";
      if (isCheck && isSlow) {
        isSlow = false;
        throw new ChainUnavailable("timed out");
      }
      try {
        return await rpc.ask(calls, timeoutMs);
      } catch (error) {
        isSlow = calls.some(({ method }) => method === "eth_estimateGas");
        throw error;
      }
    },
  };
}

/** Runs a simulation with the naive executor. Checks only the chain, and not the database. */
export async function simulateNaively(seed: number): Promise<ReturnType<typeof judgeChain>> {
  const random = seededRandom(seed);
  const scheduler = createScheduler();
  const isStormy = () => scheduler.now() < stormSeconds * 1000;
  const world = await createWorld(scheduler, random, isStormy);
  const weather = { isStormy, faultRate: random() * 0.5 };
  const parts = { chain: world.chain, scheduler, random, weather };
  const crashRate = random() * 0.02;
  keepRunningNaively(world, faultyRpc("rpc", parts, false), scheduler, random, () =>
    isStormy() ? crashRate : 0,
  );
  await scheduler.run(endSeconds * 1000);
  await world.close();
  return judgeChain(world);
}
