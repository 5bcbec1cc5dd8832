// Takes in the records of mirrors as they grow, so that an executor needs no database of the
// service. A record proves itself: a mirror can leave some out, and cannot make one up.

import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Intent } from "executable-address";
import type { Store } from "../store/store.ts";
import { importRecords, lineBytesMax } from "./export.ts";
import { listFile, readNote, writeNote } from "./mirror.ts";

/** Bytes of one turn. With the pause behind each, a mirror that lies takes 2 MiB a second. */
const turnBytesMax = 4 * lineBytesMax;
const pauseMs = 2_000;
const turnMsMax = 30_000;

/** The owner of what mirrors give, for budgets. No account has this id, so no event is sent. */
const owner = "mirror";

export type MirrorParts = {
  store: Store;
  /** Notes of how far each mirror was read are kept there. */
  dataDirectory: string;
  isWanted: (intent: Intent) => boolean;
  /** Each fault of a mirror, such as a line that proves no record. */
  tell: (mirror: string, fault: string) => void;
};

/** Reads each mirror to its end, and on whenever it grows. One that is silent delays no other. */
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
      if (!stopping.aborted) parts.tell(mirror, fault);
    }
    await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {});
  }
}

/** Saves what the lines behind `offset` prove. @returns the offset of the line to go on with */
async function readOn(
  mirror: string,
  offset: number,
  { store, isWanted, tell }: MirrorParts,
  stopping: AbortSignal,
): Promise<number> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(turnMsMax)]);
  const read = await readBytes(`${mirror}/${listFile}`, offset, signal);
  if (read === "made anew") return 0;
  // The last line may still be being written; one that fills the turn is no record.
  const end = read.length < turnBytesMax ? 0 : read.length;
  const lines = read.subarray(0, read.lastIndexOf(10) + 1 || end);
  await importRecords(store, owner, [lines], (fault) => tell(mirror, fault), isWanted);
  return offset + lines.length;
}

/** Up to {@link turnBytesMax} bytes from `offset` on, also of a server that knows no ranges. */
async function readBytes(
  url: string,
  offset: number,
  signal: AbortSignal,
): Promise<Buffer | "made anew"> {
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
    return size < offset ? "made anew" : Buffer.alloc(0);
  }
  if ((!isPart && response.status !== 200) || response.headers.has("content-encoding")) {
    await response.body?.cancel();
    throw new Error(`${url} answers ${response.status}, which is not what was asked for`);
  }
  let skip = isPart ? 0 : offset;
  let wanted = turnBytesMax;
  const kept: Uint8Array[] = [];
  for await (const chunk of response.body ?? []) {
    const part = chunk.subarray(Math.min(skip, chunk.length)).subarray(0, wanted);
    skip -= Math.min(skip, chunk.length);
    wanted -= part.length;
    kept.push(part);
    if (wanted === 0) break;
  }
  return Buffer.concat(kept);
}
