// An endpoint that is not always itself. Faults come in spells, each of its own kind.

import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import { type Answer, type Call, ChainUnavailable } from "../../../chain/rpc/json-rpc.ts";
import type { ChainModel } from "./chain-model.ts";
import { answer, falsified, simulationMs } from "./node-model.ts";
import type { Random, Scheduler } from "./scheduler.ts";

export type Fault =
  | "none"
  | "timeout"
  | "error"
  | "stale"
  | "wrong_chain"
  | "drops_broadcasts"
  | "lies_on_receipts"
  | "omits_logs"
  | "nonce_ahead";

const lies: readonly Fault[] = ["lies_on_receipts", "omits_logs", "nonce_ahead"];
const honest: readonly Fault[] = ["timeout", "error", "stale", "wrong_chain", "drops_broadcasts"];

export type Weather = {
  /** False near the end, so that everything can come to rest. */
  isStormy(): boolean;
  /** This share of calls fails in a spell. */
  faultRate: number;
};

const spellMsMax = 90_000;
const timeoutMs = 5000;

/**
 * @param mayLie whether this endpoint is the one of its chain that may deceive: of several, the
 *   executor can see through one at a time
 */
export function faultyRpc(
  name: string,
  world: { chain: ChainModel; scheduler: Scheduler; random: Random; weather: Weather },
  mayLie: boolean,
): Endpoint {
  const { chain, scheduler, random, weather } = world;
  let spell: { fault: Fault; untilMs: number; lag: number } = { fault: "none", untilMs: 0, lag: 0 };
  const faultNow = (): typeof spell => {
    if (!weather.isStormy()) return { fault: "none", untilMs: 0, lag: 0 };
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
  return {
    name,
    async ask(calls, patienceMs = timeoutMs) {
      const { fault, lag } = faultNow();
      const neededMs = simulationMs(chain, calls);
      const isLate = fault === "timeout" || neededMs > patienceMs;
      await scheduler.sleep(isLate ? patienceMs : neededMs + 5 + random() * 200);
      if (isLate) throw new ChainUnavailable("timed out", { isReached: true });
      if (fault === "error")
        throw new ChainUnavailable(random() < 0.5 ? "answered 500" : "answered 429");
      const answers = calls.map((call) => answered(call, fault, lag));
      await scheduler.sleep(5 + random() * 100);
      return answers;
    },
  };

  function answered(call: Call, fault: Fault, lag: number): Answer {
    const isSend = call.method === "eth_sendRawTransaction";
    if (isSend && fault === "drops_broadcasts") return { result: "0x" };
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
}
