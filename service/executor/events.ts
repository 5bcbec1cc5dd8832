// The events that the executor reports, and how each kind is reported: its level in the log, and
// the metric that counts it. Labels are from a fixed list. A reason from a contract is counted
// under the name of its error, or as `other`.

import type { Hex } from "executable-address";
import type { NetworkEvent } from "../chain/rpc/endpoint-record.ts";
import type { View } from "../chain/rpc/view.ts";
import type { FollowEvent } from "../follow/parts.ts";
import type { Purpose } from "./ledger/purposes.ts";

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
      /** How long the oldest payment has waited for the executor. */
      waitedSeconds: number;
      inFlight: number;
      scores: View["scores"];
      /**
       * The share of the chain's daily budget that is spent or reserved for pending transactions.
       */
      budgetShare: number;
    }
  | { kind: "pass_failed"; message: string }
  | { kind: "corrupt_record"; address: Hex; cause: string }
  | { kind: "attempt_failed"; address: Hex; reason: string }
  | { kind: "given_up"; address: Hex; reason: string }
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
   * Any address can cause the event, and an outage can repeat it in each pass. It is logged at most
   * once a minute for each reason and endpoint, with the number of skipped events. Metrics count
   * all.
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

const knownReasons = [
  "CallFailed",
  "NoCode",
  "Underfunded",
  "Expired",
  "AlreadyOver",
  "WrongChain",
  "CreationFailed",
  "TooLittleGas",
  "NotRecoverable",
  "reverted on chain",
  "takes",
];
const toLabel = (reason: string) =>
  knownReasons.find((known) => reason.startsWith(known)) ?? "other";

const byRpc = {
  name: "rpc_failures_total",
  help: "Failed calls of an endpoint, and endpoints that belong to another chain",
  labels: ["rpc"],
  of: ({ rpc }: { rpc: string }) => ({ rpc }),
};

type Kinds = {
  readonly [Each in ExecutorEvent["kind"]]: Kind<Extract<ExecutorEvent, { kind: Each }>>;
};

export const kinds: Kinds = {
  rpc_failed: { level: "debug", isLimited: true, counter: byRpc },
  rpc_wrong_chain: { level: "warn", isLimited: true, counter: byRpc },
  rpc_out: { level: "info" },
  rpc_differs: {
    level: "warn",
    isLimited: true,
    counter: {
      name: "rpc_differs_total",
      help: "Responses of an endpoint that a quorum of other endpoints contradicts",
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
        "Block ranges whose logs too few endpoints return, after which the executor reads the " +
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
      help: "Failed attempts, in an estimate or on the chain",
      labels: ["reason"],
      of: ({ reason }) => ({ reason: toLabel(reason) }),
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
    counter: { name: "replaced_total", help: "Stuck transactions replaced at their nonce" },
  },
  fee_capped: { level: "warn", isLimited: true },
  send_refused: { level: "warn", isLimited: true },
  executed: {
    level: "info",
    counter: { name: "executed_total", help: "Settled executions, counted by the factory's event" },
  },
  recovered: {
    level: "info",
    counter: { name: "recovered_total", help: "Settled recoveries, one per token" },
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
      help: "Nonces whose transactions no endpoint returns, charged at the highest possible cost",
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
      help: "Failures of a key to sign",
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
      help: "Passes that sent fewer transactions because the balance of a key was too low",
    },
  },
};
