// Defines the operator's commands for all records: export, import, mirror, backup, and copy to
// PostgreSQL.

import { chmodSync, closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { sql } from "kysely";
import { findAccount } from "../accounts/account.ts";
import type { Command } from "../admin/command.ts";
import { copyToPostgres } from "../store/copy.ts";
import { decodeRecord, ownFactory } from "../store/record.ts";
import { lockDirectory } from "../store/sqlite/server-lock.ts";
import { sqliteFile } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { exportRecords, importRecords } from "./export.ts";
import { writeMirror } from "./mirror.ts";

/**
 * The input and output of a command. `import` reads records from `stdin`. `report` prints a line
 * for the operator.
 */
type Terminal = { stdin(): Readable; report(line: string): unknown };

export const recordCommands = ({ stdin, report }: Terminal): Command[] => [
  {
    words: "export",
    does: "Prints all records, or the records since a time, one per line.",
    options: { since: "TIME" },
    optional: ["since"],
    async run({ store }, { options }) {
      const sinceMs = options.since === undefined ? 0 : Date.parse(options.since);
      if (Number.isNaN(sinceMs)) {
        throw new Error(
          `--since: expected a time such as 2026-01-31T00:00:00Z, found ${options.since}`,
        );
      }
      return linesOf(store, sinceMs, report);
    },
  },
  {
    words: "import",
    does: "Reads records from stdin, and saves them for the account with this email.",
    options: { email: "E" },
    async run({ store }, { options }) {
      const account = await findAccount(store.db, { email: options.email as string });
      if (!account) throw new Error(`no account has the email ${options.email}`);
      const counts = await importRecords(store, account.accountId, stdin(), report);
      if (counts.refused === 0) return counts;
      throw new Error(`${JSON.stringify(counts)}: the rejected records are listed above`);
    },
  },
  {
    words: "mirror",
    does: "Copies the records to a folder that any web server can serve.",
    rest: "DIR",
    async run({ store }, { rest }) {
      if (rest.length !== 1)
        throw new Error(`expected one folder, found ${rest.length}; usage: mirror DIR`);
      const counts = await writeMirror(store, rest[0]!, report);
      if (counts.corrupt === 0) return counts;
      throw new Error(`${JSON.stringify(counts)}: the corrupt records above were skipped`);
    },
  },
  ...ofDatabases,
];

/** The commands that copy the SQLite database. */
const ofDatabases: Command[] = [
  {
    words: "backup",
    does: "Copies the SQLite database to a file.",
    options: { to: "FILE" },
    async run({ store }, { options }) {
      const file = options.to as string;
      if (store.dialect !== "sqlite") {
        throw new Error("DATABASE_URL is set: use pg_dump to back up PostgreSQL");
      }
      if (existsSync(file)) throw new Error(`${file} already exists: choose another name`);
      await backUp(store, file);
      return { backup: file };
    },
  },
  {
    words: "copy to-postgres",
    does: "Copies the SQLite database to an empty PostgreSQL database (DATABASE_URL).",
    async run({ store, dataDirectory }) {
      const file = sqliteFile(dataDirectory);
      if (!existsSync(file))
        throw new Error(`${file} is missing: set DATA_DIR to the folder of the database`);
      const leave = lockDirectory(dataDirectory);
      try {
        return await copyToPostgres(file, store, (address, terms) => {
          decodeRecord(address, terms, ownFactory);
        });
      } finally {
        leave();
      }
    },
  },
];

/** Yields the records as lines of JSON. At the end, reports the totals. */
async function* linesOf(store: Store, sinceMs: number, report: Terminal["report"]) {
  const { untilMs, ...counts } = yield* exportRecords(store, sinceMs, report);
  report(JSON.stringify({ ...counts, until: new Date(untilMs).toISOString() }));
  if (counts.corrupt > 0)
    throw new Error(`the ${counts.corrupt} corrupt records above were skipped`);
}

/** Writes a consistent copy of the SQLite file. Resolves when the copy is durable. */
async function backUp({ db }: Store, file: string): Promise<void> {
  // The copy contains the database's secrets, so only its owner may read it.
  process.umask(0o077);
  await sql`vacuum into ${file}`.execute(db);
  chmodSync(file, 0o600);
  const descriptor = openSync(file, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
