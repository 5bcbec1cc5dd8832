// The two kinds of SQL spoken here, and the one type of theirs that differs.

export type Dialect = "sqlite" | "postgres";

/** Bytes, of either dialect's own type for them. What comes out is a Buffer. */
export type Bytes = Uint8Array;
