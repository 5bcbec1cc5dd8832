// Limits the number of rows per statement, so that other statements do not wait long. Also deletes
// old rows in groups of limited size.

/**
 * The maximum number of rows per statement or short transaction, by kind of row. While a statement
 * with the maximum number of rows runs, other statements may have to wait. On SQLite, lookups never
 * wait, and create requests wait only for writes. All other statements wait. On PostgreSQL, another
 * statement waits only if both statements need the same rows. If each table has 200,000 typical
 * rows, a statement with the maximum number of rows takes less than 10 ms (bench/groups.ts). Other
 * files define the limits that have other purposes.
 */
export const statementRows = {
  /** Rows of keys, numbers, and short texts. */
  short: 100,
  /** Rows in several indexes or tables, and rows that need several statements. */
  costly: 50,
  /** Index entries that a search scans, although most entries do not match. */
  walked: 1_000,
  /**
   * Rows with an encoded intent (the column `terms`) of up to 24,576 bytes. On PostgreSQL, reading
   * a row takes 1.3 times as long in groups of 25 as in groups of 50 (bench/groups.ts).
   */
  withTerms: 50,
} as const;

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
 * @returns the number of deleted rows, at most {@link rowsMax}
 */
export async function prune({ find, remove }: OldRows): Promise<number> {
  for (let gone = 0; ; ) {
    const ids = (await find(statementRows.short)).map(({ id }) => id);
    if (ids.length > 0) await remove(ids);
    gone += ids.length;
    if (ids.length < statementRows.short || gone >= rowsMax) return gone;
  }
}
