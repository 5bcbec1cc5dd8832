// Defines the events that the executor reports, in the log and as Prometheus metrics. The log
// contains no keys, URLs, or calldata. A contract chooses its revert reason freely, so metrics do
// not use the reason as a label. The label is a known name, such as the name of a factory error, or
// `other`.

import { type Hex, isAddress, parseAddress } from "executable-address";
import type { Logger } from "pino";
import { Counter, Gauge, type Registry } from "prom-client";
import type { NetworkEvent } from "../chain/rpc/endpoint-record.ts";
import type { View } from "../chain/rpc/view.ts";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import type { FollowEvent } from "../follow/context.ts";
import type { Purpose } from "./ledger/purposes.ts";
import { failureLabel, type Reason } from "./ledger/reasons.ts";

export type ExecutorEvent =
  | NetworkEvent
  | FollowEvent
  | { kind: "lease_taken"; epoch: number }
  | { kind: "lease_lost" }
  | {
      kind: "pass";
      blocksBehind: number;
      secondsBehind: number;
      due: number;
      /** The time for which the oldest unprocessed payment has waited for the executor. */
      waitedSeconds: number;
      inFlight: number;
      scores: View["scores"];
      /** The part of the chain's daily budget that is already spent or reserved, from 0 to 1. */
      budgetShare: number;
    }
  | { kind: "pass_failed"; message: string }
  | { kind: "corrupt_record"; address: Hex; cause: string }
  | { kind: "attempt_failed"; address: Hex; reason: string }
  | { kind: "given_up"; address: Hex; reason: Reason }
  | { kind: "sent"; purpose: Purpose["kind"]; nonce: number; hash: Hex; addresses: number }
  | { kind: "replaced"; nonce: number; hash: Hex }
  | { kind: "fee_capped"; nonce: number }
  | { kind: "send_refused"; nonce: number; rpc: string; message: string }
  | { kind: "executed" | "recovered"; address: Hex; hash: Hex }
  | {
      kind: "settled";
      purpose: Purpose["kind"];
      sender: Hex;
      nonce: number;
      paid: bigint;
      tips: bigint;
    }
  | { kind: "reopened"; nonce: number }
  | { kind: "nonce_foreign"; nonce: number; hash: Hex }
  | { kind: "nonces_written_off"; sender: Hex; count: number; wei: bigint }
  | { kind: "gap_filled"; nonce: number }
  | { kind: "late_jobs"; count: number }
  | { kind: "signer_failed"; sender: Hex; message: string }
  | { kind: "balance"; sender: Hex; wei: bigint; isLow: boolean }
  | { kind: "stopped_for_balance" };

type Kind<Event> = {
  level: "debug" | "info" | "warn" | "error";
  /**
   * Set for events that a stranger can cause, or that repeat during an outage. These events are
   * logged at most once a minute for each reason and endpoint. Each log entry includes the number
   * of skipped events. The metrics count every event.
   */
  isLimited?: true;
  counter?: {
    name: string;
    help: string;
    labels?: readonly string[];
    of?(event: Event): Record<string, string>;
    by?(event: Event): number;
  };
};

const byRpc = {
  name: "rpc_failures_total",
  help: "Failed calls to an endpoint, and responses from an endpoint of a different chain",
  labels: ["rpc"],
  of: ({ rpc }: { rpc: string }) => ({ rpc }),
};

type Kinds = {
  readonly [Each in ExecutorEvent["kind"]]: Kind<Extract<ExecutorEvent, { kind: Each }>>;
};

const kinds: Kinds = {
  rpc_failed: { level: "debug", isLimited: true, counter: byRpc },
  rpc_wrong_chain: { level: "warn", isLimited: true, counter: byRpc },
  rpc_out: { level: "info" },
  rpc_differs: {
    level: "warn",
    isLimited: true,
    counter: {
      name: "rpc_differs_total",
      help: "Responses of an endpoint that contradict a quorum of other endpoints",
      labels: ["rpc", "method"],
      of: ({ rpc, method }) => ({ rpc, method }),
    },
  },
  rpc_disagreement: {
    level: "warn",
    isLimited: true,
    counter: {
      name: "rpc_disagreements_total",
      help: "Contradictions between endpoints",
      labels: ["about"],
      of: ({ about }) => ({ about }),
    },
  },
  lease_taken: { level: "info" },
  lease_lost: { level: "info" },
  pass: { level: "debug" },
  pass_failed: {
    level: "warn",
    isLimited: true,
    counter: { name: "passes_failed_total", help: "Passes that failed" },
  },
  detected: {
    level: "info",
    counter: { name: "detected_total", help: "Payments to known addresses" },
  },
  reorg: {
    level: "warn",
    counter: {
      name: "reorgs_total",
      help: "Reorganizations of blocks that the executor had already read",
    },
  },
  gap: {
    level: "warn",
    isLimited: true,
    counter: {
      name: "gaps_total",
      help:
        "Block ranges for which too few endpoints return logs; the executor then reads the " +
        "balances of all records",
    },
  },
  late_jobs: { level: "warn" },
  corrupt_record: { level: "error", isLimited: true },
  attempt_failed: {
    level: "info",
    isLimited: true,
    counter: {
      name: "failed_total",
      help: "Executions and recoveries that failed, before or after their transaction was sent",
      labels: ["reason"],
      of: ({ reason }) => ({ reason: failureLabel(reason) }),
    },
  },
  given_up: {
    level: "warn",
    isLimited: true,
    counter: {
      name: "given_up_total",
      help: "Addresses that the executor abandoned",
      labels: ["reason"],
      of: ({ reason }) => ({ reason }),
    },
  },
  sent: { level: "info" },
  replaced: {
    level: "info",
    counter: {
      name: "replaced_total",
      help: "Replacements of stuck transactions, which reuse the nonce",
    },
  },
  fee_capped: { level: "warn", isLimited: true },
  send_refused: { level: "warn", isLimited: true },
  executed: {
    level: "info",
    counter: { name: "executed_total", help: "Settled executions, one per event of the factory" },
  },
  recovered: {
    level: "info",
    counter: { name: "recovered_total", help: "Settled recoveries, counted once per token" },
  },
  settled: {
    level: "debug",
    counter: {
      name: "gas_paid_wei_total",
      help: "Wei paid for gas in settled transactions, by key",
      labels: ["sender"],
      of: ({ sender }) => ({ sender }),
      by: ({ paid }) => Number(paid),
    },
  },
  reopened: { level: "warn" },
  nonce_foreign: {
    level: "warn",
    counter: {
      name: "foreign_nonces_total",
      help: "Nonces that were used by a transaction that the executor does not know",
    },
  },
  nonces_written_off: {
    level: "error",
    counter: {
      name: "written_off_nonces_total",
      help: "Nonces whose transactions no endpoint returns; their maximum cost is counted as spent",
      labels: ["sender"],
      of: ({ sender }) => ({ sender }),
      by: ({ count }) => count,
    },
  },
  gap_filled: { level: "warn" },
  signer_failed: {
    level: "error",
    isLimited: true,
    counter: {
      name: "signer_failures_total",
      help: "Failed attempts to sign with a key",
      labels: ["sender"],
      of: ({ sender }) => ({ sender }),
    },
  },
  balance: { level: "warn", isLimited: true },
  stopped_for_balance: {
    level: "error",
    isLimited: true,
    counter: {
      name: "stopped_for_balance_total",
      help: "Times that transactions were postponed because the balance of a key was too low",
    },
  },
};

type Report = (event: ExecutorEvent) => void;

/**
 * Registers the metrics. Returns a function that creates a `Report` for a chain. The `Report`
 * counts and logs the chain's events.
 */
export function openReports(registry: Registry, log: Logger): (chainId: number) => Report {
  const count = countEvents(registry);
  return (chainId) => {
    const write = openEventLog(log.child({ chainId }));
    return (event) => {
      count(chainId, event);
      write(event);
    };
  };
}

/**
 * Returns a function that logs events. Similar events are rate-limited.
 *
 * @param nowMs returns milliseconds of a monotonic clock
 */
export function openEventLog(log: Logger, nowMs?: () => number): Report {
  // A stranger can cause many events that name an address. These events have their own rate
  // limiter, so that they cannot suppress other events.
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

/** Returns addresses in checksum case, like the API, so that a log search finds them. */
function formatField(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return name === "address" && isAddress(value) ? parseAddress(value) : value;
}

/** Registers the metrics, and returns a function that counts events. */
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
  const help = "Tips received for settled transactions, converted to wei at the configured prices";
  const tips = new Counter({ name, help, labelNames: ["chain"], registers });
  const gauges = createGauges(registry);
  const senders = new Map<string, Set<string>>();
  return (chainId, event) => {
    const chain = String(chainId);
    // TypeScript does not infer that this counter accepts this kind of event.
    const counter = kinds[event.kind].counter as Counted | undefined;
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
