// Deletes old rows, such as events, in small steps, so that no other statement waits long.

import { statementRows } from "./groups.ts";

/** Rows that one call deletes. */
const rowsMax = 10_000;

export type OldRows = {
  /** Finds at most so many, the oldest first. */
  find(limit: number): Promise<{ id: string }[]>;
  remove(ids: string[]): Promise<unknown>;
};

/** Deletes old rows, at most 10,000. @returns how many are gone */
export async function prune({ find, remove }: OldRows): Promise<number> {
  for (let gone = 0; ; ) {
    const ids = (await find(statementRows.short)).map(({ id }) => id);
    if (ids.length > 0) await remove(ids);
    gone += ids.length;
    if (ids.length < statementRows.short || gone >= rowsMax) return gone;
  }
}
