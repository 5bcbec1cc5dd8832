// Reports the executor's events: in the log, each at its level and without a key, URL, or calldata,
// and as Prometheus metrics. The table of events.ts says how each kind of event is reported.

import { isAddress, parseAddress } from "executable-address";
import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import type { ExecutorEvent } from "./events.ts";
import { kinds } from "./events.ts";

type EventLog = (event: ExecutorEvent) => void;

/** @param nowMs never goes back */
export function openEventLog(log: Logger, nowMs?: () => number): EventLog {
  // Strangers write reasons and could use up the sorts that are told apart, so theirs are separate.
  const [logOurs, logTheirs] = [limitLogs(nowMs), limitLogs(nowMs)];
  return (event) => {
    if (event.kind === "balance" && !event.isLow) return;
    if (event.kind === "late_jobs" && event.count === 0) return;
    const logLimited = "address" in event ? logTheirs : logOurs;
    if (!kinds[event.kind].isSeldom) write(log, event, 0);
    else logLimited(sortOf(event), (leftOut) => write(log, event, leftOut));
  };
}

function sortOf(event: ExecutorEvent): string {
  const rpc = "rpc" in event ? event.rpc : "";
  const { reason, message, method } = event as Record<string, string | undefined>;
  const text = reason ?? message ?? method ?? "";
  return `${event.kind} ${rpc} ${messageKind(text)}`;
}

function write(log: Logger, event: ExecutorEvent, leftOut: number): void {
  const { kind, ...rest } = event;
  const shown = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, shownOf(name, value)]),
  );
  if (leftOut > 0) shown.leftOut = leftOut;
  const text = kind === "balance" ? "the executor's balance is low" : kind.replaceAll("_", " ");
  log[kinds[kind].level](shown, text);
}

/**
 * Addresses in the letter case of the API, so that a search for one finds it. Text that is no
 * address stays as it is.
 */
function shownOf(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return name === "address" && isAddress(value) ? parseAddress(value) : value;
}

/** @returns what counts an event of a chain */
export function countEvents(registry: Registry): (chainId: number, event: ExecutorEvent) => void {
  const registers = [registry];
  const counters = new Map<string, Counter>();
  for (const { counter } of Object.values(kinds)) {
    if (!counter || counters.has(counter.name)) continue;
    const { name, help, labels = [] } = counter;
    const labelNames = ["chain", ...labels];
    counters.set(name, new Counter({ name: `executor_${name}`, help, labelNames, registers }));
  }
  const name = "executor_tips_wei_total";
  const help = "What tips of settled transactions were worth, in wei at the operator's prices";
  const tips = new Counter({ name, help, labelNames: ["chain"], registers });
  const gauges = createGauges(registry);
  const senders = new Map<string, Set<string>>();
  return (chainId, event) => {
    const chain = String(chainId);
    // The table has for each kind what takes its events.
    const counter = kinds[event.kind].counter as Counted | undefined;
    const labels = { chain, ...counter?.of?.(event) };
    if (counter) counters.get(counter.name)!.inc(labels, counter.by?.(event) ?? 1);
    if (event.kind === "settled") tips.inc({ chain }, Number(event.tips));
    if (event.kind === "lease_taken") gauges.leads.set({ chain }, 1);
    else if (event.kind === "lease_lost") {
      gauges.leads.set({ chain }, 0);
      // What another process leads is shown by that one.
      const { balance, due, waited, inFlight, budget } = gauges;
      for (const gauge of [due, waited, inFlight, budget]) gauge.remove({ chain });
      for (const sender of senders.get(chain) ?? []) balance.remove({ chain, sender });
    } else if (event.kind === "balance") {
      const { sender } = event;
      senders.set(chain, (senders.get(chain) ?? new Set()).add(sender));
      gauges.balance.set({ chain, sender }, Number(event.wei));
    } else if (event.kind === "late_jobs") gauges.late.set({ chain }, event.count);
    else if (event.kind === "pass") {
      gauges.blocksBehind.set({ chain }, event.blocksBehind);
      gauges.secondsBehind.set({ chain }, event.secondsBehind);
      gauges.due.set({ chain }, event.due);
      gauges.waited.set({ chain }, event.waitedSeconds);
      gauges.lastPass.setToCurrentTime({ chain });
      gauges.inFlight.set({ chain }, event.inFlight);
      gauges.budget.set({ chain }, event.budgetShare);
      for (const { rpc, points } of event.scores) gauges.rpcScore.set({ chain, rpc }, points);
    }
  };
}

type Counted = {
  name: string;
  of?(event: ExecutorEvent): Record<string, string>;
  by?(event: ExecutorEvent): number;
};

function createGauges(registry: Registry) {
  const gauge = (name: string, help: string, ...labels: string[]) =>
    new Gauge({
      name: `executor_${name}`,
      help,
      labelNames: ["chain", ...labels],
      registers: [registry],
    });
  return {
    leads: gauge("leads", "1 where this process is the chain's sender"),
    balance: gauge("balance_wei", "What a key that pays gas has left", "sender"),
    blocksBehind: gauge("blocks_behind", "Blocks not yet swept for payments"),
    secondsBehind: gauge("seconds_behind", "Age of the head while blocks are behind"),
    lastPass: gauge("last_pass_seconds", "Unix time of the last pass that came to its end"),
    late: gauge("late_jobs", "Addresses found due later than any backoff: a clock was wrong"),
    due: gauge("due_jobs", "Addresses that were due in the last pass"),
    waited: gauge("waited_seconds", "Age of the oldest payment that waits for the executor itself"),
    inFlight: gauge("in_flight", "Transactions not yet final"),
    budget: gauge("budget_share", "Share of the day's budget that is spent or on its way, 0 to 1"),
    rpcScore: gauge("rpc_score", "Points against an endpoint; the worst is asked last", "rpc"),
  };
}
