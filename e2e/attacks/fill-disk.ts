// Fills the disk that the servers and their database use. Then frees space, and prints how the
// servers responded. The folder for temporary files must be on a small, separate disk, which the
// program fills.

import { randomBytes } from "node:crypto";
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fromHex, type Hex } from "executable-address";
import { sql } from "kysely";
import { openStore } from "../../service/roles/open-store.ts";
import { newIntent } from "../../service/testing/app.ts";
import { type Kind, startProcesses } from "./deployments.ts";
import { newKeys, type Server } from "./server.ts";

/** Counts responses by status. */
type Counted = Record<string, number>;

/** The observations of one cycle, in which the program fills the disk and then frees space. */
type Cycle = {
  /**
   * Responses to create requests: until the first rejection, while the disk was full, and later.
   */
  creates: { before: Counted; full: Counted; back: Counted };
  /** Lookups while the disk was full. */
  lookups: Counted;
  /** The number of lines that each server logged during the cycle. */
  lines: number[];
  /** The time from freeing the disk until every server acknowledged a create request. */
  backMs: number;
  isPostgresRestarted: boolean;
};

/**
 * `kept` counts acknowledged create requests. `lost` counts acknowledged records that the database
 * lacks.
 */
export type Observations = { cycles: Cycle[]; kept: number; lost: number; ready: number[] };

const roomBytes = 2 ** 20;
const backMsMax = 60_000;
const answerMsMax = 20_000;
const ballast = join(tmpdir(), "ballast");

const [, , kind, cyclesCount] = process.argv;
const deployed = await startProcesses(kind as Kind);
const { servers, postgres } = deployed;
const { DATA_DIR, DATABASE_URL } = servers[0]!.env;
const keys = await newKeys(servers[0]!, 40);
const kept: Hex[] = [];
let tried = 0;

/** Creates an address whose record has 18,000 bytes that cannot be compressed. */
async function create({ base }: Server): Promise<string> {
  const args = [`0x${randomBytes(18_000).toString("hex")}`];
  const target = "0x3333333333333333333333333333333333333333";
  const intent = { ...newIntent(), calls: [{ target, function: "note(bytes text)", args }] };
  const authorization = `Bearer ${keys[tried++ % keys.length]}`;
  const answer = await fetch(`${base}/v1/address/create`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify(intent),
    signal: AbortSignal.timeout(answerMsMax),
  });
  if (answer.status === 200) kept.push(((await answer.clone().json()) as { address: Hex }).address);
  return codeOf(answer);
}

async function codeOf(answer: Response): Promise<string> {
  const { error } = (await answer.json()) as { error?: { code: string } };
  return error ? `${answer.status} ${error.code}` : String(answer.status);
}

async function lookUp({ base }: Server): Promise<string> {
  const url = `${base}/v1/address/${kept[Math.floor(Math.random() * kept.length)]}`;
  return codeOf(await fetch(url, { signal: AbortSignal.timeout(answerMsMax) }));
}

function fillDisk(): void {
  const file = openSync(ballast, "w");
  let size = 0;
  try {
    for (;;) size += writeSync(file, Buffer.alloc(2 ** 16));
  } catch {
    ftruncateSync(file, Math.max(0, size - roomBytes));
  }
  closeSync(file);
}

async function inDatabase<Result>(ask: (store: Awaited<ReturnType<typeof openStore>>) => Result) {
  const store = await openStore({ dataDirectory: DATA_DIR!, databaseUrl: DATABASE_URL }, false);
  try {
    return await ask(store);
  } finally {
    await store.close();
  }
}

const count = (counted: Counted, answer: string) => {
  counted[answer] = (counted[answer] ?? 0) + 1;
  return answer;
};

/**
 * @param isLogFull whether PostgreSQL must start a new write-ahead log file on the full disk.
 *   PostgreSQL exits if it cannot create this file
 */
async function cycle(isLogFull: boolean): Promise<Cycle> {
  const creates = { before: {}, full: {}, back: {} };
  const lookups = {};
  const written = servers.map(({ lines }) => lines.length);
  fillDisk();
  while (!count(creates.before, await create(deployed.next())).startsWith("503"));
  if (isLogFull) await inDatabase(({ db }) => sql`select pg_switch_wal()`.execute(db));
  // The four rounds take at least a second. The database then also attempts a checkpoint on the
  // full disk.
  for (let round = 0; round < 4; round++) {
    await sleep(250);
    for (const server of servers) {
      count(creates.full, await create(server));
      count(lookups, await lookUp(server));
    }
  }
  const lines = servers.map((server, at) => server.lines.length - written[at]!);
  rmSync(ballast);
  const roomAt = performance.now();
  let isPostgresRestarted = false;
  for (const server of servers) {
    while (count(creates.back, await create(server)) !== "200") {
      if (performance.now() - roomAt > backMsMax) throw new Error(sayStuck(creates));
      if (postgres && !(await postgres.isRunning())) {
        await postgres.restart();
        isPostgresRestarted = true;
      }
      await sleep(50);
    }
  }
  const backMs = Math.round(performance.now() - roomAt);
  return { creates, lookups, lines, backMs, isPostgresRestarted };
}

/** Returns the counted responses and the last log lines of each server. */
const sayStuck = (creates: Cycle["creates"]) =>
  JSON.stringify({ creates, lines: servers.map(({ lines }) => lines.slice(-8)) }, null, 1);

/**
 * @throws if a server does not respond to a create request, or accepts no create request within a
 *   minute after disk space was freed
 */
async function run(): Promise<Observations> {
  const cycles: Cycle[] = [];
  for (let at = 0; at < Number(cyclesCount); at++) {
    cycles.push(await cycle(postgres !== undefined && at % 2 === 1));
  }
  const lost = await inDatabase(async (store) => {
    const found = await Promise.all(kept.map((each) => store.findTerms(fromHex(each))));
    return found.filter((terms) => terms === undefined).length;
  });
  const ready = [];
  for (const { base } of servers) ready.push((await fetch(`${base}/readyz`)).status);
  return { cycles, kept: kept.length, lost, ready };
}

const observed = await run().finally(() => deployed.close());
console.log(JSON.stringify(observed));
