// Reports the executor's events: in the log, each at its level and without a key, URL, or calldata,
// and as Prometheus metrics. The table of events.ts says how each kind of event is reported.

import { isAddress, parseAddress } from "executable-address";
import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import type { ExecutorEvent } from "./events.ts";
import { kinds } from "./events.ts";

type EventLog = (event: ExecutorEvent) => void;

/** Returns a function that logs an event, unless it is limited. @param nowMs never goes back */
export function openEventLog(log: Logger, nowMs?: () => number): EventLog {
  // Strangers choose reasons and could use up the limits, so their events have separate limits.
  const [logOurs, logTheirs] = [limitLogs(nowMs), limitLogs(nowMs)];
  return (event) => {
    if (event.kind === "balance" && !event.isLow) return;
    if (event.kind === "late_jobs" && event.count === 0) return;
    const logLimited = "address" in event ? logTheirs : logOurs;
    if (!kinds[event.kind].isLimited) write(log, event, 0);
    else logLimited(limitKey(event), (leftOut) => write(log, event, leftOut));
  };
}

function limitKey(event: ExecutorEvent): string {
  const rpc = "rpc" in event ? event.rpc : "";
  const { reason, message, method } = event as Record<string, string | undefined>;
  const text = reason ?? message ?? method ?? "";
  return `${event.kind} ${rpc} ${messageKind(text)}`;
}

function write(log: Logger, event: ExecutorEvent, leftOut: number): void {
  const { kind, ...rest } = event;
  const shown = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, formatField(name, value)]),
  );
  if (leftOut > 0) shown.leftOut = leftOut;
  const text = kind === "balance" ? "the executor's balance is low" : kind.replaceAll("_", " ");
  log[kinds[kind].level](shown, text);
}

/** Writes addresses in the letter case of the API, so that a search in the log finds them. */
function formatField(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return name === "address" && isAddress(value) ? parseAddress(value) : value;
}

/** Registers the metrics, and returns a function that counts an event of a chain. */
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
  const help = "The value of tips of settled transactions, in wei at the operator's prices";
  const tips = new Counter({ name, help, labelNames: ["chain"], registers });
  const gauges = createGauges(registry);
  const senders = new Map<string, Set<string>>();
  return (chainId, event) => {
    const chain = String(chainId);
    // The counter of a kind accepts events of that kind, which the type cannot express.
    const counter = kinds[event.kind].counter as Counted | undefined;
    const labels = { chain, ...counter?.of?.(event) };
    if (counter) counters.get(counter.name)!.inc(labels, counter.by?.(event) ?? 1);
    if (event.kind === "settled") tips.inc({ chain }, Number(event.tips));
    if (event.kind === "lease_taken") gauges.leads.set({ chain }, 1);
    else if (event.kind === "lease_lost") {
      gauges.leads.set({ chain }, 0);
      // The process that has the lease now reports these.
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
    leads: gauge("leads", "1 if this process has the lease of the chain"),
    balance: gauge("balance_wei", "The balance of a key that pays gas", "sender"),
    blocksBehind: gauge("blocks_behind", "Blocks that the executor has not read yet"),
    secondsBehind: gauge("seconds_behind", "Age of the head while the executor is behind"),
    lastPass: gauge("last_pass_seconds", "Unix time of the last complete pass"),
    late: gauge(
      "late_jobs",
      "Addresses whose due time is later than the longest backoff, which means that a clock was " +
        "wrong",
    ),
    due: gauge("due_jobs", "Addresses that were due in the last pass"),
    waited: gauge(
      "waited_seconds",
      "Age of the oldest payment that the executor has not processed yet",
    ),
    inFlight: gauge("in_flight", "Transactions not yet final"),
    budget: gauge(
      "budget_share",
      "Share of the daily budget that is spent or reserved, from 0 to 1",
    ),
    rpcScore: gauge(
      "rpc_score",
      "Penalty points of an endpoint; the endpoint with the most points is used last",
      "rpc",
    ),
  };
}
