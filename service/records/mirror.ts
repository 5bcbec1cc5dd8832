// A static copy of the records that any web server can serve: a file for each look-up, and one with
// a line for each record. A record proves itself, so its server need not be trusted. A note beside
// it says how far the copy is.

import { appendFile, mkdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fromHex, type Hex, toHex } from "executable-address";
import type { Store } from "../store/store.ts";
import { batchSize, type Read, readEach, readRecords } from "./export.ts";

/** The mirror's own note of how far it has all records; readers do not need it. */
const noteFile = ".mirror.json";

/** A line for each record, in a file that only grows. */
export const listFile = "records.jsonl";

/**
 * `corrupt`: addresses up to `seq` whose records did not prove themselves, to be tried again.
 * `bytes`: the list's length then. What a crash left behind it, perhaps half a line, is cut off.
 */
type Note = { readonly seq: number; readonly corrupt: readonly Hex[]; readonly bytes: number };

const headers = {
  "Content-Type": "application/json; charset=utf-8",
  "Cache-Control": "public, max-age=31536000, immutable",
  "Access-Control-Allow-Origin": "*",
  "X-Content-Type-Options": "nosniff",
};

/** Headers by where a path begins. A cache has to ask whether the list has grown. */
const places: Record<string, Record<string, string>> = {
  "/v1/address/": headers,
  [`/v1/${listFile}`]: {
    ...headers,
    "Content-Type": "application/jsonl; charset=utf-8",
    "Cache-Control": "no-cache",
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

/** For `include` in a server block whose root is the mirror. */
const nginx = `${eachPlace((place, { "Content-Type": type, ...others }) => {
  const added = eachHeader(others, (name, value) => `add_header ${name} "${value}";`);
  return `location ${place} {\n  types {}\n  default_type "${type}";\n${added}}\n`;
})}location = /${noteFile} {\n  return 404;\n}\n`;

/** For `import` in a site whose root is the mirror. That no file is there must not be kept. */
const caddy = `${eachPlace((place, headers) => {
  const matcher = `@${basename(place, ".jsonl")}`;
  const set = eachHeader(headers, (name, value) => `${name} "${value}"`);
  return `${matcher} {\n  path ${place}*\n  file\n}\nheader ${matcher} {\n${set}}\n`;
})}respond /${noteFile} 404\nfile_server\n`;

type Mirrored = { written: number; corrupt: number };

/**
 * Writes what is new since the last time. Repeating it after a crash writes again what was not
 * counted yet; a file that is there has the same bytes.
 * A folder belongs to one database, whose numbers of rows it counts by.
 */
export async function writeMirror(
  store: Store,
  folder: string,
  tell: (fault: string) => void,
): Promise<Mirrored> {
  const directory = join(folder, "v1", "address");
  await mkdir(directory, { recursive: true });
  await writeFile(join(folder, "nginx.conf"), nginx);
  await writeFile(join(folder, "Caddyfile"), caddy);
  const list = join(folder, "v1", listFile);
  const note = join(folder, noteFile);
  const fresh: Note = { seq: 0, corrupt: [], bytes: 0 };
  const kept = await readNote<Partial<Note>>(note, fresh);
  // A note without a length is of an earlier form: all is written again.
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
    await write(await readEach(store, known, tell));
  }
  await keepNote();
  let unnoted = 0;
  for await (const page of readRecords(store, seq, 0, tell)) {
    seq = page.seq;
    await write(page);
    unnoted += page.records.length + page.corrupt.length;
    // A note names each corrupt address, so notes stay apart by as many records as it names.
    if (unnoted < corrupt.length) continue;
    await keepNote();
    unnoted = 0;
  }
  await keepNote();
  return { written, corrupt: corrupt.length };
}

/** @returns `fresh` where there is no such file */
export async function readNote<Note>(file: string, fresh: Note): Promise<Note> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return fresh;
    throw error;
  }
}

export async function writeNote(file: string, note: unknown): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify(note), { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
}
