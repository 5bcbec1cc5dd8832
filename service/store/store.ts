// Defines the interface and the guarantees of the two databases (the stores). store.test.ts tests
// these guarantees.

import type { Kysely } from "kysely";
import type { Dialect, Tables } from "./tables.ts";

/**
 * A record to save for an account. `address` has 20 bytes, `terms` is the encoded intent, and
 * `createdAtMs` is in Unix milliseconds.
 */
export type NewRecord = {
  address: Uint8Array;
  terms: Uint8Array;
  accountId: string;
  /**
   * Whether the request used the account's client ID. The executor has a separate budget for
   * addresses that a client ID created.
   */
  isClientId?: boolean;
  createdAtMs: number;
  /** The account's reference for the address. */
  reference?: string | undefined;
  /** Whether to save the reference even if the account already uses it for another address. */
  isAgain?: boolean;
};

/**
 * The outcome of a save. If the outcome is not `saved`, nothing was stored.
 *
 * - `usedBy`: the account already uses the reference for another address. `usedBy` contains this
 *   address (20 bytes). API keys and client IDs have separate references, and only references of
 *   the same kind count.
 * - `exists`: a request with a client ID had a reference, but the account had already created the
 *   address without this reference. A client ID is public, so it can set a reference only when it
 *   creates the address.
 */
export type SaveOutcome = "saved" | "exists" | { usedBy: Uint8Array };

/** The number of simultaneously received records that both databases can save in one commit. */
export const savesPerCommit = 16;

export type Store = {
  dialect: Dialect;

  /**
   * Saves the record, its owner, and its reference, and resolves when all three are durable.
   * Simultaneous calls share a commit, and fail together. The call is idempotent: a repeated call
   * changes neither the intent nor the time of the first creation. A call with an API key replaces
   * the account's earlier reference for the address.
   * @throws {UnavailableError} if it is unknown whether the commit is durable
   * @throws {CorruptError} if the database has other terms for this address
   */
  saveRecord(row: NewRecord): Promise<SaveOutcome>;

  /**
   * Returns the unverified terms of an address (20 bytes). The caller must check that the address
   * is the one derived from the terms.
   * @throws {UnavailableError} if the database does not answer
   */
  findTerms(address: Uint8Array): Promise<Uint8Array | undefined>;

  /**
   * Verifies the record of an address (20 bytes). Returns the JSON text that the create request
   * returned.
   * @throws {UnavailableError} if the database does not answer
   * @throws {CorruptError} if `address` is not the one derived from the stored terms
   */
  findRecord(address: Uint8Array): Promise<string | undefined>;

  /**
   * Returns a function that finds rows by a key. Simultaneous calls share a transaction on SQLite,
   * and a round trip on PostgreSQL. Rows are always read from the primary database, never from a
   * cache.
   */
  readerOf<Row>(query: KeyedQuery): KeyedReader<Row>;

  /**
   * Runs a prepared statement and returns its rows. A connection prepares each statement only once,
   * by its name. Only the PostgreSQL store has this method.
   * @throws {UnavailableError}
   */
  prepared?: (statement: Prepared) => Promise<unknown[]>;

  /** Kysely, for statements that no method of the store runs. */
  db: Kysely<Tables>;

  /**
   * Resolves if the database can be read and can still acknowledge writes.
   * @throws {UnavailableError}
   */
  check(): Promise<void>;

  /** Waits for pending work, and then closes the database. */
  close(): Promise<void>;
};

/** A `name` must always have the same `text`. */
type Prepared = { name: string; text: string; values: unknown[] };

/**
 * A query for all rows with a given key, written in both SQL dialects. The parameter of `sqlite` is
 * one key. The parameter of `postgres` is an array of keys, as in `any($1::bytea[])`. Each returned
 * row must contain its key in the column `key`.
 */
export type KeyedQuery = { name: string; sqlite: string; postgres: string };

/** @throws {UnavailableError} */
export type KeyedReader<Row> = (key: Uint8Array) => Promise<Row[]>;

/**
 * Thrown if the database failed or did not respond. The outcome of the call is unknown. The caller
 * can repeat the call later.
 */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

/** Thrown if stored data is inconsistent. A repeated call fails too. */
export class CorruptError extends Error {
  override name = "CorruptError";
}

/** The query for the terms of a record. */
export const termsByAddress: KeyedQuery = {
  name: "find-terms",
  sqlite: "select terms from records where address = ?",
  postgres: "select address as key, terms from records where address = any($1::bytea[])",
};

/** @param address 20 bytes */
export function otherTerms(address: Uint8Array): CorruptError {
  const hex = Buffer.from(address).toString("hex");
  return new CorruptError(`the row of 0x${hex} contains terms that derive a different address`);
}
