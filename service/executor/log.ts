// Writes the executor's events to the log, each at its level. Never a key, a URL or calldata.

import { parseAddress } from "executable-address";
import type { Logger } from "pino";
import { kindOf, seldom } from "../flow/seldom.ts";
import type { ExecutorEvent } from "./parts.ts";

const warned: ReadonlySet<ExecutorEvent["kind"]> = new Set([
  "rpc_wrong_chain",
  "rpc_disagreement",
  "rpc_differs",
  "balance",
  "reorg",
  "given_up",
  "fee_capped",
  "send_refused",
  "reopened",
  "gap_filled",
  "nonce_foreign",
  "pass_failed",
]);
const loud: ReadonlySet<ExecutorEvent["kind"]> = new Set(["corrupt_record", "stopped_for_balance"]);
const quiet: ReadonlySet<ExecutorEvent["kind"]> = new Set(["pass", "rpc_failed", "settled"]);

/**
 * Events that any address can cause, or that an outage repeats at each pass: written at most once a
 * minute for each reason and endpoint, with how many were left out. The metrics count them all.
 */
const repeated: ReadonlySet<ExecutorEvent["kind"]> = new Set([
  "rpc_failed",
  "rpc_wrong_chain",
  "rpc_disagreement",
  "rpc_differs",
  "pass_failed",
  "given_up",
  "attempt_failed",
  "corrupt_record",
  "fee_capped",
  "send_refused",
  "stopped_for_balance",
  "balance",
]);

type EventLog = (event: ExecutorEvent) => void;

/** @param nowMs never goes back */
export function openEventLog(log: Logger, nowMs?: () => number): EventLog {
  // Strangers write reasons and could use up the sorts that are told apart, so theirs are separate.
  const [tellOurs, tellTheirs] = [seldom(nowMs), seldom(nowMs)];
  return (event) => {
    if (event.kind === "balance" && !event.isLow) return;
    const tell = "address" in event ? tellTheirs : tellOurs;
    if (!repeated.has(event.kind)) write(log, event, 0);
    else tell(sortOf(event), (leftOut) => write(log, event, leftOut));
  };
}

function sortOf(event: ExecutorEvent): string {
  const rpc = "rpc" in event ? event.rpc : "";
  const text = "reason" in event ? event.reason : "message" in event ? event.message : "";
  return `${event.kind} ${rpc} ${kindOf(text)}`;
}

function write(log: Logger, event: ExecutorEvent, leftOut: number): void {
  const { kind, ...rest } = event;
  const shown = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, shownOf(name, value)]),
  );
  if (leftOut > 0) shown.leftOut = leftOut;
  const text = kind === "balance" ? "the executor's balance is low" : kind.replaceAll("_", " ");
  if (loud.has(kind)) log.error(shown, text);
  else if (warned.has(kind)) log.warn(shown, text);
  else if (quiet.has(kind)) log.debug(shown, text);
  else log.info(shown, text);
}

/**
 * Addresses in the letter case of the API, so that a search for one finds it. Text that is no
 * address stays as it is.
 */
function shownOf(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  const isAddress = name === "address" && /^0x[0-9a-f]{40}$/.test(String(value));
  return isAddress ? parseAddress(value) : value;
}
