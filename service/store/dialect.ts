// The two SQL dialects of the service, and the only column type in which they differ.

import type { RawBuilder } from "kysely";

export type Dialect = "sqlite" | "postgres";

/** Bytes, in the dialect's own type. Queries return a Buffer. */
export type Bytes = Uint8Array;

/** A statement that creates a table, or a part of a table. */
export type TableStatement = RawBuilder<unknown>;
