// What the service remembers, and what it promises about it. Every store passes store.test.ts.

import type { Kysely } from "kysely";
import type { Dialect, Tables } from "./tables.ts";

/**
 * One create: `address` 20 bytes, `terms` as the library encodes them, `createdAtMs` Unix
 * milliseconds.
 */
export type NewRecord = {
  address: Uint8Array;
  terms: Uint8Array;
  accountId: string;
  createdAtMs: number;
};

export type Store = {
  dialect: Dialect;

  /** SQLite's, for other threads to read with connections of their own. */
  file?: string;

  /**
   * Resolves once the record and its ownership are durable, and never before: rows that arrive
   * together share one commit, and a commit that fails fails each of them. Repeating it changes
   * nothing: an address has one intent, for good, and an account owns it since its first create.
   * @throws {UnavailableError} when it is not known to be durable
   * @throws {CorruptError} when other terms are held for this address
   */
  saveRecord(row: NewRecord): Promise<void>;

  /** The terms held for 20 bytes of address, unverified: whoever serves them derives again. */
  findTerms(address: Uint8Array): Promise<Uint8Array | undefined>;

  /**
   * Reads the primary at each call, never a cache, so that a rotated key is dead at once.
   * @param digest SHA-256 of the credential's text, 32 bytes
   */
  findApiKey(digest: Uint8Array): Promise<{ accountId: string } | undefined>;

  /** As {@link findApiKey}; origins as stored, sorted. */
  findClientId(digest: Uint8Array): Promise<{ accountId: string; origins: string[] } | undefined>;

  /** Everything off the hot path, in SQL that both dialects understand. */
  db: Kysely<Tables>;

  /**
   * Resolves when the store reads, and still acknowledges writes.
   * @throws {UnavailableError}
   */
  check(): Promise<void>;

  /** Finishes what was begun, then lets go of the database. */
  close(): Promise<void>;
};

/** The store cannot promise this now: it may or may not have happened. Ask again later. */
export class UnavailableError extends Error {
  override name = "UnavailableError";
}

/** What the store holds contradicts itself. Nobody's to mend by asking again. */
export class CorruptError extends Error {
  override name = "CorruptError";
}

/** Of one row in a group: saved, or why not while the others were. */
export type Outcome = CorruptError | undefined;

/** @param address 20 bytes */
export function otherTerms(address: Uint8Array): CorruptError {
  const hex = Buffer.from(address).toString("hex");
  return new CorruptError(`the row of 0x${hex} holds other terms than those that derive it`);
}
