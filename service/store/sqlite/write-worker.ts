// Commits new records to SQLite in a thread of its own: while a commit runs, the thread that
// answers reads the next requests. With it a quarter more creates are answered a second
// (bench/http.ts). And it may wait for the lock: the thread that answers may not, since a
// transaction that has the lock may wait for that thread (dialect.ts).

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import Database from "better-sqlite3";
import { columnsOf } from "../columns.ts";
import type { NewRecord } from "../store.ts";
import { connect } from "./connect.ts";
import { patiently } from "./patience.ts";

/** `others`: the places of rows whose address has other terms; `failure`: SQLite's code. */
export type WriteAnswer = { others: number[] } | { failure: string; message: string };

/** Rows of one commit, but for what the last group brings. */
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
const held = database.prepare<[Uint8Array], { terms: Buffer; accountId: string }>(
  "select terms, account_id as accountId from records where address = ?",
);
const insertLater = database.prepare(
  `insert into later_owners (account_id, address, created_at, by_client_id) values (?, ?, ?, ?)
     on conflict do nothing`,
);

/** @returns the places in the group of those whose address has other terms */
function save(group: NewRecord[]): number[] {
  const others: number[] = [];
  for (const [index, { address, terms, accountId, createdAtMs, isClientId }] of group.entries()) {
    const { chainId, token, amount, expiresAt } = columnsOf(terms);
    const columns = [address, terms, chainId, token, amount, expiresAt];
    const byClientId = isClientId ? 1 : 0;
    if (insert.run(...columns, accountId, createdAtMs, byClientId).changes > 0) continue;
    const first = held.get(address);
    if (!first?.terms.equals(terms)) others.push(index);
    else if (first.accountId !== accountId)
      insertLater.run(accountId, address, createdAtMs, byClientId);
  }
  return others;
}

const commit = database.transaction((groups: NewRecord[][]) => groups.map(save)).immediate;

function answer(groups: NewRecord[][]): WriteAnswer[] {
  try {
    return patiently(() => commit(groups)).map((others) => ({ others }));
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
    const { code, message } = error;
    return groups.map(() => ({ failure: code, message }));
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
