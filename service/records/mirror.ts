// A static copy of the records that any web server can serve: a file for each look-up, and one with
// a line for each record. A record proves itself, so its server need not be trusted.

import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "../store/store.ts";
import { readRecords } from "./export.ts";

/** The mirror's own note of how far it has all records; readers do not need it. */
const stateFile = ".mirror.json";

const headers: Record<string, string> = {
  "Content-Type": "application/json; charset=utf-8",
  "Cache-Control": "public, max-age=31536000, immutable",
  "Access-Control-Allow-Origin": "*",
  "X-Content-Type-Options": "nosniff",
};

/** For `include` in a server block whose root is the mirror. */
const nginx = `location /v1/address/ {
  types {}
  default_type "${headers["Content-Type"]}";
${Object.entries(headers)
  .slice(1)
  .map(([name, value]) => `  add_header ${name} "${value}";\n`)
  .join("")}}
`;

/** For `import` in a site whose root is the mirror. */
const caddy = `header /v1/address/* {
${Object.entries(headers)
  .map(([name, value]) => `  ${name} "${value}"\n`)
  .join("")}}
file_server
`;

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
  const state = await readState(folder);
  const pages = readRecords(store, state.seq, 0, tell);
  let written = 0;
  for (;;) {
    const { value, done } = await pages.next();
    if (done) return { written, corrupt: value.corrupt };
    await Promise.all(
      value.records.map(({ address, body }) =>
        writeFile(join(directory, `0x${Buffer.from(address).toString("hex")}`), body),
      ),
    );
    const lines = value.records.map(({ body }) => `${body}\n`).join("");
    await appendFile(join(folder, "v1", "records.jsonl"), lines);
    written += value.records.length;
    await writeState(folder, value.seq);
  }
}

async function readState(folder: string): Promise<{ seq: number }> {
  const text = await readFile(join(folder, stateFile), "utf8").catch(() => '{"seq":0}');
  return JSON.parse(text);
}

async function writeState(folder: string, seq: number): Promise<void> {
  const file = join(folder, stateFile);
  await writeFile(`${file}.new`, JSON.stringify({ seq }));
  await rename(`${file}.new`, file);
}
