// Exports and imports records as lines of JSON. An export is a backup that any program can read.
// Another database can import it. Each line is a record, exactly as a lookup returns the record.
// Both the export and the import verify each record.

import { fromHex, type Intent, verifyRecord } from "executable-address";
import { sql } from "kysely";
import { findCreated, findNewestSeq } from "../store/find-records.ts";
import { mendTerms, ownFactory } from "../store/record.ts";
import { CorruptError, type Store } from "../store/store.ts";

/** The maximum number of records to read or save simultaneously. */
export const batchSize = 500;

/**
 * The maximum size of a line, in bytes. A line contains a record's terms in hex, and the intent as
 * JSON. Every valid line is shorter than this maximum, because the terms have at most 24,576 bytes.
 */
export const lineBytesMax = 1_048_576;

/**
 * The result of an export. `untilMs` is the time at which the export began, by the database's
 * clock. To export only newer records next time, pass `untilMs` as `sinceMs`.
 */
type Exported = { exported: number; corrupt: number; untilMs: number };

/**
 * Yields the records that were created at or after `sinceMs`. Includes expired records, because
 * money at their addresses can still be returned. Reports corrupt records, and skips them.
 */
export async function* exportRecords(
  store: Store,
  sinceMs: number,
  report: (fault: string) => void,
): AsyncGenerator<string, Exported> {
  const untilMs = await readClock(store);
  const counts = { exported: 0, corrupt: 0 };
  for await (const { records, corrupt } of readRecords(store, 0, sinceMs, report)) {
    counts.exported += records.length;
    counts.corrupt += corrupt.length;
    if (records.length > 0) yield records.map(({ body }) => `${body}\n`).join("");
  }
  return { ...counts, untilMs };
}

/**
 * `body` is the record as JSON, exactly as a lookup returns the record. `corrupt` contains the
 * addresses of corrupt records.
 */
export type Read = {
  readonly records: readonly { readonly address: Uint8Array; readonly body: string }[];
  readonly corrupt: readonly Uint8Array[];
};

/** Reads and verifies the records of `addresses`. Reports each corrupt record with the reason. */
export async function readEach(
  store: Store,
  addresses: readonly Uint8Array[],
  report: (fault: string) => void,
): Promise<Read> {
  const bodies = await Promise.allSettled(addresses.map(store.findRecord));
  const corrupt: Uint8Array[] = [];
  const records = bodies.flatMap((found, index) => {
    const address = addresses[index]!;
    if (found.status === "fulfilled")
      return found.value === undefined ? [] : [{ address, body: found.value }];
    if (!(found.reason instanceof CorruptError)) throw found.reason;
    corrupt.push(address);
    report(found.reason.message);
    return [];
  });
  return { records, corrupt };
}

/**
 * Yields pages of records, beginning after the position `seq`. Skips records that were created
 * before `sinceMs`. The `seq` of a page is the position of its last record.
 */
export async function* readRecords(
  store: Store,
  seq: number,
  sinceMs: number,
  report: (fault: string) => void,
): AsyncGenerator<Read & { readonly seq: number }> {
  const newest = await findNewestSeq(store.db);
  for (let at = seq; at < newest; ) {
    const page = await findCreated(store.db, at, batchSize);
    at = page.at(-1)?.seq ?? newest;
    const addresses = page
      .filter(({ createdAtMs }) => createdAtMs >= sinceMs)
      .map(({ address }) => fromHex(address));
    yield { seq: at, ...(await readEach(store, addresses, report)) };
  }
}

type Input = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * The result of an import: the number of saved, repaired, and refused records. `saved` includes
 * records that the database already contained. `repaired` is the number of records that replaced
 * corrupt terms in the database.
 */
type Imported = { saved: number; repaired: number; refused: number };

/**
 * Verifies the record of each line with the trusted factory. Saves the record with `accountId` as
 * its owner. The call is idempotent. Reports and skips invalid lines. If the database contains a
 * corrupt record of the address, repairs and reports it.
 *
 * @param isWanted returns whether to save the record of an intent
 */
export async function importRecords(
  store: Store,
  accountId: string,
  input: Input,
  report: (fault: string) => void,
  isWanted: (intent: Intent) => boolean = () => true,
): Promise<Imported> {
  const counts = { saved: 0, repaired: 0, refused: 0 };
  let number = 0;
  const refuse = (at: number, why: string) => {
    counts.refused += 1;
    report(`line ${at}: ${why}`);
  };
  const save = async (line: string, at: number): Promise<void> => {
    let record: ReturnType<typeof verifyRecord>;
    try {
      record = verifyRecord(JSON.parse(line), ownFactory);
    } catch (error) {
      return refuse(at, (error as Error).message);
    }
    if (!isWanted(record.intent)) return;
    const [address, terms] = [fromHex(record.address), fromHex(record.terms)];
    const row = { address, terms, accountId, createdAtMs: Date.now() };
    try {
      await store.saveRecord(row);
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      report(`line ${at}: ${error.message}; repaired`);
      await mendTerms(store, address, terms);
      await store.saveRecord(row);
      counts.repaired += 1;
    }
    counts.saved += 1;
  };

  let saving: Promise<void>[] = [];
  for await (const line of linesOf(input)) {
    number += 1;
    if (line === undefined) refuse(number, `expected at most ${lineBytesMax} bytes, found more`);
    else if (line !== "") saving.push(save(line, number));
    if (saving.length < batchSize) continue;
    await Promise.all(saving);
    saving = [];
  }
  await Promise.all(saving);
  return counts;
}

/**
 * Yields the lines of `input`. Yields undefined for a line that is too long, and does not keep it
 * in memory.
 */
async function* linesOf(input: Input): AsyncGenerator<string | undefined> {
  let parts: Uint8Array[] = [];
  let lineBytes = 0;
  const take = () => {
    const line = lineBytes > lineBytesMax ? undefined : Buffer.concat(parts).toString().trim();
    parts = [];
    lineBytes = 0;
    return line;
  };
  const add = (bytes: Uint8Array) => {
    lineBytes += bytes.length;
    if (lineBytes <= lineBytesMax) parts.push(bytes);
    else parts = [];
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      add(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    add(chunk.subarray(start));
  }
  if (lineBytes > 0) yield take();
}

/**
 * Returns the time of the database's clock, in Unix milliseconds. All servers that use the database
 * share this clock.
 */
async function readClock({ db, dialect }: Store): Promise<number> {
  const now =
    dialect === "postgres"
      ? sql`extract(epoch from clock_timestamp())`
      : sql`unixepoch('now', 'subsec')`;
  const { rows } = await sql<{ ms: number }>`select cast(${now} * 1000 as bigint) as ms`.execute(
    db,
  );
  return Number(rows[0]!.ms);
}
