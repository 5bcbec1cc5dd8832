// Jobs that are due later than anything but an expiry can make them: the head's clock was wrong.

import { fromHex, type Hex, toHex } from "executable-address";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../../store/tables.ts";
import { type Fence, fenced } from "./lease.ts";

export type LatePlace = { dueAt: number; address: Hex };

/** Rows of one statement: others wait for it. */
const rowsMax = 100;

/** These wait for the expiry of their terms, whatever the clock says. */
const untilExpiry = ["underfunded", "execution_keeps_failing"];

/**
 * Makes those jobs due now that follow `place` and do not wait for their expiry.
 * @returns how many, and where to go on: undefined at the end
 */
export async function pullLate(
  db: Kysely<Tables>,
  fence: Fence,
  place: LatePlace,
): Promise<{ count: number; next: LatePlace | undefined }> {
  const { chainId } = fence;
  const { rows } = await sql<{ address: Buffer; due_at: number; reason: string | null }>`
    select address, due_at, reason from executor_jobs
    where chain_id = ${chainId} and purpose_id is null
      and (due_at, address) > (${place.dueAt}, ${fromHex(place.address)})
    order by due_at, address limit ${rowsMax}`.execute(db);
  const late = rows.filter(({ reason }) => !untilExpiry.includes(reason ?? ""));
  if (late.length > 0) {
    const addresses = late.map(({ address }) => address);
    await fenced(db, fence, (transaction) =>
      transaction
        .updateTable("executor_jobs")
        .set({ due_at: 0, not_before: 0 })
        .where("chain_id", "=", chainId)
        .where("address", "in", addresses)
        .execute(),
    );
  }
  const last = rows.length === rowsMax ? rows.at(-1) : undefined;
  const next = last && { dueAt: Number(last.due_at), address: toHex(last.address) };
  return { count: late.length, next };
}
