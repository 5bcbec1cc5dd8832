// Without money for gas nothing can be sent, so nothing is asked about what waits for it: a read of
// the balance every few seconds tells when to go on. Payments that come meanwhile are tried once.

import { hourMs } from "../../flow/days.ts";
import type { Job, JobUpdate } from "../ledger/jobs.ts";
import { costOf, type Size } from "../money/data-fee.ts";
import type { Pass, Shortage } from "../parts.ts";
import type { Purse } from "../transactions/send.ts";
import { type Ready, sizeMax } from "./batch.ts";

const outOfGasMoney = "executor_out_of_gas_money";

const lookMs = 15_000;
/** They may have become cheaper to execute, or have expired. */
const tryMs = hourMs;

/** The due jobs of which there is something to ask; `waiting` says when to look at the others. */
export async function withoutWaiting(
  pass: Pass,
  due: readonly Job[],
  canPayFor: (size: Size) => Promise<boolean>,
): Promise<{ jobs: readonly Job[]; waiting: JobUpdate[] }> {
  const { parts, memory } = pass;
  const poor = due.filter(({ reason }) => reason === outOfGasMoney);
  const known = memory.jobs.shortage;
  if (!known || poor.length === 0) return { jobs: due, waiting: [] };
  const nowMs = parts.clock();
  if (nowMs >= known.lookAtMs) {
    if (nowMs >= known.tryAtMs || (await canPayFor(known.least))) {
      memory.jobs.shortage = undefined;
      return { jobs: due, waiting: [] };
    }
    known.lookAtMs = nowMs + lookMs;
    parts.report({ kind: "stopped_for_balance" });
  }
  return {
    jobs: due.filter(({ reason }) => reason !== outOfGasMoney),
    waiting: poor.map((job) => untilNextLook(pass, job, known)),
  };
}

/** There is no money for a batch of these. */
export function noteShortage(pass: Pass, purse: Purse, refused: readonly Ready[]): JobUpdate[] {
  const { parts, memory } = pass;
  const costAt = (size: Size) => costOf(size, purse.suggested.maxFee, purse.perByte);
  const nowMs = parts.clock();
  if (!memory.jobs.shortage) parts.report({ kind: "stopped_for_balance" });
  for (const each of refused) {
    const least = sizeMax([each]);
    memory.jobs.shortage ??= { least, lookAtMs: nowMs + lookMs, tryAtMs: nowMs + tryMs };
    if (costAt(least) < costAt(memory.jobs.shortage.least)) memory.jobs.shortage.least = least;
  }
  return refused.map(({ item: { job } }) => untilNextLook(pass, job, memory.jobs.shortage!));
}

/** All at once, so that one reading of the balance is for all of them. */
function untilNextLook(
  { parts, nowSeconds }: Pass,
  { address }: Job,
  { lookAtMs }: Shortage,
): JobUpdate {
  const seconds = Math.max(1, Math.ceil((lookAtMs - parts.clock()) / 1000));
  return { address, state: "waiting", dueAtSeconds: nowSeconds + seconds, reason: outOfGasMoney };
}
