// The two SQL dialects of the service, and the only column type in which they differ.

import type { RawBuilder } from "kysely";

export type Dialect = "sqlite" | "postgres";

/** A column of bytes: `blob` on SQLite, and `bytea` on PostgreSQL. Queries return a Buffer. */
export type Bytes = Uint8Array;

/** A statement of a migration, which creates or changes a table, an index, or a function. */
export type TableStatement = RawBuilder<unknown>;
