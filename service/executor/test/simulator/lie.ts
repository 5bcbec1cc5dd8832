// Defines an endpoint that returns wrong answers of the same kind for a whole simulation. The wrong
// answers can concern any method and any field. The other two endpoints are correct.

import { toQuantity } from "executable-address/status";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import { respond, simulatedEndpoint, timedOut } from "./faulty-rpc.ts";
import { answer, dataFeeOracle, simulationMs } from "./node-model.ts";
import { type Random, type Scheduler, seededRandom } from "./scheduler.ts";
import { drawWidth, type Needs, type Width } from "./width.ts";
import { senders, type World } from "./world.ts";

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

/**
 * The calls whose answers can be wrong. Some calls occur only if the simulated world has the
 * features in `needs`.
 */
const subjects: readonly { name: string; needs: Needs; isOf?: (call: Call) => boolean }[] = [
  ...methods.map((name) => ({ name, needs: {} })),
  { name: "eth_getLogs", needs: {} },
  { name: "eth_getBalance", needs: { poorKey: true } },
  { name: "eth_getTransactionReceipt", needs: { traces: true } },
  { name: "debug_traceTransaction", needs: { traces: true } },
  { name: "debug_traceTransaction", needs: { traces: true } },
  { name: "eth_getBlockReceipts", needs: { fewLogs: true } },
  {
    name: "the finalized block",
    needs: { finality: true },
    isOf: ({ params }) => params[0] === "finalized",
  },
  {
    name: "the data fee",
    needs: { dataFee: true },
    isOf: ({ params }) => (params[0] as { to?: string } | undefined)?.to === dataFeeOracle,
  },
];

/** Wrong answers that do not depend on the correct answer. */
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

/**
 * `field` selects the field to change in an answer. In a field with many 32-byte words, `word`
 * selects the words to change.
 */
export type Lie = {
  isOf(call: Call): boolean;
  whole: Answer | "silence" | undefined;
  twist: (value: bigint) => bigint;
  field: number;
  word: number;
  /** Returns whether the answers are wrong at this time. */
  isOn(ms: number): boolean;
  text: string;
  /** Returns the additional features of the simulated world; undefined for none. */
  openWidth: (() => Width) | undefined;
  /**
   * The time at which the executor starts. Earlier payments are in blocks below the first block
   * that the executor reads.
   */
  startSeconds: number;
};

/**
 * A seed has additional features if its remainder after division by 7 is in this list. All other
 * seeds have the same simulations as before the features were added.
 */
const wideRemainders = [1, 3, 4, 6];

/** Derives the kind of wrong answers from the seed of a simulation. */
export function lieOf(seed: number): Lie {
  const random = seededRandom(seed * 7919);
  const pick = <Each>(list: readonly Each[], by: Random = random) =>
    list[Math.floor(by() * list.length)]!;
  // eth_simulateV1 is not in `methods`, because the length of this list determines each seed's
  // method. A seed that once found a bug must keep its method.
  const drawn = seed % 13 === 5 ? "eth_simulateV1" : methods[seed % methods.length]!;
  const method = seed % 11 === 9 ? "eth_getLogs" : drawn;
  const whole = random() < 0.3 ? pick(wholes) : undefined;
  const twist = pick(twists);
  const [field, word] = [Math.floor(random() * 60), Math.floor(random() * 4)];
  const how = whole ? JSON.stringify(whole) : `field ${field}, word ${word}, ${twist}`;
  const said = { whole, twist, field, word };
  if (!wideRemainders.includes(seed % 7)) {
    const isOf = (call: Call) => call.method === method;
    const isOn = () => true;
    const text = `${method}: ${how}`;
    return { ...said, isOf, isOn, text, openWidth: undefined, startSeconds: 0 };
  }
  const wide = seededRandom(seed * 104_729);
  const { name, needs, isOf = (call: Call) => call.method === name } = pick(subjects, wide);
  const [when, isOn] = pick(times, wide);
  const widthSeed = Math.floor(wide() * 2 ** 32);
  const openWidth = () => drawWidth(seededRandom(widthSeed), senders, needs);
  const startSeconds = wide() < 0.2 ? 900 : 0;
  return { ...said, isOf, isOn, text: `${name}, ${when}: ${how}`, openWidth, startSeconds };
}

/** The times at which the answers are wrong. */
const times: readonly [string, (ms: number) => boolean][] = [
  ["always", () => true],
  ["always", () => true],
  ["after ten minutes", (ms) => ms > 600_000],
  ["every other two minutes", (ms) => Math.floor(ms / 120_000) % 2 === 1],
];

/** Changes one field of an answer, or every fourth word of a long field. */
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
  if (typeof value === "number") return [path];
  if (typeof value === "string") return /^0x[0-9a-f]*$/i.test(value) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]));
}

function replaced(value: unknown, [key, ...rest]: Path, change: (text: string) => string): unknown {
  if (key === undefined) {
    return typeof value === "number"
      ? Number(change(toQuantity(Math.round(value))))
      : change(value as string);
  }
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as never;
  copy[key as never] = replaced(copy[key as never], rest, change) as never;
  return copy;
}

/** @param lie undefined for a correct endpoint */
export function endpointOf(
  name: string,
  { chain }: World,
  scheduler: Scheduler,
  random: Random,
  lie: Lie | undefined,
): Endpoint {
  return simulatedEndpoint(name, scheduler, async (calls, timeoutMs) => {
    const isOn = lie?.isOn(scheduler.now());
    const lied = (call: Call) => lie !== undefined && isOn && lie.isOf(call);
    const isSilent = lie?.whole === "silence" && calls.some(lied);
    const neededMs = simulationMs(chain, calls);
    await scheduler.sleep(isSilent ? timeoutMs : neededMs + 5 + random() * 200);
    if (isSilent) throw timedOut();
    const answers = calls.map((call): Answer => {
      // A transaction that this endpoint refuses does not reach the chain.
      if (lied(call) && lie?.whole && lie.whole !== "silence") return lie.whole;
      const honestly = answer(chain, 0, call);
      if (!lie || !lied(call)) return honestly;
      return "result" in honestly ? { result: twisted(honestly.result, lie) } : honestly;
    });
    return respond(answers);
  });
}
