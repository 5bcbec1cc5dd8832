// Exports and imports records as lines of JSON, each the body of its look-up: for a backup that any
// program can read, a move, or a mirror. Each record is verified on the way out and on the way in.

import { fromHex, type Intent, verifyRecord } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { findCreated, findNewestSeq, readClock } from "../store/find-records.ts";
import { keccak, mendTerms } from "../store/record.ts";
import { CorruptError, type Store } from "../store/store.ts";

/** Records that are read, or saved, together. */
export const batchSize = 500;

/** More than any record: 24,576 bytes of terms, twice as hex, and what they spell as JSON. */
export const lineBytesMax = 1_048_576;

/** `untilMs`, by the database's clock, is the next export's `sinceMs`. */
type Exported = { exported: number; corrupt: number; untilMs: number };

/**
 * Lines, many to a piece, of what was created from `sinceMs` on: expired records too, since money
 * may still come back from them. A record that does not derive its address is reported and left
 * out.
 */
export async function* exportRecords(
  store: Store,
  sinceMs: number,
  tell: (fault: string) => void,
): AsyncGenerator<string, Exported> {
  const untilMs = await readClock(store.db, store.dialect);
  const counts = { exported: 0, corrupt: 0 };
  for await (const { records, corrupt } of readRecords(store, 0, sinceMs, tell)) {
    counts.exported += records.length;
    counts.corrupt += corrupt.length;
    if (records.length > 0) yield records.map(({ body }) => `${body}\n`).join("");
  }
  return { ...counts, untilMs };
}

/** `body`: as the record's look-up has it. `corrupt`: those that do not derive their address. */
export type Read = {
  readonly records: readonly { readonly address: Uint8Array; readonly body: string }[];
  readonly corrupt: readonly Uint8Array[];
};

/** The records of `addresses`, each verified; why one is corrupt is told. */
export async function readEach(
  store: Store,
  addresses: readonly Uint8Array[],
  tell: (fault: string) => void,
): Promise<Read> {
  const bodies = await Promise.allSettled(addresses.map(store.findRecord));
  const corrupt: Uint8Array[] = [];
  const records = bodies.flatMap((found, index) => {
    const address = addresses[index]!;
    if (found.status === "fulfilled")
      return found.value === undefined ? [] : [{ address, body: found.value }];
    if (!(found.reason instanceof CorruptError)) throw found.reason;
    corrupt.push(address);
    tell(found.reason.message);
    return [];
  });
  return { records, corrupt };
}

/** Reads pages of what was created behind `seq` and since `sinceMs`; each tells its last `seq`. */
export async function* readRecords(
  store: Store,
  seq: number,
  sinceMs: number,
  tell: (fault: string) => void,
): AsyncGenerator<Read & { readonly seq: number }> {
  const newest = await findNewestSeq(store.db);
  for (let at = seq; at < newest; ) {
    const page = await findCreated(store.db, at, batchSize);
    at = page.at(-1)?.seq ?? newest;
    const addresses = page
      .filter(({ createdAt }) => createdAt >= sinceMs)
      .map(({ address }) => fromHex(address));
    yield { seq: at, ...(await readEach(store, addresses, tell)) };
  }
}

type Input = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** `mended`: of those saved, how many took the place of terms that do not derive the address. */
type Imported = { saved: number; mended: number; refused: number };

/**
 * Saves each line's record as `accountId`'s, once it has proved itself by the factory that this
 * service trusts. Repeating it changes nothing. A line that is no record is told and left out. A
 * row with other terms is mended and told: those of the line were proved, so the row's are wrong.
 * @param isWanted whether a record is saved at all
 */
export async function importRecords(
  store: Store,
  accountId: string,
  input: Input,
  tell: (fault: string) => void,
  isWanted: (intent: Intent) => boolean = () => true,
): Promise<Imported> {
  const options = { factory: factoryAddress, keccak };
  const counts = { saved: 0, mended: 0, refused: 0 };
  let number = 0;
  const refuse = (at: number, why: string) => {
    counts.refused += 1;
    tell(`line ${at}: ${why}`);
  };
  const save = async (line: string, at: number): Promise<void> => {
    let record: ReturnType<typeof verifyRecord>;
    try {
      record = verifyRecord(JSON.parse(line), options);
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
      tell(`line ${at}: ${error.message}; mended`);
      await mendTerms(store, address, terms);
      await store.saveRecord(row);
      counts.mended += 1;
    }
    counts.saved += 1;
  };

  let saving: Promise<void>[] = [];
  for await (const line of linesOf(input)) {
    number += 1;
    if (line === undefined) refuse(number, `longer than ${lineBytesMax} bytes`);
    else if (line !== "") saving.push(save(line, number));
    if (saving.length < batchSize) continue;
    await Promise.all(saving);
    saving = [];
  }
  await Promise.all(saving);
  return counts;
}

/** Undefined for a line that is too long, of which no more than that is held. */
async function* linesOf(input: Input): AsyncGenerator<string | undefined> {
  let kept: Uint8Array[] = [];
  let keptBytes = 0;
  const take = () => {
    const line = keptBytes > lineBytesMax ? undefined : Buffer.concat(kept).toString().trim();
    kept = [];
    keptBytes = 0;
    return line;
  };
  const keep = (bytes: Uint8Array) => {
    keptBytes += bytes.length;
    if (keptBytes <= lineBytesMax) kept.push(bytes);
    else kept = [];
  };
  for await (const chunk of input) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      keep(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  if (keptBytes > 0) yield take();
}
