// The interface of a store, with the guarantees that every store gives. store.test.ts checks them
// for every store.

import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/**
 * A record to save for an account. `address` has 20 bytes, the library has encoded `terms`, and
 * `createdAtMs` is in Unix milliseconds.
 */
export type NewRecord = {
  address: Uint8Array;
  terms: Uint8Array;
  accountId: string;
  /**
   * Whether the request used the account's client ID. The executor has a separate budget for such
   * addresses.
   */
  isClientId?: boolean;
  createdAtMs: number;
  /** The account's reference for the address. */
  reference?: string | undefined;
  /** Whether to save the reference even if a different address of the account already has it. */
  isAgain?: boolean;
};

/**
 * Whether a record was saved. In the cases other than `saved`, nothing is stored:
 *
 * - `usedBy`: a different address of the account (20 bytes) already has the reference, set with the
 *   same kind of credential
 * - `exists`: the account already created this address without this reference. A client ID is
 *   public, so it can set a reference only when it creates the address.
 */
export type SaveOutcome = "saved" | "exists" | { usedBy: Uint8Array };

export type Store = {
  dialect: Dialect;

  /**
   * Saves the record, its owner, and its reference. Resolves only after all three are durable. Rows
   * that arrive together share one commit. If the commit fails, all calls for these rows fail. The
   * call is idempotent: the intent of an address never changes, and repeated calls do not change
   * the time since which the account owns the address. An API key replaces an earlier reference of
   * the address.
   * @throws {UnavailableError} if it is unknown whether the commit is durable
   * @throws {CorruptError} if the database has different terms for this address
   */
  saveRecord(row: NewRecord): Promise<SaveOutcome>;

  /**
   * Returns the unverified terms of an address of 20 bytes. The caller must verify that the terms
   * derive the address.
   * @throws {UnavailableError} if the store does not answer
   */
  findTerms(address: Uint8Array): Promise<Uint8Array | undefined>;

  /**
   * Returns the verified record of an address of 20 bytes, as the JSON text that the create request
   * returned.
   * @throws {UnavailableError} if the store does not answer
   * @throws {CorruptError} if the stored terms do not derive the address
   */
  findRecord(address: Uint8Array): Promise<string | undefined>;

  /**
   * Returns a function that reads the rows of a key. Calls in the same turn of the event loop share
   * one transaction or round trip. Each call reads the primary database, never a cache.
   */
  readerOf<Row>(query: KeyedQuery): KeyedReader<Row>;

  /**
   * Runs a prepared statement and returns its rows. Each connection plans the statement only once,
   * by its name. Exists only on PostgreSQL.
   * @throws {UnavailableError}
   */
  prepared?: (statement: Prepared) => Promise<unknown[]>;

  /** Runs all other statements, in SQL that both dialects support. */
  db: Kysely<Tables>;

  /**
   * Resolves if the store is readable and still acknowledges writes.
   * @throws {UnavailableError}
   */
  check(): Promise<void>;

  /** Waits for pending work, and then closes the database. */
  close(): Promise<void>;
};

/** `text` must always be the same for one `name`. */
type Prepared = { name: string; text: string; values: unknown[] };

/**
 * A query for the rows of a key, in both dialects. `sqlite` takes one key as its parameter.
 * `postgres` takes an array of keys, `any($1::bytea[])`, and selects the key of each row as `key`.
 */
export type KeyedQuery = { name: string; sqlite: string; postgres: string };

/** @throws {UnavailableError} */
export type KeyedReader<Row> = (key: Uint8Array) => Promise<Row[]>;

/**
 * Thrown if the database did not respond or failed, so that the outcome is unknown. The caller can
 * try again later.
 */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

/** Thrown if the data of the store is inconsistent, so that a retry does not help. */
export class CorruptError extends Error {
  override name = "CorruptError";
}

/** The query with which every store reads the terms of records. */
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
