// Which events an operator reads, and how loud they are. Never a key, a URL or calldata.

import { parseAddress } from "executable-address";
import type { Logger } from "pino";
import type { ExecutorEvent } from "./parts.ts";

const warned: ReadonlySet<ExecutorEvent["kind"]> = new Set([
  "rpc_wrong_chain",
  "rpc_disagreement",
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

export function logEvent(log: Logger, event: ExecutorEvent): void {
  if (event.kind === "balance") {
    if (event.isLow) log.warn({ wei: event.wei.toString() }, "the executor's balance is low");
    return;
  }
  const { kind, ...rest } = event;
  const shown = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, shownOf(name, value)]),
  );
  const text = kind.replaceAll("_", " ");
  if (loud.has(kind)) log.error(shown, text);
  else if (warned.has(kind)) log.warn(shown, text);
  else if (quiet.has(kind)) log.debug(shown, text);
  else log.info(shown, text);
}

/**
 * Addresses as the API answers them, so that a search for one finds it here. A corrupt one stays as
 * it is: to tell of it must not fail.
 */
function shownOf(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  const isAddress = name === "address" && /^0x[0-9a-f]{40}$/.test(String(value));
  return isAddress ? parseAddress(value) : value;
}
