// What the executor has in flight for an address, from what it keeps: it may be another process on
// the same database. Addresses asked for in the same turn share a query.

import type { Hex } from "executable-address";
import type { ExecutorProgress } from "executable-address/status";
import type { Subject } from "../../chain/status/status.ts";
import type { Store } from "../../store/store.ts";
import type { Tables } from "../../store/tables.ts";

/**
 * `progress` is null while it rests; `detectedBlock` and `detectedAt`, in Unix seconds, are where
 * money was last seen.
 */
export type JobNews = {
  progress: ExecutorProgress | null;
  state: "waiting" | "sent" | "idle" | "given_up";
  reason: string | null;
  detectedBlock: number;
  detectedAt: number;
};

/** Undefined where the executor never heard of money of the address. */
export type FindJob = (subject: Subject) => Promise<JobNews | undefined>;

/** SQLite takes 32,766 parameters in one statement; much shorter ones are as quick. */
const addressesMax = 500;

type Answers = Promise<Map<Hex, JobNews>>;

export function openJobs({ db }: Pick<Store, "db">): FindJob {
  let waiting = new Map<Hex, Subject>();
  let answers: Answers | undefined;

  const flush = async (): Answers => {
    await new Promise((resolve) => setImmediate(resolve));
    const subjects = [...waiting.values()];
    waiting = new Map();
    answers = undefined;
    const found = new Map<Hex, JobNews>();
    for (let i = 0; i < subjects.length; i += addressesMax) {
      await readJobs(db, subjects.slice(i, i + addressesMax), found);
    }
    return found;
  };

  return async (subject) => {
    waiting.set(subject.address, subject);
    answers ??= flush();
    return (await answers).get(subject.address);
  };
}

async function readJobs(db: Store["db"], subjects: Subject[], into: Awaited<Answers>) {
  const byDigits = new Map(subjects.map((s) => [s.address.slice(2).toLowerCase(), s]));
  const rows = await db
    .selectFrom("executor_jobs as job")
    .leftJoin("executor_purposes as purpose", "purpose.id", "job.purpose_id")
    .leftJoin("executor_transactions as sent", "sent.purpose_id", "job.purpose_id")
    .select(["job.address", "job.chain_id", "job.state", "job.reason", "job.failures"])
    .select(["job.detected_block", "job.detected_at", "purpose.kind", "sent.hash"])
    .where(
      "job.address",
      "in",
      [...byDigits.keys()].map((digits) => Buffer.from(digits, "hex")),
    )
    .orderBy("sent.signed_at")
    .execute();
  for (const row of rows) {
    const subject = byDigits.get(Buffer.from(row.address).toString("hex"));
    // Money of an address may be looked after on another chain too; that is not this status.
    if (!subject || row.chain_id !== subject.intent.chainId) continue;
    into.set(subject.address, {
      progress: progressOf(row),
      state: row.state,
      reason: row.reason,
      detectedBlock: row.detected_block,
      detectedAt: row.detected_at,
    });
  }
}

type Row = Pick<Tables["executor_jobs"], "state" | "reason" | "failures"> & {
  kind: string | null;
  hash: string | null;
};

function progressOf({ state, reason, failures, kind, hash }: Row): ExecutorProgress | null {
  if (state === "idle") return null;
  return {
    purpose: kind === "execute" || kind === "recover" ? kind : null,
    phase: state,
    transactionHash: hash as Hex | null,
    attempts: failures,
    reason,
  };
}
