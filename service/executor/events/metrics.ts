// Counts the executor's events as Prometheus metrics. A contract chooses its revert reason freely,
// so metrics do not use the reason as a label. The label is a known name, such as the name of a
// factory error, or `other`.

import { Counter, Gauge, type Registry } from "prom-client";
import { failureLabel } from "../ledger/reasons.ts";
import type { ExecutorEvent } from "./event.ts";

/** Registers the metrics, and returns a function that counts events. */
export function countEvents(registry: Registry): (chainId: number, event: ExecutorEvent) => void {
  const registers = [registry];
  const counters = new Map<string, Counter>();
  for (const { name, help, labels = [] } of Object.values(counted)) {
    if (counters.has(name)) continue;
    const labelNames = ["chain", ...labels];
    counters.set(name, new Counter({ name: `executor_${name}`, help, labelNames, registers }));
  }
  const name = "executor_tips_wei_total";
  const help = "Tips received for settled transactions, converted to wei at the configured prices";
  const tips = new Counter({ name, help, labelNames: ["chain"], registers });
  const gauges = createGauges(registry);
  const senders = new Map<string, Set<string>>();
  return (chainId, event) => {
    const chain = String(chainId);
    // TypeScript does not infer that this counter accepts this kind of event.
    const counter = counted[event.kind] as Counted<ExecutorEvent> | undefined;
    const labels = { chain, ...counter?.of?.(event) };
    if (counter) counters.get(counter.name)!.inc(labels, counter.by?.(event) ?? 1);
    if (event.kind === "settled") tips.inc({ chain }, Number(event.tips));
    if (event.kind === "lease_taken") gauges.leads.set({ chain }, 1);
    else if (event.kind === "lease_lost") {
      gauges.leads.set({ chain }, 0);
      // Another process now has the lease and reports these gauges.
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

/**
 * A counter of events. `of` returns the labels. `by` returns the number to add, which is 1 by
 * default.
 */
type Counted<Event> = {
  name: string;
  help: string;
  labels?: readonly string[];
  of?(event: Event): Record<string, string>;
  by?(event: Event): number;
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
    leads: gauge(
      "leads",
      "1 if this process has the chain's lease and sends its transactions, otherwise 0",
    ),
    balance: gauge("balance_wei", "The balance of a key that pays gas", "sender"),
    blocksBehind: gauge("blocks_behind", "Blocks that the executor has not read yet"),
    secondsBehind: gauge(
      "seconds_behind",
      "0 if the executor has read all blocks, otherwise the age of the newest block",
    ),
    lastPass: gauge("last_pass_seconds", "Unix time of the last complete pass of the executor"),
    late: gauge(
      "late_jobs",
      "Addresses that a wrong block time had postponed by more than a day, as of the last " +
        "search; the executor made them due",
    ),
    due: gauge("due_jobs", "Addresses that were due in the last pass of the executor"),
    waited: gauge(
      "waited_seconds",
      "Age of the oldest payment that the executor has not processed yet",
    ),
    inFlight: gauge("in_flight", "Transactions not yet final"),
    budget: gauge(
      "budget_share",
      "Share of the chain's daily gas budget that is spent or reserved, from 0 to 1",
    ),
    rpcScore: gauge(
      "rpc_score",
      "Penalty points of an endpoint; the endpoint with the most points is used last",
      "rpc",
    ),
  };
}

const byRpc = {
  name: "rpc_failures_total",
  help: "Failed calls to an endpoint, and responses from an endpoint of a different chain",
  labels: ["rpc"],
  of: ({ rpc }: { rpc: string }) => ({ rpc }),
};

const counted: {
  readonly [Each in ExecutorEvent["kind"]]?: Counted<Extract<ExecutorEvent, { kind: Each }>>;
} = {
  rpc_failed: byRpc,
  rpc_wrong_chain: byRpc,
  rpc_differs: {
    name: "rpc_differs_total",
    help: "Responses of an endpoint that contradict a quorum of other endpoints",
    labels: ["rpc", "method"],
    of: ({ rpc, method }) => ({ rpc, method }),
  },
  rpc_disagreement: {
    name: "rpc_disagreements_total",
    help: "Contradictions between endpoints",
    labels: ["about"],
    of: ({ about }) => ({ about }),
  },
  pass_failed: { name: "passes_failed_total", help: "Passes that failed" },
  detected: { name: "detected_total", help: "Payments to known addresses" },
  reorg: {
    name: "reorgs_total",
    help: "Reorganizations of blocks that the executor had already read",
  },
  gap: {
    name: "gaps_total",
    help:
      "Block ranges for which too few endpoints return logs; the executor then reads the " +
      "balances of all records",
  },
  attempt_failed: {
    name: "failed_total",
    help: "Executions and recoveries that failed, before or after their transaction was sent",
    labels: ["reason"],
    of: ({ reason }) => ({ reason: failureLabel(reason) }),
  },
  given_up: {
    name: "given_up_total",
    help: "Addresses that the executor abandoned",
    labels: ["reason"],
    of: ({ reason }) => ({ reason }),
  },
  replaced: {
    name: "replaced_total",
    help: "Transactions that replaced a stuck transaction at the same nonce",
  },
  executed: { name: "executed_total", help: "Settled executions, one per event of the factory" },
  recovered: { name: "recovered_total", help: "Settled recoveries, counted once per token" },
  settled: {
    name: "gas_paid_wei_total",
    help: "Wei paid for gas in settled transactions, by key",
    labels: ["sender"],
    of: ({ sender }) => ({ sender }),
    by: ({ paid }) => Number(paid),
  },
  nonce_foreign: {
    name: "foreign_nonces_total",
    help: "Nonces that were used by a transaction that the executor does not know",
  },
  nonces_written_off: {
    name: "written_off_nonces_total",
    help: "Nonces whose transactions no endpoint knows; their maximum cost counts as spent",
    labels: ["sender"],
    of: ({ sender }) => ({ sender }),
    by: ({ count }) => count,
  },
  signer_failed: {
    name: "signer_failures_total",
    help: "Failed attempts to sign with a key",
    labels: ["sender"],
    of: ({ sender }) => ({ sender }),
  },
  stopped_for_balance: {
    name: "stopped_for_balance_total",
    help: "How often transactions were postponed because the balance of a key was too low",
  },
};
