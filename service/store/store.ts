// The interface of a store: the data that the service stores, and the guarantees that every store
// gives. Every store passes store.test.ts.

import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/**
 * One create. `address` has 20 bytes, `terms` are encoded by the library, and `createdAtMs` is in
 * Unix milliseconds.
 */
export type NewRecord = {
  address: Uint8Array;
  terms: Uint8Array;
  accountId: string;
  /**
   * Whether the account's client ID made the create. The executor has a separate budget for such
   * addresses.
   */
  isClientId?: boolean;
  createdAtMs: number;
  /** The account's name for the address. */
  reference?: string | undefined;
  /** Whether another address of the account may already have the reference. */
  isAgain?: boolean;
};

/**
 * Whether a create was saved. If a create was not saved, no part is stored:
 *
 * - `heldBy`: another address of the account (20 bytes) already has the reference, set with the
 *   same kind of credential
 * - `exists`: the account already created this address, without this reference. A client ID is
 *   public, so it can set the reference only of an address that it creates.
 */
export type SaveOutcome = "saved" | "exists" | { heldBy: Uint8Array };

export type Store = {
  dialect: Dialect;

  /**
   * Saves the record, its owner, and its reference. Resolves only after all three are durable. Rows
   * that arrive together share one commit, and if the commit fails, all their calls fail. The call
   * is idempotent: an address has one intent forever, and an account owns the address from the
   * account's first create. An API key replaces an earlier reference of the address.
   * @throws {UnavailableError} if it is unknown whether the commit is durable
   * @throws {CorruptError} if the database has other terms for this address
   */
  saveRecord(row: NewRecord): Promise<SaveOutcome>;

  /**
   * Returns the unverified terms of an address of 20 bytes. Verify that the terms derive the
   * address before you serve them.
   * @throws {UnavailableError} if the store does not answer
   */
  findTerms(address: Uint8Array): Promise<Uint8Array | undefined>;

  /**
   * Returns the verified record of an address of 20 bytes: the JSON text that the create returned.
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
   * Exists only on PostgreSQL. Returns the rows of a statement that each connection plans only
   * once, by the statement's name.
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

  /** Finishes pending work, then closes the database. */
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
 * Thrown if the database did not respond or failed, so the outcome is unknown. The caller can try
 * again later.
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
  return new CorruptError(`the row of 0x${hex} contains terms that do not derive it`);
}
