// Logs the executor's events. The log contains no keys, URLs, or calldata.

import { type Hex, isAddress, parseAddress } from "executable-address";
import type { Logger } from "pino";
import { limitLogs, messageKind } from "../../flow/log-limit.ts";
import type { ExecutorEvent } from "./event.ts";

/**
 * Returns a function that logs events. Similar events are rate-limited.
 *
 * @param nowMs returns milliseconds of a monotonic clock
 */
export function openEventLog(log: Logger, nowMs?: () => number): (event: ExecutorEvent) => void {
  const limiters = { own: limitLogs(nowMs), addresses: limitLogs(nowMs) };
  return (event) => {
    if (event.kind === "balance" && !event.isLow) return;
    if (event.kind === "late_jobs" && event.count === 0) return;
    const { limiter } = kinds[event.kind];
    if (limiter) limiters[limiter](limitKey(event), (leftOut) => write(log, event, leftOut));
    else write(log, event, 0);
  };
}

const limitKey = (event: ExecutorEvent) => `${event.kind} ${reasonOf(event)}`;

/**
 * Returns the endpoint and the reason of an event. Events with the same kind, endpoint, and reason
 * share a rate limit.
 */
function reasonOf(event: ExecutorEvent): string {
  switch (event.kind) {
    case "rpc_failed":
    case "send_refused":
      return `${event.rpc} ${messageKind(event.message)}`;
    case "rpc_differs":
      return `${event.rpc} ${event.method}`;
    case "rpc_wrong_chain":
      return event.rpc;
    case "attempt_failed":
    case "given_up":
      return messageKind(event.reason);
    case "pass_failed":
    case "gap":
    case "signer_failed":
      return messageKind(event.message);
    default:
      return "";
  }
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

type Kind<Event> = {
  level: "debug" | "info" | "warn" | "error";
  /**
   * Set for events that a stranger can cause, or that repeat during an outage. These events are
   * logged at most once a minute for each reason and endpoint. Each log entry includes the number
   * of skipped events. The metrics count every event.
   *
   * A stranger can cause many events that name an address. These events have their own rate
   * limiter, so that they cannot suppress other events.
   */
  limiter?: Event extends { address: Hex } ? "addresses" : "own";
};

const kinds: { readonly [K in ExecutorEvent["kind"]]: Kind<Extract<ExecutorEvent, { kind: K }>> } =
  {
    rpc_failed: { level: "debug", limiter: "own" },
    rpc_wrong_chain: { level: "warn", limiter: "own" },
    rpc_out: { level: "info" },
    rpc_differs: { level: "warn", limiter: "own" },
    rpc_disagreement: { level: "warn", limiter: "own" },
    lease_taken: { level: "info" },
    lease_lost: { level: "info" },
    pass: { level: "debug" },
    pass_failed: { level: "warn", limiter: "own" },
    detected: { level: "info" },
    reorg: { level: "warn" },
    gap: { level: "warn", limiter: "own" },
    late_jobs: { level: "warn" },
    corrupt_record: { level: "error", limiter: "addresses" },
    attempt_failed: { level: "info", limiter: "addresses" },
    given_up: { level: "warn", limiter: "addresses" },
    sent: { level: "info" },
    replaced: { level: "info" },
    fee_capped: { level: "warn", limiter: "own" },
    send_refused: { level: "warn", limiter: "own" },
    executed: { level: "info" },
    recovered: { level: "info" },
    settled: { level: "debug" },
    reopened: { level: "warn" },
    nonce_foreign: { level: "warn" },
    nonces_written_off: { level: "error" },
    gap_filled: { level: "warn" },
    signer_failed: { level: "error", limiter: "own" },
    balance: { level: "warn", limiter: "own" },
    stopped_for_balance: { level: "error", limiter: "own" },
  };
