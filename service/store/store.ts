// The interface of the stores, with the guarantees that every store gives. store.test.ts tests
// these guarantees.

import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/**
 * A record to save for an account. `address` has 20 bytes, `terms` are encoded by the library, and
 * `createdAtMs` is in Unix milliseconds.
 */
export type NewRecord = {
  address: Uint8Array;
  terms: Uint8Array;
  accountId: string;
  /**
   * Whether the request used the account's client ID. The executor has a separate budget for
   * addresses that client IDs created.
   */
  isClientId?: boolean;
  createdAtMs: number;
  /** The account's reference for the address. */
  reference?: string | undefined;
  /** Whether to save the reference even if another address of the account already has it. */
  isAgain?: boolean;
};

/**
 * The outcome of a save. If it is not `saved`, nothing was stored:
 *
 * - `usedBy`: the reference already belongs to this other address (20 bytes) of the account, and
 *   was set with the same kind of credential
 * - `exists`: a client ID tried to set a reference, but the account had already created the address
 *   without this reference. A client ID is public, so it can set a reference only when it creates
 *   the address.
 */
export type SaveOutcome = "saved" | "exists" | { usedBy: Uint8Array };

/** Any store saves up to this number of simultaneous records with one commit. */
export const savesPerCommit = 16;

export type Store = {
  dialect: Dialect;

  /**
   * Saves the record, its owner, and its reference. Resolves only after all three are durable.
   * Calls that arrive together share a commit, and if the commit fails, all these calls fail. The
   * call is idempotent: a repeated call changes neither the intent of the address nor the time at
   * which the account first created it. An API key replaces the address's earlier reference, if
   * there is one.
   * @throws {UnavailableError} if it is unknown whether the commit is durable
   * @throws {CorruptError} if the database has different terms for this address
   */
  saveRecord(row: NewRecord): Promise<SaveOutcome>;

  /**
   * Returns the terms of an address (20 bytes), without verifying them. The caller must verify that
   * they derive the address.
   * @throws {UnavailableError} if the store does not answer
   */
  findTerms(address: Uint8Array): Promise<Uint8Array | undefined>;

  /**
   * Verifies the record of an address (20 bytes), and returns it as the JSON text that the create
   * request returned.
   * @throws {UnavailableError} if the store does not answer
   * @throws {CorruptError} if the stored terms do not derive the address
   */
  findRecord(address: Uint8Array): Promise<string | undefined>;

  /**
   * Returns a function that finds the rows of a key. Calls in the same turn of the event loop share
   * a transaction on SQLite, and a round trip on PostgreSQL. Each call reads the primary database,
   * never a cache.
   */
  readerOf<Row>(query: KeyedQuery): KeyedReader<Row>;

  /**
   * Runs a prepared statement and returns its rows. Each connection prepares the statement only
   * once, by its name. Exists only on PostgreSQL.
   * @throws {UnavailableError}
   */
  prepared?: (statement: Prepared) => Promise<unknown[]>;

  /** Runs all other statements, which are written with Kysely. */
  db: Kysely<Tables>;

  /**
   * Resolves if the store can be read and still acknowledges writes.
   * @throws {UnavailableError}
   */
  check(): Promise<void>;

  /** Waits for pending work, and then closes the database. */
  close(): Promise<void>;
};

/** Two statements with the same `name` must have the same `text`. */
type Prepared = { name: string; text: string; values: unknown[] };

/**
 * A query that finds rows by a key, in both dialects. The parameter of `sqlite` is a single key.
 * The parameter of `postgres` is an array of keys, as in `any($1::bytea[])`, and each row must
 * contain its key as the column `key`.
 */
export type KeyedQuery = { name: string; sqlite: string; postgres: string };

/** @throws {UnavailableError} */
export type KeyedReader<Row> = (key: Uint8Array) => Promise<Row[]>;

/**
 * Thrown if the database failed or did not respond. The outcome is then unknown, and the caller can
 * try again later.
 */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

/** Thrown if stored data is inconsistent. A retry does not help. */
export class CorruptError extends Error {
  override name = "CorruptError";
}

/** The query of both stores for the terms of a record. */
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
