// Operators' commands for all records at once: export, import, copy to PostgreSQL, backup of the
// file.

import { chmodSync, closeSync, existsSync, fsyncSync, openSync } from "node:fs";
import type { Readable } from "node:stream";
import { factoryAddress } from "executable-address-contracts";
import { sql } from "kysely";
import { findAccount } from "../accounts/account.ts";
import type { Command } from "../store/command.ts";
import { copyToPostgres } from "../store/copy.ts";
import { decodeRecord, keccak } from "../store/record.ts";
import { lockDirectory } from "../store/sqlite/server-lock.ts";
import { sqliteFile } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { exportRecords, importRecords } from "./export.ts";
import { writeMirror } from "./mirror.ts";

/** A command reads records from `stdin`, and says by `tell` what is no part of its answer. */
type Terminal = { stdin(): Readable; tell(line: string): unknown };

export const recordCommands = ({ stdin, tell }: Terminal): Command[] => [
  {
    words: "export",
    options: { since: "TIME" },
    optional: ["since"],
    async run({ store }, { options }) {
      const sinceMs = options.since === undefined ? 0 : Date.parse(options.since);
      if (Number.isNaN(sinceMs)) {
        throw new Error(`--since is ${options.since}; expected a time as 2026-01-31T00:00:00Z`);
      }
      return linesOf(store, sinceMs, tell);
    },
  },
  {
    words: "import",
    options: { email: "E" },
    async run({ store }, { options }) {
      const account = await findAccount(store.db, { email: options.email as string });
      if (!account) throw new Error(`no account has the email ${options.email}`);
      const counts = await importRecords(store, account.accountId, stdin(), tell);
      if (counts.refused === 0) return counts;
      throw new Error(`${JSON.stringify(counts)}: what was refused stands above`);
    },
  },
  {
    words: "mirror",
    rest: "DIR",
    async run({ store }, { rest }) {
      if (rest.length !== 1) throw new Error("expected one folder: mirror DIR");
      const counts = await writeMirror(store, rest[0]!, tell);
      if (counts.corrupt === 0) return counts;
      throw new Error(`${JSON.stringify(counts)}: what does not prove itself was left out`);
    },
  },
  {
    words: "backup",
    options: { to: "FILE" },
    async run({ store }, { options }) {
      const file = options.to as string;
      if (store.dialect !== "sqlite") {
        throw new Error("DATABASE_URL is set: back up PostgreSQL with its own pg_dump");
      }
      if (existsSync(file)) throw new Error(`${file} is there already: name another`);
      await backUp(store, file);
      return { backup: file };
    },
  },
  {
    words: "copy to-postgres",
    async run({ store, dataDirectory }) {
      const file = sqliteFile(dataDirectory);
      if (!existsSync(file)) throw new Error(`there is no ${file}: DATA_DIR names where it is`);
      const leave = lockDirectory(dataDirectory);
      try {
        const parts = { factory: factoryAddress, keccak };
        return await copyToPostgres(file, store, (address, terms) => {
          decodeRecord(address, terms, parts);
        });
      } finally {
        leave();
      }
    },
  },
];

/** The lines of the records; what they came to is told when the last is out. */
async function* linesOf(store: Store, sinceMs: number, tell: Terminal["tell"]) {
  const { untilMs, ...counts } = yield* exportRecords(store, sinceMs, tell);
  tell(JSON.stringify({ ...counts, until: new Date(untilMs).toISOString() }));
  if (counts.corrupt > 0) throw new Error("what does not prove itself was left out");
}

/** Copies the SQLite file as it is at one moment. It is on the disk when this resolves. */
async function backUp({ db }: Store, file: string): Promise<void> {
  // It holds what the database holds, so it is its owner's alone from the first byte on.
  process.umask(0o077);
  await sql`vacuum into ${file}`.execute(db);
  chmodSync(file, 0o600);
  const descriptor = openSync(file, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}
