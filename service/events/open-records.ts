// Searches for open records. A record is closed if its address is expired or settled, or its intent
// is for another chain. All other records are open. The executor skips closed records, and makes
// fewer requests while no record is open (executor/decide-poll.ts).

import { type Kysely, sql } from "kysely";
import { findNewestSeq, unexpired } from "../store/find-records.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Tables } from "../store/tables.ts";

/** The progress of a search for the chain's first open record. */
export type OpenSearch = {
  /** All records up to this `seq` are closed. */
  closedUpTo: number;
  /** The block timestamp at which these records were closed, in Unix seconds. */
  expiredSeconds: number;
  /** Whether there are no records after `closedUpTo`. */
  areAllClosed: boolean;
};

/** The initial state of the search, for the first call of {@link searchOpenRecords}. */
export const newOpenSearch: OpenSearch = { closedUpTo: 0, expiredSeconds: 0, areAllClosed: false };

/**
 * Continues the search from `last`. Stops at the first open record, or after `statementRows.walked`
 * records. If `expiredSeconds` is less than the value in `last`, records that counted as expired
 * can count as open again. The search then begins at the first record.
 *
 * @param expiredSeconds a time in Unix seconds; records that expire at this time or earlier count
 *   as expired
 */
export async function searchOpenRecords(
  db: Kysely<Tables>,
  chainId: number,
  last: OpenSearch,
  expiredSeconds: number,
): Promise<OpenSearch> {
  const seq = expiredSeconds < last.expiredSeconds ? 0 : last.closedUpTo;
  const newest = await findNewestSeq(db);
  const end = Math.min(newest, seq + statementRows.walked);
  const { rows } = await sql<{ seq: number }>`select r.seq
    from (${unexpired(chainId, seq, end, expiredSeconds)}) r
    where not exists (select 1 from watches w
      where w.account_id = r.account_id and w.address = r.address and w.settled_at is not null)
    order by r.seq limit 1`.execute(db);
  const open = rows[0] && Number(rows[0].seq);
  if (open !== undefined) return { closedUpTo: open - 1, expiredSeconds, areAllClosed: false };
  return { closedUpTo: Math.max(seq, end), expiredSeconds, areAllClosed: end === newest };
}
