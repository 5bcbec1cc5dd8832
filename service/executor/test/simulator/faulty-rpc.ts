// An endpoint whose kind of fault changes from time to time. The faults are injected into the
// transport, so batches, rate limits, and retries are real.

import {
  type Endpoint,
  openEndpoint,
  type Response,
  type Transport,
} from "../../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import { openPace } from "../../../chain/rpc/pace.ts";
import type { ChainModel } from "./chain-model.ts";
import { answer, falsified, simulationMs } from "./node-model.ts";
import type { Random, Scheduler } from "./scheduler.ts";

export type Fault =
  | "none"
  | "timeout"
  | "error"
  | "limit"
  | "stale"
  | "wrong_chain"
  | "drops_broadcasts"
  | "refuses_broadcasts"
  | "limits_logs"
  | "lacks_blocks"
  | "refuses_batches"
  | "garbles_batches"
  | "lies_on_receipts"
  | "omits_logs"
  | "nonce_ahead";

const lies: readonly Fault[] = ["lies_on_receipts", "omits_logs", "nonce_ahead"];
const honest: readonly Fault[] = [
  "timeout",
  "error",
  "limit",
  "stale",
  "wrong_chain",
  "drops_broadcasts",
  "refuses_broadcasts",
  "limits_logs",
  "lacks_blocks",
  "refuses_batches",
  "garbles_batches",
];

export type Weather = {
  /**
   * Returns whether endpoints can have faults at the current time. Near the end of a simulation,
   * there are no faults, so that all work can end.
   */
  isStormy(): boolean;
  /** The probability that a period has a fault. */
  faultRate: number;
};

const spellMsMax = 90_000;
const timeoutMs = 5000;

/** Returns a real endpoint with simulated time and the given transport. */
export const simulatedEndpoint = (
  name: string,
  scheduler: Pick<Scheduler, "now" | "sleep">,
  transport: Transport,
): Endpoint =>
  openEndpoint({ name, transport, pace: openPace(scheduler.now) }, scheduler, { timeoutMs });

/** Wraps answers in a server's response. The ID of each answer is its index. */
export const respond = (answers: readonly Answer[]): Response => ({
  status: 200,
  retryAfter: "",
  date: "",
  body: answers.map((each, id) => ({ jsonrpc: "2.0", id, ...each })),
});

/** Returns the error of a request that timed out. */
export function timedOut(): Error {
  return Object.assign(new Error("timed out"), { name: "TimeoutError" });
}

type World = { chain: ChainModel; scheduler: Scheduler; random: Random; weather: Weather };
type Spell = { fault: Fault; untilMs: number; lag: number };

/**
 * @param mayLie whether this endpoint can return wrong answers. At most one endpoint may be wrong,
 *   because two wrong endpoints can form a quorum
 */
export function faultyRpc(name: string, world: World, mayLie: boolean): Endpoint {
  const { chain, scheduler, random } = world;
  const spellNow = openSpells(world, mayLie);
  return simulatedEndpoint(name, scheduler, async (calls, patienceMs) => {
    const { fault, lag } = spellNow();
    const neededMs = simulationMs(chain, calls);
    const isLate = fault === "timeout" || neededMs > patienceMs;
    await scheduler.sleep(isLate ? patienceMs : neededMs + 5 + random() * 200);
    if (isLate) throw timedOut();
    const refusal = findRefusal(fault, calls, random);
    if (refusal) return { status: 200, date: "", retryAfter: "", body: undefined, ...refusal };
    const response = respond(calls.map((call) => answered(world, call, fault, lag)));
    await scheduler.sleep(5 + random() * 100);
    return fault === "garbles_batches" ? garbled(response, random) : response;
  });
}

function openSpells({ scheduler, random, weather }: World, mayLie: boolean): () => Spell {
  const calm: Spell = { fault: "none", untilMs: 0, lag: 0 };
  let spell = calm;
  return () => {
    if (!weather.isStormy()) return calm;
    if (scheduler.now() >= spell.untilMs) {
      const faults = mayLie ? [...honest, ...lies] : honest;
      const isBad = random() < weather.faultRate;
      spell = {
        fault: isBad ? faults[Math.floor(random() * faults.length)]! : "none",
        untilMs: scheduler.now() + random() * spellMsMax,
        lag: 1 + Math.floor(random() * 6),
      };
    }
    return spell;
  };
}

const pauses = ["", "1", "86400"];

/** Rejects a whole request, like a gateway. */
function findRefusal(
  fault: Fault,
  calls: readonly Call[],
  random: Random,
): Partial<Response> | undefined {
  if (fault === "error") return { status: random() < 0.5 ? 500 : 503 };
  if (fault === "limit" && random() < 0.5) {
    return { status: 429, retryAfter: pauses[Math.floor(random() * pauses.length)]! };
  }
  if (fault !== "refuses_batches" || calls.length < 2) return undefined;
  if (random() < 0.5) return { status: 413 };
  const error = { code: -32600, message: "no batches" };
  return { status: 200, body: { jsonrpc: "2.0", id: null, error } };
}

/** Reverses the answers of a batch, omits some answers, and changes their IDs to strings. */
function garbled({ body, ...response }: Response, random: Random): Response {
  const items = (body as { id: number }[]).filter(() => random() < 0.9).reverse();
  return { ...response, body: items.map(({ id, ...rest }) => ({ id: String(id), ...rest })) };
}

const refused = (code: number, message: string): Answer => ({ error: { code, message } });

const refusedBroadcasts = [
  "exceeds block gas limit",
  "replacement transaction underpriced",
  "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 2",
  "internal error",
];

function answered(world: World, call: Call, fault: Fault, lag: number): Answer {
  const { chain, random } = world;
  const isSend = call.method === "eth_sendRawTransaction";
  if (isSend && fault === "drops_broadcasts") return { result: "0x" };
  if (isSend && fault === "refuses_broadcasts") {
    return refused(-32000, refusedBroadcasts[Math.floor(random() * refusedBroadcasts.length)]!);
  }
  if (fault === "lacks_blocks" && random() < 0.4) return refused(-32000, "header not found");
  if (fault === "limits_logs" && call.method === "eth_getLogs") {
    return refused(-32005, "limit exceeded, too many requests for this range");
  }
  const honestly = answer(chain, fault === "stale" && !isSend ? lag : 0, call);
  if (fault === "wrong_chain" && call.method === "eth_chainId") return { result: "0x539" };
  if (fault === "omits_logs" && call.method === "eth_getLogs") return { result: [] };
  if (fault === "nonce_ahead" && call.method === "eth_getTransactionCount") {
    return "result" in honestly
      ? { result: `0x${(Number(honestly.result) + 3).toString(16)}` }
      : honestly;
  }
  if (fault === "lies_on_receipts" && call.method === "eth_getTransactionReceipt") {
    return falsified(honestly, random);
  }
  return honestly;
}
