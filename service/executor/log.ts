// Writes the executor's events to the log, each at its level. Never a key, a URL or calldata.

import { isAddress, parseAddress } from "executable-address";
import type { Logger } from "pino";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import { kinds } from "./kinds.ts";
import type { ExecutorEvent } from "./parts.ts";

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
