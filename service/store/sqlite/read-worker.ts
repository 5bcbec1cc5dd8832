// Reads, verifies, and serializes records from SQLite, in a separate thread. With this thread, the
// service handles 11 % more uncached lookups per second (bench/http.ts, row "no reading thread").

import { parentPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { causeOf, ownFactory, storedRecordJson } from "../record.ts";
import { CorruptError, termsByAddress } from "../store.ts";
import { connect } from "./connect.ts";

/** The JSON of a record, null without a record, or the reason why the record is corrupt. */
export type FoundText = string | null | { corrupt: string };

/** `found` is in the order of the addresses. `code` is SQLite's error code. */
export type ReadAnswer =
  | { kind: "read"; found: FoundText[] }
  | { kind: "failed"; code: string; message: string };

const { file } = workerData as { file: string };
const database = connect(file);
const port = parentPort as NonNullable<typeof parentPort>;
const selectTerms = database.prepare<[Uint8Array], { terms: Buffer }>(termsByAddress.sqlite);

/** Reads all addresses of a group in one transaction, so that SQLite locks the file once. */
const findAll = database.transaction((addresses: Uint8Array[]) => addresses.map(find));

function find(address: Uint8Array): FoundText {
  const row = selectTerms.get(address);
  if (!row) return null;
  try {
    return storedRecordJson(address, row.terms, ownFactory);
  } catch (error) {
    if (!(error instanceof CorruptError)) throw error;
    return { corrupt: causeOf(error) };
  }
}

function answer(addresses: Uint8Array[]): ReadAnswer {
  try {
    return { kind: "read", found: findAll(addresses) };
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    return { kind: "failed", code: error.code, message: error.message };
  }
}

/** The message contains the addresses of a group. */
port.on("message", (message: Uint8Array[] | "stop") => {
  if (message !== "stop") return port.postMessage([answer(message)]);
  database.close();
  port.close();
});
