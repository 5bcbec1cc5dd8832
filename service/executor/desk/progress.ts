// Reads from the executor's tables what it has in hand for an address. Addresses asked for in one
// turn of the event loop share a query.

import type { Hex } from "executable-address";
import type { ExecutorProgress } from "executable-address/status";
import type { Kysely } from "kysely";
import { statementRows } from "../../flow/groups.ts";
import { together } from "../../flow/together.ts";
import type { Tables } from "../../store/tables.ts";

/**
 * `progress` is null while it rests; `detectedBlock` and `detectedAtSeconds`, in Unix seconds, are
 * where money was last seen.
 */
export type JobNews = {
  progress: ExecutorProgress | null;
  state: Row["state"];
  reason: string | null;
  detectedBlock: number;
  detectedAtSeconds: number;
};

type Asked = { address: Hex; chainId: number };

/** Undefined where the executor never heard of money of the address. */
type FindJob = (asked: Asked) => Promise<JobNews | undefined>;

export function jobFinder(db: Kysely<Tables>): FindJob {
  return together<Asked, JobNews | undefined>(
    async (asked) => {
      const found = new Map<string, JobNews>();
      for (const row of await readRows(db, asked)) {
        // Rows come in the order of signing, so the last transaction stays.
        found.set(keyOf(row.chain_id, Buffer.from(row.address).toString("hex")), newsOf(row));
      }
      return asked.map(({ chainId, address }) => found.get(keyOf(chainId, digitsOf(address))));
    },
    { sizeMax: statementRows.short },
  );
}

const digitsOf = (address: Hex) => address.slice(2).toLowerCase();

/** Money of an address may be looked after on another chain too; each has a job of its own. */
const keyOf = (chainId: number, digits: string) => `${chainId} ${digits}`;

type Row = Awaited<ReturnType<typeof readRows>>[number];

function readRows(db: Kysely<Tables>, asked: Asked[]) {
  const digits = new Set(asked.map(({ address }) => digitsOf(address)));
  const addresses = [...digits].map((each) => Buffer.from(each, "hex"));
  const chainIds = [...new Set(asked.map(({ chainId }) => chainId))];
  return db
    .selectFrom("executor_jobs as job")
    .leftJoin("executor_purposes as purpose", "purpose.id", "job.purpose_id")
    .leftJoin("executor_transactions as sent", "sent.purpose_id", "job.purpose_id")
    .select(["job.address", "job.chain_id", "job.state", "job.reason", "job.failures"])
    .select(["job.detected_block", "job.detected_at", "purpose.kind", "sent.hash"])
    .where("job.chain_id", "in", chainIds)
    .where("job.address", "in", addresses)
    .orderBy("sent.signed_at")
    .execute();
}

function newsOf(row: Row): JobNews {
  return {
    progress: progressOf(row),
    state: row.state,
    reason: row.reason,
    detectedBlock: row.detected_block,
    detectedAtSeconds: row.detected_at,
  };
}

function progressOf({ state, reason, failures, kind, hash }: Row): ExecutorProgress | null {
  if (state === "idle") return null;
  return {
    purpose: kind === "execute" || kind === "recover" ? kind : null,
    phase: state === "dropped" ? "given_up" : state,
    transactionHash: hash as Hex | null,
    attempts: failures,
    reason,
  };
}
