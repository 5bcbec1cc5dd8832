// Commits new records, their owners, and their references to SQLite in a separate thread. The main
// thread processes the next requests in the meantime. With this thread, the service handles 6 % to
// 25 % more create requests per second (bench/http.ts, row "no writing thread"). The separate
// thread also prevents a deadlock. The main thread could otherwise block while it waits for the
// write lock. Then nothing would continue the transaction that holds the lock (../sqlite.ts).

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { deriveColumns, foldReference } from "../columns.ts";
import type { NewRecord, SaveOutcome } from "../store.ts";
import { connect, retryWhileLocked } from "./connect.ts";

/**
 * `exceptions` lists the rows that were not saved, each with its index in the group and the reason.
 * `code` is SQLite's error code.
 */
export type WriteAnswer =
  | { kind: "committed"; exceptions: { index: number; why: Exception }[] }
  | { kind: "failed"; code: string; message: string };
type Exception = Exclude<SaveOutcome, "saved"> | "other_terms";

/**
 * The number of rows after which a transaction takes no further groups of records. Further groups
 * wait for the next transaction.
 */
const rowsMax = 1024;

const { file } = workerData as { file: string };
const database = connect(file, { busyMsMax: 0 });
const port = parentPort as NonNullable<typeof parentPort>;

const insert = database.prepare(
  `insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
       created_at, by_client_id)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict do nothing`,
);
const firstOwner = database.prepare<[Uint8Array], { terms: Buffer; accountId: string }>(
  "select terms, account_id as accountId from records where address = ?",
);
const insertLater = database.prepare(
  `insert into later_owners (account_id, address, created_at, by_client_id) values (?, ?, ?, ?)
     on conflict do nothing`,
);
const findByReference = database
  .prepare<[string, number, string], Buffer>(
    `select address from address_references
       where account_id = ? and by_client_id = ? and reference = ? and is_again = 0`,
  )
  .pluck();
const findReference = database.prepare<
  [string, Uint8Array],
  { reference: string; byClientId: number }
>(
  `select reference, by_client_id as byClientId from address_references
     where account_id = ? and address = ?`,
);
const insertReference = database.prepare(
  `insert into address_references (account_id, address, reference, folded, created_at,
       by_client_id, is_again)
     select account_id, address, ?, ?, created_at, ?, ? from owners
       where account_id = ? and address = ?
     on conflict (account_id, address) do update set reference = excluded.reference,
       folded = excluded.folded, by_client_id = excluded.by_client_id,
       is_again = excluded.is_again`,
);

/** Saves one record, as save-functions.ts does on PostgreSQL. */
function save(row: NewRecord): SaveOutcome | "other_terms" {
  const { address, accountId, reference } = row;
  const byClientId = row.isClientId ? 1 : 0;
  if (reference !== undefined && !row.isAgain) {
    const existing = findByReference.get(accountId, byClientId, reference);
    if (existing && !existing.equals(address)) return { usedBy: existing };
  }
  const owned = saveOwned(row, byClientId);
  if (owned === "other_terms") return owned;
  if (reference === undefined) return "saved";
  const saved = findReference.get(accountId, address);
  if (saved?.reference === reference && saved.byClientId === byClientId) return "saved";
  if (row.isClientId && owned === "before") return "exists";
  const columns = [reference, foldReference(reference), byClientId, row.isAgain ? 1 : 0];
  insertReference.run(...columns, accountId, address);
  return "saved";
}

/**
 * Saves the record and its owner.
 *
 * @returns "now" if the account is a new owner, "before" if it already was an owner, or
 *   "other_terms" if the database has different terms for this address
 */
function saveOwned(row: NewRecord, byClientId: number): "now" | "before" | "other_terms" {
  const { address, terms, accountId, createdAtMs } = row;
  const { chainId, token, amount, expirationSeconds } = deriveColumns(terms);
  const columns = [address, terms, chainId, token, amount, expirationSeconds];
  if (insert.run(...columns, accountId, createdAtMs, byClientId).changes > 0) return "now";
  const first = firstOwner.get(address);
  if (!first?.terms.equals(terms)) return "other_terms";
  if (first.accountId === accountId) return "before";
  return insertLater.run(accountId, address, createdAtMs, byClientId).changes > 0
    ? "now"
    : "before";
}

const saveGroup = (group: NewRecord[]) =>
  group.flatMap((row, index) => {
    const why = save(row);
    return why === "saved" ? [] : [{ index, why }];
  });

const commit = database.transaction((groups: NewRecord[][]) => groups.map(saveGroup)).immediate;

function answer(groups: NewRecord[][]): WriteAnswer[] {
  try {
    const saved = retryWhileLocked(() => commit(groups));
    return saved.map((exceptions) => ({ kind: "committed", exceptions }));
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    const { code, message } = error;
    return groups.map(() => ({ kind: "failed", code, message }));
  }
}

port.on("message", (first: NewRecord[] | "stop") => {
  const groups: NewRecord[][] = [];
  let rows = 0;
  let next: NewRecord[] | "stop" | undefined = first;
  while (next && next !== "stop") {
    groups.push(next);
    rows += next.length;
    next = rows < rowsMax ? receiveMessageOnPort(port)?.message : undefined;
  }
  if (groups.length > 0) port.postMessage(answer(groups));
  if (next !== "stop") return;
  database.close();
  port.close();
});
