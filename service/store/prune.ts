// Deletes old rows in small groups.

import { statementRows } from "./statement-rows.ts";

/** The maximum number of rows per call of {@link prune}. */
const rowsMax = 10_000;

type OldRows = {
  /** Finds up to `limit` rows, the oldest first. */
  find(limit: number): Promise<{ id: string }[]>;
  remove(ids: string[]): Promise<unknown>;
};

/**
 * Deletes old rows in small groups, so that other statements do not wait long.
 *
 * @returns the number of deleted rows, at most 10,000
 */
export async function prune({ find, remove }: OldRows): Promise<number> {
  for (let gone = 0; ; ) {
    const ids = (await find(statementRows.short)).map(({ id }) => id);
    if (ids.length > 0) await remove(ids);
    gone += ids.length;
    if (ids.length < statementRows.short || gone >= rowsMax) return gone;
  }
}
