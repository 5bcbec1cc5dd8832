// The data that the service stores, and its promises. Every store passes store.test.ts.

import type { Kysely } from "kysely";
import type { Dialect } from "./dialect.ts";
import type { Tables } from "./tables.ts";

/**
 * One create: `address` 20 bytes, `terms` as the library encodes them, `createdAtMs` Unix
 * milliseconds.
 */
export type NewRecord = {
  address: Uint8Array;
  terms: Uint8Array;
  accountId: string;
  /** Created by the account's client ID, for which the executor has a separate budget. */
  isClientId?: boolean;
  createdAtMs: number;
  /** The account's name for the address. */
  reference?: string | undefined;
  /** Whether another address of the account may already have the reference. */
  isAgain?: boolean;
};

/**
 * Says whether a create was saved. If not, no part is stored:
 *
 * - `heldBy`: another address of the account, 20 bytes, has the reference, by the same kind of
 *   credential
 * - `exists`: a client ID, which is public, can set the reference only of an address that it
 *   creates, and the account already created this one, with another reference or none
 */
export type SaveOutcome = "saved" | "exists" | { heldBy: Uint8Array };

export type Store = {
  dialect: Dialect;

  /**
   * Saves the record, its owner, and its reference. Resolves after all three are durable, and never
   * before. Rows that arrive together share one commit, and if it fails, each call fails. The call
   * is idempotent: an address has one intent, permanently, and an account owns it from its first
   * create. An API key replaces an earlier reference of the address.
   * @throws {UnavailableError} if the commit is not known to be durable
   * @throws {CorruptError} if the database has other terms for this address
   */
  saveRecord(row: NewRecord): Promise<SaveOutcome>;

  /**
   * Returns the terms of an address of 20 bytes, unverified: derive the address again before you
   * serve them.
   * @throws {UnavailableError} if the store does not answer
   */
  findTerms(address: Uint8Array): Promise<Uint8Array | undefined>;

  /**
   * Returns the stored record of an address of 20 bytes, verified: the JSON text that create
   * returned.
   * @throws {UnavailableError} if the store does not answer
   * @throws {CorruptError} if the stored terms do not derive the address
   */
  findRecord(address: Uint8Array): Promise<string | undefined>;

  /**
   * Makes a read that many requests share: the keys of one turn of the event loop share a
   * transaction or a round trip. Each call reads the primary, never a cache.
   */
  readerOf<Row>(query: KeyedQuery): KeyedReader<Row>;

  /**
   * Only on PostgreSQL: the rows of a statement that each connection plans once, by its name.
   * @throws {UnavailableError}
   */
  prepared?: (statement: Prepared) => Promise<unknown[]>;

  /** Everything off the hot path, in SQL that both dialects understand. */
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
 * The rows of one key, in either dialect. `sqlite` takes the key as its parameter; `postgres` takes
 * an array of keys, `any($1::bytea[])`, and selects the key of each row as `key`.
 */
export type KeyedQuery = { name: string; sqlite: string; postgres: string };

/** @throws {UnavailableError} */
export type KeyedReader<Row> = (key: Uint8Array) => Promise<Row[]>;

/** The outcome is unknown, because the database did not respond. Try again later. */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

/** The data of the store is inconsistent, so a retry does not help. */
export class CorruptError extends Error {
  override name = "CorruptError";
}

/** The function with which every store reads records. */
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
