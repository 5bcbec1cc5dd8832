// Walks over the records in their order, as far as they are closed: of another chain, expired, or
// settled. A chain has an open address where the walk does not come to its end.

import { type Kysely, sql } from "kysely";
import { statementRows } from "../flow/groups.ts";
import { findNewestSeq, unexpired } from "../store/created.ts";
import type { Tables } from "../store/tables.ts";

/** `seq`: all records up to it are closed; `isEnd`: there are no others. */
export type Closed = { seq: number; isEnd: boolean };

/** @param expiredSeconds what expires later is open, by the chain's clock */
export async function passClosed(
  db: Kysely<Tables>,
  chainId: number,
  seq: number,
  expiredSeconds: number,
): Promise<Closed> {
  const newest = await findNewestSeq(db);
  const end = Math.min(newest, seq + statementRows.walked);
  const { rows } = await sql<{ seq: number }>`select r.seq
    from (${unexpired(chainId, seq, end, expiredSeconds)}) r
    where not exists (select 1 from watches w
      where w.account_id = r.account_id and w.address = r.address and w.settled_at is not null)
    order by r.seq limit 1`.execute(db);
  const open = rows[0] && Number(rows[0].seq);
  if (open !== undefined) return { seq: open - 1, isEnd: false };
  return { seq: Math.max(seq, end), isEnd: end === newest };
}
