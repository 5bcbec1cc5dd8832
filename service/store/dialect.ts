// The two kinds of SQL spoken here, and the one type of theirs that differs.

import type { RawBuilder } from "kysely";

export type Dialect = "sqlite" | "postgres";

/** Bytes, of either dialect's own type for them. What comes out is a Buffer. */
export type Bytes = Uint8Array;

/** One that makes a table, or what belongs to one. */
export type TableStatement = RawBuilder<unknown>;
