// What the executor has in flight for an address, from what it keeps: it may be another process on
// the same database. Addresses asked for in the same turn share a query.

import type { Hex } from "executable-address";
import type { ExecutorProgress } from "executable-address/status";
import type { Subject } from "../chain/status.ts";
import type { Store } from "../store/store.ts";

/** Null where the executor has nothing to do for the address, or never ran on this database. */
export type FindProgress = (subject: Subject) => Promise<ExecutorProgress | null>;

/** SQLite takes 32,766 parameters in one statement; much shorter ones are as quick. */
const addressesMax = 500;

type Answers = Promise<Map<Hex, ExecutorProgress>>;

export function openProgress({ db }: Pick<Store, "db">): FindProgress {
  let waiting = new Map<Hex, Subject>();
  let answers: Answers | undefined;

  const flush = async (): Answers => {
    await new Promise((resolve) => setImmediate(resolve));
    const subjects = [...waiting.values()];
    waiting = new Map();
    answers = undefined;
    const found = new Map<Hex, ExecutorProgress>();
    for (let i = 0; i < subjects.length; i += addressesMax) {
      await readProgress(db, subjects.slice(i, i + addressesMax), found);
    }
    return found;
  };

  return async (subject) => {
    waiting.set(subject.address, subject);
    answers ??= flush();
    return (await answers).get(subject.address) ?? null;
  };
}

async function readProgress(db: Store["db"], subjects: Subject[], into: Awaited<Answers>) {
  const byDigits = new Map(subjects.map((s) => [s.address.slice(2).toLowerCase(), s]));
  const rows = await db
    .selectFrom("executor_jobs as job")
    .leftJoin("executor_purposes as purpose", "purpose.id", "job.purpose_id")
    .leftJoin("executor_transactions as sent", "sent.purpose_id", "job.purpose_id")
    .select(["job.address", "job.chain_id", "job.state", "job.reason", "job.failures"])
    .select(["purpose.kind", "sent.hash"])
    .where(
      "job.address",
      "in",
      [...byDigits.keys()].map((digits) => Buffer.from(digits, "hex")),
    )
    .where("job.state", "!=", "idle")
    .orderBy("sent.signed_at")
    .execute();
  for (const row of rows) {
    const subject = byDigits.get(Buffer.from(row.address).toString("hex"));
    // Money of an address may be looked after on another chain too; that is not this status.
    if (!subject || row.chain_id !== subject.intent.chainId || row.state === "idle") continue;
    into.set(subject.address, {
      purpose: row.kind === "execute" || row.kind === "recover" ? row.kind : null,
      phase: row.state,
      transactionHash: row.hash as Hex | null,
      attempts: row.failures,
      reason: row.reason,
    });
  }
}
