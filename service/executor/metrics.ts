// The executor's Prometheus metrics. Labels come from a fixed list: a reason that a contract wrote
// is counted under the name of its error, or as `other`.

import { Counter, Gauge, type Registry } from "prom-client";
import type { ExecutorEvent } from "./parts.ts";

const knownReasons = [
  "CallFailed",
  "NoCode",
  "Underfunded",
  "Expired",
  "AlreadyOver",
  "WrongChain",
  "CreationFailed",
  "NotRecoverable",
  "reverted on chain",
  "takes",
];
const labelOf = (reason: string) =>
  knownReasons.find((known) => reason.startsWith(known)) ?? "other";

/** @returns what counts an event of a chain */
export function countEvents(registry: Registry): (chainId: number, event: ExecutorEvent) => void {
  const { counters, gauges } = createMetrics(registry);
  return (chainId, event) => {
    const chain = String(chainId);
    switch (event.kind) {
      case "detected":
      case "executed":
      case "recovered":
      case "replaced":
      case "reorg":
      case "pass_failed":
        return counters[event.kind].inc({ chain });
      case "attempt_failed":
        return counters.failed.inc({
          chain,
          reason: labelOf(event.reason),
        });
      case "given_up":
        return counters.givenUp.inc({ chain, reason: event.reason });
      case "settled":
        return counters.paid.inc({ chain }, Number(event.paid));
      case "rpc_failed":
      case "rpc_wrong_chain":
        return counters.rpcFailed.inc({ chain, rpc: event.rpc });
      case "rpc_disagreement":
        return counters.rpcDisagreed.inc({ chain, about: event.about });
      case "lease_taken":
        return gauges.leads.set({ chain }, 1);
      case "lease_lost":
        return gauges.leads.set({ chain }, 0);
      case "balance":
        return gauges.balance.set({ chain }, Number(event.wei));
      case "stopped_for_balance":
        return counters.stopped.inc({ chain });
      case "pass":
        gauges.blocksBehind.set({ chain }, event.blocksBehind);
        gauges.secondsBehind.set({ chain }, event.secondsBehind);
        gauges.due.set({ chain }, event.due);
        gauges.lastPass.setToCurrentTime({ chain });
        return gauges.inFlight.set({ chain }, event.inFlight);
    }
  };
}

function createMetrics(registry: Registry) {
  const registers = [registry];
  const counter = (name: string, help: string, ...labels: string[]) =>
    new Counter({ name: `executor_${name}`, help, labelNames: ["chain", ...labels], registers });
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `executor_${name}`, help, labelNames: ["chain"], registers });
  return {
    counters: {
      detected: counter("detected_total", "Payments seen to known addresses"),
      executed: counter("executed_total", "Executions settled, by the factory's event"),
      recovered: counter("recovered_total", "Recoveries settled, one for each token"),
      failed: counter("failed_total", "Attempts that failed, estimated or mined", "reason"),
      givenUp: counter("given_up_total", "Addresses set aside until an operator retries", "reason"),
      paid: counter("gas_paid_wei_total", "Wei paid for gas in settled transactions"),
      replaced: counter("replaced_total", "Stuck transactions replaced at their nonce"),
      reorg: counter("reorgs_total", "Reorgs that reached below the cursor"),
      pass_failed: counter("passes_failed_total", "Passes that ended early"),
      stopped: counter("stopped_for_balance_total", "Passes that sent less for want of balance"),
      rpcFailed: counter(
        "rpc_failures_total",
        "Endpoints that failed or were not themselves",
        "rpc",
      ),
      rpcDisagreed: counter("rpc_disagreements_total", "Endpoints that contradict", "about"),
    },
    gauges: {
      leads: gauge("leads", "1 where this process is the chain's sender"),
      balance: gauge("balance_wei", "The sender's balance"),
      blocksBehind: gauge("blocks_behind", "Blocks not yet swept for payments"),
      secondsBehind: gauge("seconds_behind", "Age of the head while blocks are behind"),
      lastPass: gauge("last_pass_seconds", "Unix time of the last pass that came to its end"),
      due: gauge("due_jobs", "Addresses that were due in the last pass"),
      inFlight: gauge("in_flight", "Transactions not yet final"),
    },
  };
}
