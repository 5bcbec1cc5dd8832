// The two SQL dialects, and the only column type that differs between them.

import type { RawBuilder } from "kysely";

export type Dialect = "sqlite" | "postgres";

/** A column of bytes: `blob` on SQLite, and `bytea` on PostgreSQL. Queries return a Buffer. */
export type Bytes = Uint8Array;

/** A statement of a migration, which creates or changes a table, an index, or a function. */
export type TableStatement = RawBuilder<unknown>;
