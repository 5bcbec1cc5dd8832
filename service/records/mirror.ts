// A static copy of the records that any web server can serve: a file for each look-up, and one with
// a line for each record. A record proves itself, so its server need not be trusted.

import { appendFile, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fromHex, type Hex, toHex } from "executable-address";
import type { Store } from "../store/store.ts";
import { readEach, readRecords } from "./export.ts";

/** The mirror's own note of how far it has all records; readers do not need it. */
const stateFile = ".mirror.json";

/** `corrupt`: addresses up to `seq` whose records did not prove themselves, to be tried again. */
type State = { readonly seq: number; readonly corrupt: readonly Hex[] };

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
  let { seq, corrupt } = await readState(folder);
  let written = 0;
  const write = async (records: readonly { address: Uint8Array; body: string }[]) => {
    await Promise.all(
      records.map(({ address, body }) => writeFile(join(directory, toHex(address)), body)),
    );
    const lines = records.map(({ body }) => `${body}\n`).join("");
    await appendFile(join(folder, "v1", "records.jsonl"), lines);
    written += records.length;
    await writeState(folder, { seq, corrupt });
  };
  const mended = await readEach(
    store,
    corrupt.map((each) => fromHex(each)),
    tell,
  );
  corrupt = mended.corrupt.map(toHex);
  await write(mended.records);
  for await (const page of readRecords(store, seq, 0, tell)) {
    seq = page.seq;
    corrupt = [...corrupt, ...page.corrupt.map(toHex)];
    await write(page.records);
  }
  return { written, corrupt: corrupt.length };
}

async function readState(folder: string): Promise<State> {
  const text = await readFile(join(folder, stateFile), "utf8").catch(() => "{}");
  return { seq: 0, corrupt: [], ...JSON.parse(text) };
}

async function writeState(folder: string, state: State): Promise<void> {
  const file = join(folder, stateFile);
  await writeFile(`${file}.new`, JSON.stringify(state));
  await rename(`${file}.new`, file);
}
