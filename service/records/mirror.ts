// Writes and reads mirrors. A mirror is a folder with a static copy of the records. Any web server
// can serve it. The folder contains a file for each record and a list of all records. The format of
// a record is the same as in a lookup. Clients verify each record, so they do not have to trust the
// mirror's server. Another file, the note, contains the position up to which the writer has copied
// records. Only the writer reads the note.

import { createHash } from "node:crypto";
import { appendFile, mkdir, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fromHex, type Hex, type Intent, toHex } from "executable-address";
import { apiPrefix, recordHeaders, recordPath } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import {
  batchSize,
  importRecords,
  lineBytesMax,
  type Read,
  readEach,
  readRecords,
} from "./export.ts";
import { readNote, writeNote } from "./note.ts";

/** The name of the note: the file in which the writer stores its progress. */
const noteFile = ".mirror.json";

/** The name of the file with all records, one per line. The writer appends lines to this file. */
const listFile = "records.jsonl";

/**
 * `seq` is the position up to which the records have been copied. `corrupt` contains the addresses
 * of corrupt records up to this position. The next run tries to copy these records again. `bytes`
 * is the size that `records.jsonl` had when this note was written. If the file is larger after a
 * crash, the writer truncates the file to this size.
 */
type Note = { readonly seq: number; readonly corrupt: readonly Hex[]; readonly bytes: number };

const headers = { ...recordHeaders, "access-control-allow-origin": "*" };

/**
 * Maps a path prefix to the response headers for all paths with this prefix. A record never
 * changes, so caches can keep it. The list of all records can grow, so caches must revalidate it.
 */
const places: Record<string, Record<string, string>> = {
  [recordPath("")]: headers,
  [`${apiPrefix}/${listFile}`]: {
    ...headers,
    "content-type": "application/jsonl; charset=utf-8",
    "cache-control": "no-cache",
  },
};

const eachPlace = (write: (place: string, headers: Record<string, string>) => string) =>
  Object.entries(places)
    .map(([place, headers]) => write(place, headers))
    .join("");

const eachHeader = (headers: object, write: (name: string, value: string) => string) =>
  Object.entries(headers)
    .map(([name, value]) => `  ${write(name, value)}\n`)
    .join("");

/** The configuration for nginx, to be included in a server block whose root is the mirror. */
const nginx = `${eachPlace((place, { "content-type": type, ...others }) => {
  const added = eachHeader(others, (name, value) => `add_header ${name} "${value}";`);
  return `location ${place} {\n  types {}\n  default_type "${type}";\n${added}}\n`;
})}location = /${noteFile} {\n  return 404;\n}\n`;

/**
 * The configuration for Caddy, to be imported in a site whose root is the mirror. The headers apply
 * only to existing files. Caches must not store a 404 response for a record that is written later.
 */
const caddy = `${eachPlace((place, headers) => {
  const matcher = `@${basename(place, ".jsonl")}`;
  const set = eachHeader(headers, (name, value) => `${name} "${value}"`);
  return `${matcher} {\n  path ${place}*\n  file\n}\nheader ${matcher} {\n${set}}\n`;
})}respond /${noteFile} 404\nfile_server\n`;

type Mirrored = { written: number; corrupt: number };

/**
 * Writes the records that were created since the last call. After a crash, writes the records after
 * the note's position again, with the same bytes. A folder must always be used with the same
 * database, because the position is a row number.
 */
export async function writeMirror(
  store: Store,
  folder: string,
  report: (fault: string) => void,
): Promise<Mirrored> {
  const directory = join(folder, recordPath(""));
  await mkdir(directory, { recursive: true });
  await writeFile(join(folder, "nginx.conf"), nginx);
  await writeFile(join(folder, "Caddyfile"), caddy);
  const list = join(folder, apiPrefix, listFile);
  const note = join(folder, noteFile);
  const fresh: Note = { seq: 0, corrupt: [], bytes: 0 };
  const kept = await readNote<Partial<Note>>(note, fresh);
  // Notes from an earlier version contain no `bytes`. With such a note, all records are written
  // again.
  const last = kept.bytes === undefined ? fresh : (kept as Note);
  let { seq, bytes } = last;
  await appendFile(list, "");
  await truncate(list, bytes);
  const corrupt: Hex[] = [];
  let written = 0;
  const write = async ({ records, corrupt: found }: Read) => {
    await Promise.all(
      records.map(({ address, body }) => writeFile(join(directory, toHex(address)), body)),
    );
    const lines = records.map(({ body }) => `${body}\n`).join("");
    await appendFile(list, lines);
    bytes += Buffer.byteLength(lines);
    written += records.length;
    corrupt.push(...found.map(toHex));
  };
  const keepNote = () => writeNote(note, { seq, corrupt, bytes } satisfies Note);
  for (let at = 0; at < last.corrupt.length; at += batchSize) {
    const known = last.corrupt.slice(at, at + batchSize).map((each) => fromHex(each));
    await write(await readEach(store, known, report));
  }
  await keepNote();
  let unnoted = 0;
  for await (const page of readRecords(store, seq, 0, report)) {
    seq = page.seq;
    await write(page);
    unnoted += page.records.length + page.corrupt.length;
    // A note contains the addresses of all corrupt records, so a note can be long. The next note is
    // written only after at least as many records as there are corrupt ones.
    if (unnoted < corrupt.length) continue;
    await keepNote();
    unnoted = 0;
  }
  await keepNote();
  return { written, corrupt: corrupt.length };
}

/**
 * The maximum number of bytes per read of a mirror's list. A pause of two seconds follows each
 * read, so invalid data costs at most 2 MiB per second.
 */
const readBytesMax = 4 * lineBytesMax;
const pauseMs = 2_000;
const readMsMax = 30_000;

/**
 * The owner of records from mirrors. The executor charges the costs of these records to this ID. No
 * account has this ID, so no account receives events about these records.
 */
const owner = "mirror";

export type MirrorParts = {
  store: Store;
  /**
   * The directory of the notes. A note contains the offset up to which a mirror's list was read.
   */
  dataDirectory: string;
  isWanted: (intent: Intent) => boolean;
  /** Called for each fault of a mirror, such as a line without a valid record. */
  onFault: (mirror: string, fault: string) => void;
};

/**
 * Imports the records of mirrors, and then imports new records until it is stopped. So an executor
 * does not need the service's database. Each record is verified, so a mirror can omit records, but
 * cannot forge a record. A mirror that does not respond does not delay other mirrors.
 */
export function followMirrors(mirrors: readonly string[], parts: MirrorParts) {
  const stopping = new AbortController();
  const loops = mirrors.map((mirror) => follow(mirror, parts, stopping.signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function follow(mirror: string, parts: MirrorParts, stopping: AbortSignal): Promise<void> {
  const name = createHash("sha256").update(mirror).digest("hex").slice(0, 16);
  const file = join(parts.dataDirectory, `mirror-${name}.json`);
  while (!stopping.aborted) {
    try {
      await mkdir(parts.dataDirectory, { recursive: true });
      const { offset } = await readNote(file, { offset: 0 });
      const next = await readOn(mirror, offset, parts, stopping);
      if (next !== offset) await writeNote(file, { offset: next });
    } catch (error) {
      const { message, cause } = error as Error;
      const fault = cause instanceof Error ? `${message}: ${cause.message}` : message;
      if (!stopping.aborted) parts.onFault(mirror, fault);
    }
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {});
  }
}

/**
 * Reads the mirror's list from `offset` on, and saves the valid records.
 *
 * @returns the offset of the next line to read
 */
async function readOn(
  mirror: string,
  offset: number,
  { store, isWanted, onFault }: MirrorParts,
  stopping: AbortSignal,
): Promise<number> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(readMsMax)]);
  const read = await readBytes(`${mirror}/${listFile}`, offset, signal);
  if (read === "replaced") return 0;
  // The last line may be incomplete, so the last line is read again later. If a read of the maximum
  // size contains no line end, the line is too long. Its bytes are then skipped.
  const end = read.length < readBytesMax ? 0 : read.length;
  const lines = read.subarray(0, read.lastIndexOf(10) + 1 || end);
  await importRecords(store, owner, [lines], (fault) => onFault(mirror, fault), isWanted);
  return offset + lines.length;
}

/**
 * Reads up to {@link readBytesMax} bytes from `offset` on. Also works if the server ignores the
 * `Range` header.
 *
 * @returns "replaced" if the file is now shorter than `offset`
 */
async function readBytes(
  url: string,
  offset: number,
  signal: AbortSignal,
): Promise<Buffer | "replaced"> {
  const headers = { Range: `bytes=${offset}-`, "Accept-Encoding": "identity" };
  const response = await fetch(url, { headers, signal });
  const found = /^bytes (?:([0-9]+)-[0-9]+|\*)\/([0-9]+)$/.exec(
    response.headers.get("content-range") ?? "",
  );
  const isPart = response.status === 206 && Number(found?.[1]) === offset;
  const length = response.headers.get("content-length");
  const size = response.status === 200 ? Number(length ?? Number.NaN) : Number(found?.[2]);
  if (response.status === 416 || size <= offset) {
    await response.body?.cancel();
    return size < offset ? "replaced" : Buffer.alloc(0);
  }
  if ((!isPart && response.status !== 200) || response.headers.has("content-encoding")) {
    await response.body?.cancel();
    throw new Error(`expected 200 or the requested range, found ${response.status} from ${url}`);
  }
  let skip = isPart ? 0 : offset;
  let wanted = readBytesMax;
  const kept: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    const part = chunk.subarray(Math.min(skip, chunk.length)).subarray(0, wanted);
    skip -= Math.min(skip, chunk.length);
    wanted -= part.length;
    kept.push(part);
    if (wanted === 0) break;
  }
  // A response without a Content-Length shows only at its end that the file is shorter.
  if (skip > 0) return "replaced";
  return Buffer.concat(kept);
}
