// Which events an operator reads, and how loud they are. Never a key, a URL or calldata.

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
    Object.entries(rest).map(([name, value]) => [
      name,
      typeof value === "bigint" ? value.toString() : value,
    ]),
  );
  const text = kind.replaceAll("_", " ");
  if (loud.has(kind)) log.error(shown, text);
  else if (warned.has(kind)) log.warn(shown, text);
  else if (quiet.has(kind)) log.debug(shown, text);
  else log.info(shown, text);
}
