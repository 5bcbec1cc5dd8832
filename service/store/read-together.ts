// Reads of the SQLite file that are wanted at one time, by any thread with a connection to it.

import type Database from "better-sqlite3";

/** One read transaction for all `keys`: its locks cost more than a read. */
export function readTogether<Value>(
  database: Database.Database,
  read: (key: Uint8Array) => Value,
): (keys: Uint8Array[]) => Value[] {
  return database.transaction((keys: Uint8Array[]) => keys.map(read));
}

/** Terms by address. */
export function termsReader(
  database: Database.Database,
): (addresses: Uint8Array[]) => (Buffer | undefined)[] {
  const find = database.prepare<[Uint8Array], Buffer>(
    "select terms from records where address = ?",
  );
  find.pluck();
  return readTogether(database, (address) => find.get(address));
}
