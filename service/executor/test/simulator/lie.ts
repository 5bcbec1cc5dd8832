// One endpoint of three that lies in one way for a whole history, about any method and any field;
// and what it then cost, in wei and in blocks, beside the same world without it.

import type { Hex } from "executable-address";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import { type Answer, type Call, ChainUnavailable } from "../../../chain/rpc/json-rpc.ts";
import { type Block, type ChainModel, itemGas, priceOf } from "./chain-model.ts";
import { parseCalldata } from "./factory-model.ts";
import { keepRunning } from "./instance.ts";
import { waitsOf } from "./liveness.ts";
import { answer, simulationMs } from "./node-model.ts";
import { createScheduler, type Random, type Scheduler, seededRandom } from "./scheduler.ts";
import { faultsOf, judge } from "./verdict.ts";
import { createWorld, endSeconds, type World } from "./world.ts";

const methods = [
  "eth_getBlockByNumber",
  "eth_getTransactionCount",
  "eth_getBalance",
  "eth_getCode",
  "eth_feeHistory",
  "eth_call",
  "eth_estimateGas",
  "eth_sendRawTransaction",
  "eth_getTransactionReceipt",
  "eth_chainId",
] as const;

/** In place of any answer. */
const wholes: readonly (Answer | "silence")[] = [
  "silence",
  { result: null },
  { result: [] },
  { result: "0x" },
  ...[
    [3, "execution reverted"],
    [-32000, "nonce too low"],
    [-32000, "replacement transaction underpriced"],
    [-32000, "already known"],
    [-32000, "exceeds block gas limit"],
    [-32000, "insufficient funds for gas * price + value"],
    [-32000, "header not found"],
    [429, "too many requests"],
    [-32601, "the method does not exist"],
  ].map(([code, message]) => ({ error: { code: Number(code), message: String(message) } })),
];

const twists: readonly ((value: bigint) => bigint)[] = [
  () => 0n,
  () => 1n,
  (value) => value / 4n,
  (value) => (value > 0n ? value - 1n : 0n),
  (value) => (value + 1n) % 2n ** 256n,
  (value) => (value + 1000n) % 2n ** 256n,
  (value) => (value * 1_000_000n + 1_000_000n) % 2n ** 256n,
  () => 2n ** 64n,
  () => 2n ** 256n - 1n,
];

/** `field`: of those that an answer has, which; `word`: of those of a long answer, which. */
type Lie = {
  method: string;
  whole: Answer | "silence" | undefined;
  twist: (value: bigint) => bigint;
  field: number;
  word: number;
};

function lieOf(seed: number): Lie & { text: string } {
  const random = seededRandom(seed * 7919);
  const pick = <Each>(list: readonly Each[]) => list[Math.floor(random() * list.length)]!;
  // Drawn apart, so that seeds that found something keep their methods.
  const method = seed % 11 === 9 ? "eth_getLogs" : methods[seed % methods.length]!;
  const whole = random() < 0.3 ? pick(wholes) : undefined;
  const twist = pick(twists);
  const [field, word] = [Math.floor(random() * 60), Math.floor(random() * 4)];
  const how = whole ? JSON.stringify(whole) : `field ${field}, word ${word}, ${twist}`;
  return { method, whole, twist, field, word, text: `${method}: ${how}` };
}

/** The answer with one field changed; of a long string of words every fourth is. */
function twisted(result: unknown, lie: Lie): unknown {
  const paths = leavesOf(result);
  if (paths.length === 0) return result;
  return replaced(result, paths[lie.field % paths.length]!, (text) => {
    const digits = (value: bigint, width: number) => value.toString(16).padStart(width, "0");
    if (text.length <= 66 || (text.length - 2) % 64 !== 0) {
      const value = lie.twist(BigInt(text === "0x" ? 0 : text));
      return `0x${digits(value, text.length === 66 ? 64 : 0)}`;
    }
    const words = text.slice(2).match(/.{64}/g)!;
    const changed = words.map((word, index) =>
      index < 4 || index % 4 !== lie.word ? word : digits(lie.twist(BigInt(`0x${word}`)), 64),
    );
    return `0x${changed.join("")}`;
  });
}

type Path = (string | number)[];

function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value === "string") return /^0x[0-9a-f]*$/i.test(value) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

function replaced(value: unknown, [key, ...rest]: Path, change: (text: string) => string): unknown {
  if (key === undefined) return change(value as string);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as never;
  copy[key as never] = replaced(copy[key as never], rest, change) as never;
  return copy;
}

/** @param lie undefined: an honest one */
function endpointOf(
  name: string,
  { chain }: World,
  scheduler: Scheduler,
  random: Random,
  lie: Lie | undefined,
): Endpoint {
  return {
    name,
    async ask(calls, timeoutMs = 5000) {
      const lied = (call: Call) => lie !== undefined && call.method === lie.method;
      const isSilent = lie?.whole === "silence" && calls.some(lied);
      const neededMs = simulationMs(chain, calls);
      await scheduler.sleep(isSilent ? timeoutMs : neededMs + 5 + random() * 200);
      if (isSilent) throw new ChainUnavailable("timed out", { isReached: true });
      return calls.map((call) => {
        // What it does not take it keeps from the others too.
        if (lied(call) && lie?.whole && lie.whole !== "silence") return lie.whole;
        const honestly = answer(chain, 0, call);
        if (!lie || !lied(call)) return honestly;
        return "result" in honestly ? { result: twisted(honestly.result, lie) } : honestly;
      });
    },
  };
}

/**
 * `wastedWei`: what was paid for nothing, and above what honest endpoints ask.
 * `waits`: the blocks for which each address waited.
 */
type Price = { wastedWei: bigint; waits: ReadonlyMap<Hex, number>; faults: string[] };

/** Gives what an execution or a recovery costs at the price that honest endpoints ask. */
const fairWei = BigInt(itemGas) * 12n;

function wastedIn({ mined, baseFee, timestamp }: Block, { byTerms, setting }: ChainModel): bigint {
  const paid = mined.reduce(
    (sum, { transaction, gasUsed }) => sum + BigInt(gasUsed) * priceOf(transaction, baseFee),
    0n,
  );
  const done = mined.flatMap(({ logs }) => [...new Set(logs.map(({ topics }) => topics[1]))]);
  // Sent in time and mined too late: that happens to the honest too.
  const late = mined.flatMap(({ transaction: { to, data } }) =>
    to !== setting.factory
      ? []
      : parseCalldata(data).items.filter(({ name, terms }) => {
          return name === "execute" && byTerms.get(terms)!.expirationSeconds < timestamp;
        }),
  );
  return paid - BigInt(done.length + late.length) * fairWei;
}

type Asked = { lie?: Lie; isControl?: boolean; draw?: number };

/**
 * What a history cost. One seed gives one world, whoever is asked about it.
 * @param lie of one endpoint of three; the control asks that one alone
 * @param draw of the times that endpoints take and the executor rests
 */
async function priceOfHistory(
  seed: number,
  { lie, isControl = false, draw = 0 }: Asked,
): Promise<Price> {
  const scheduler = createScheduler();
  const world = await createWorld(scheduler, seededRandom(seed), () => false, { isPlain: true });
  const random = seededRandom(seed + 1_000_000 * (1 + draw));
  const endpoints = Array.from({ length: isControl ? 1 : 3 }, (_, index) =>
    endpointOf(`rpc${index}`, world, scheduler, random, index === 0 ? lie : undefined),
  );
  const danger = { crashRate: () => 0, freezeRate: () => 0 };
  keepRunning("a", world, endpoints, scheduler, random, danger, () => {}, { looksPerPass: 3 });
  await scheduler.run(endSeconds * 1000);
  const wastedWei = world.chain.blocks.reduce(
    (sum, block) => sum + wastedIn(block, world.chain),
    0n,
  );
  const waits = waitsOf(world, 0);
  const faults = faultsOf(await judge(world));
  await world.close();
  return { wastedWei, waits, faults };
}

/** Until an endpoint that is silent, or says no to all, is asked last. */
const lieBlocksMax = 2;

/**
 * So many honest histories of a world are looked at. They differ in when the executor looks, which
 * decides for one whether it is sent before it expires, or is returned blocks later.
 */
const drawsMax = 12;

/** Counts what only one endpoint's lie has cost: wei, blocks, or an untrue ledger. */
export async function faultsOfLie(seed: number, isControl = false) {
  const lie = lieOf(seed);
  const lied = await priceOfHistory(seed, { lie, isControl });
  const honest = await priceOfHistory(seed, {});
  const waits = new Map(honest.waits);
  const waitedMore = () =>
    Math.max(...[...lied.waits].map(([address, blocks]) => blocks - waits.get(address)!));
  for (let draw = 1; draw < drawsMax && waitedMore() > lieBlocksMax; draw++) {
    const other = await priceOfHistory(seed, { draw });
    for (const [address, blocks] of other.waits) {
      waits.set(address, Math.max(blocks, waits.get(address)!));
    }
  }
  const faults = [...lied.faults];
  if (lied.wastedWei > 0n && lied.wastedWei > honest.wastedWei)
    faults.push(`wasted ${lied.wastedWei} wei`);
  if (waitedMore() > lieBlocksMax) faults.push(`waited ${waitedMore()} blocks more`);
  return { faults: faults.map((fault) => `${lie.text}: ${fault}`), waitedMore: waitedMore() };
}
