// All tables, as Kysely sees them: one type per migration file, joined here.

import type { ColumnType } from "kysely";
import type { RecordTables } from "./migrations/001-records.ts";
import type { AccountTables } from "./migrations/002-accounts.ts";

export type Dialect = "sqlite" | "postgres";

/** Bytes: any Uint8Array goes in, a Buffer comes out, in both dialects. */
export type Bytes = ColumnType<Buffer, Uint8Array, Uint8Array>;

export type Tables = {
  /** Which files of migrations/ ran, and when, in Unix milliseconds. */
  migrations: { name: string; applied_at: number };
} & RecordTables &
  AccountTables;
