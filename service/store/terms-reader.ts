// Terms by address, as each thread reads them that has a connection to the SQLite file.

import type Database from "better-sqlite3";

/** One read transaction for all that is asked: its locks cost more than a read. */
export function termsReader(
  database: Database.Database,
): (addresses: Uint8Array[]) => (Buffer | undefined)[] {
  const find = database.prepare<[Uint8Array], Buffer>(
    "select terms from records where address = ?",
  );
  find.pluck();
  return database.transaction((addresses: Uint8Array[]) =>
    addresses.map((address) => find.get(address)),
  );
}
