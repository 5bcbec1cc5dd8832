// Measures how many create requests and lookups the service can serve per second. Compares the
// service with two other servers. One uses node:http without a framework, and its rate is the upper
// bound. The other is a simple handwritten server. The servers and the load generator are separate
// processes. Each round measures all servers, so that other load on the machine affects all servers
// equally. The results of a server are the medians of its rounds. Then measures the service on
// PostgreSQL. PostgreSQL runs on the same machine, but the service's processor time does not
// include PostgreSQL's.
//
// V8 may generate faster code for one process than for another process with the same program. So
// everything is measured three times with new processes. The report shows the median. The benchmark
// fails if the median rate is below its minimum. The minimum is a fraction of the request rate of a
// bare node:http server. The minimum rates only detect regressions, and are not goals.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { median } from "../testing/median.ts";
import { startPostgres } from "../testing/postgres.ts";
import { intentOf } from "./intents.ts";
import type { Job, Outcome } from "./load.ts";

const sets = 3;
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const roundMs = Number(process.env.BENCH_MS ?? 2000);
const warmMs = roundMs / 4;
const connections = 64;
const records = 100_000;
const hotRecords = 100;
const expiry = Math.floor(Date.now() / 1000) + 86_400;
const cacheBytes = 32 * 2 ** 20;

type Server = { port: number; keys: string[]; addresses: string[]; process: ChildProcess };
type Measured = Outcome & { processorMicros: number };
type Variant = { name: string; server: Server; job: (server: Server) => Job; rounds: Measured[] };
type Figures = Pick<Measured, "perSecond" | "processorMicros" | "p50Ms" | "p99Ms" | "maxMs">;
/**
 * The results of one of the three measurements, which have separate server processes. The outer key
 * is the operation, and the inner key is the server's name.
 */
type Shown = Map<string, Map<string, Figures>>;

const creating = "POST /v1/address/create";
const lookingUp = "GET /v1/address/{address}";
const bareName = "bare node:http";
const byHandName = "by hand";
/** The minimum rates, as fractions of the rate of node:http without a framework. */
const floors = new Map([
  ["this service", 0.2],
  ["this service, random", 0.4],
  ["this service, hot", 0.5],
]);

const load = fork(new URL("load.ts", import.meta.url));
let salt = records;
const onSqlite: Shown[] = [];
const onPostgres: Shown[] = [];
for (let set = 0; set < sets; set++) {
  const bare = await start("server-bare.ts");
  const byHand = await start("server-by-hand.ts", records, expiry);
  onSqlite.push(await measureOnSqlite(bare, byHand));
  onPostgres.push(await measureOnPostgres(bare, byHand));
  await Promise.all([bare, byHand].map(end));
}
load.disconnect();
report("SQLite", onSqlite);
report("PostgreSQL, by hand on SQLite", onPostgres);

async function measureOnSqlite(bare: Server, byHand: Server): Promise<Shown> {
  const ours = await start("server-ours.ts", records, expiry, cacheBytes);
  const uncached = await start("server-ours.ts", records, expiry, 0);
  const inJavaScript = await start("server-ours.ts", 0, expiry, cacheBytes, "", "wasm");
  const noWriter = await start("server-ours.ts", 0, expiry, cacheBytes, "", "writer");
  const noReader = await start("server-ours.ts", records, expiry, 0, "", "reader");
  const addresses = uncached.addresses.toSorted(() => Math.random() - 0.5);
  const hot = addresses.slice(0, hotRecords);
  const shown = await compare(
    [
      variant(bareName, bare, create),
      variant("this service", ours, create),
      variant("its keccak in JS", inJavaScript, create),
      variant("no writing thread", noWriter, create),
      variant(byHandName, byHand, create),
    ],
    [
      variant(bareName, bare, lookup(addresses)),
      variant("this service, random", uncached, lookup(addresses)),
      variant("no reading thread", noReader, lookup(addresses)),
      variant("this service, hot", ours, lookup(hot)),
      variant(byHandName, byHand, lookup(addresses)),
    ],
  );
  await Promise.all([ours, uncached, inJavaScript, noWriter, noReader].map(end));
  return shown;
}

async function measureOnPostgres(bare: Server, byHand: Server): Promise<Shown> {
  const postgres = await startPostgres({ fsync: "on" });
  const ours = await start("server-ours.ts", records, expiry, 0, postgres.url);
  const addresses = ours.addresses.toSorted(() => Math.random() - 0.5);
  const shown = await compare(
    [
      variant(bareName, bare, create),
      variant("on PostgreSQL", ours, create),
      variant(byHandName, byHand, create),
    ],
    [
      variant(bareName, bare, lookup(addresses)),
      variant("on PostgreSQL, random", ours, lookup(addresses)),
      variant(byHandName, byHand, lookup(addresses)),
    ],
  );
  await end(ours);
  await postgres.stop();
  return shown;
}

/**
 * Runs all rounds of create requests before the first lookup. After create requests, the operating
 * system continues to write to disk. If create requests and lookups alternated, the writes to disk
 * would slow down the lookups.
 */
async function compare(creates: Variant[], lookups: Variant[]): Promise<Shown> {
  for (const variants of [creates, lookups]) {
    for (let round = 0; round <= rounds; round++) {
      for (const each of variants) {
        const measured = await measure(each);
        if (round > 0) each.rounds.push(measured); // the first round is a warm-up
      }
    }
  }
  const figures = (variants: Variant[]) =>
    new Map(variants.map(({ name, rounds }) => [name, figuresOf(rounds)]));
  return new Map([
    [creating, figures(creates)],
    [lookingUp, figures(lookups)],
  ]);
}

function figuresOf(rounds: readonly Measured[]): Figures {
  return {
    perSecond: median(rounds.map((round) => round.perSecond)),
    processorMicros: median(rounds.map((round) => round.processorMicros)),
    p50Ms: median(rounds.map((round) => round.p50Ms)),
    p99Ms: median(rounds.map((round) => round.p99Ms)),
    maxMs: Math.max(...rounds.map((round) => round.maxMs)),
  };
}

async function end({ process }: Server): Promise<void> {
  process.disconnect();
  await once(process, "exit");
}

async function start(file: string, ...args: (number | string)[]): Promise<Server> {
  const child = fork(new URL(file, import.meta.url), args.map(String));
  const [ready] = (await once(child, "message")) as [Omit<Server, "process">];
  return { ...ready, process: child };
}

function variant(name: string, server: Server, job: Variant["job"]): Variant {
  return { name, server, job, rounds: [] };
}

/**
 * Measures one round. Also measures processor time, which depends less on other load on the machine
 * than elapsed time does.
 */
async function measure({ server, job }: Variant): Promise<Measured> {
  // Warms up the server, whose caches are cold because other servers were measured in between.
  load.send({ ...job(server), ms: warmMs });
  await once(load, "message");
  const before = await processorMicros(server);
  load.send(job(server));
  const [outcome] = (await once(load, "message")) as [Outcome];
  const spent = (await processorMicros(server)) - before;
  return { ...outcome, processorMicros: spent / outcome.answered };
}

async function processorMicros({ process }: Server): Promise<number> {
  process.send("cpu");
  const [{ user, system }] = (await once(process, "message")) as [NodeJS.CpuUsage];
  return user + system;
}

function create({ port, keys }: Server): Job {
  const body = JSON.stringify(intentOf(0, expiry));
  const requests = keys.map((key) => {
    const text = `POST /v1/address/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\
Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    return { text, saltAt: text.indexOf('"salt":"0x') + '"salt":"0x'.length };
  });
  const firstSalt = salt;
  salt += 1_000_000;
  return { port, connections, ms: roundMs, requests, firstSalt };
}

/** @param among 40 hex digits each */
function lookup(among: string[]) {
  const requests = among.map((digits) => ({
    text: `GET /v1/address/0x${digits} HTTP/1.1\r\nHost: x\r\n\r\n`,
  }));
  return ({ port }: Server): Job => ({ port, connections, ms: roundMs, requests, firstSalt: 0 });
}

/**
 * Prints the medians of all sets of server processes. A ratio compares two servers of the same set.
 */
function report(database: string, shown: Shown[]): void {
  for (const operation of [creating, lookingUp]) {
    console.log(`\n${operation}, ${database}, ${connections} connections: medians of ${sets} sets of
processes, of each ${rounds} rounds`);
    for (const name of shown[0]!.get(operation)!.keys()) {
      const of = (figure: keyof Figures) =>
        median(shown.map((set) => set.get(operation)!.get(name)![figure]));
      const part = (figure: keyof Figures, whole: string) =>
        median(
          shown.map((set) => {
            const all = set.get(operation)!;
            return all.get(name)![figure] / all.get(whole)![figure];
          }),
        );
      const perSecond = part("perSecond", bareName);
      const figures = [
        `${of("perSecond").toFixed(0).padStart(6)}/s`,
        `${perSecond.toFixed(2)} of bare`,
        `${part("perSecond", byHandName).toFixed(1).padStart(4)} × by hand`,
        `processor ${of("processorMicros").toFixed(0).padStart(3)} µs`,
        `${(1 / part("processorMicros", bareName)).toFixed(2)} of bare`,
        `${(1 / part("processorMicros", byHandName)).toFixed(1).padStart(4)} × by hand`,
        `p50 ${of("p50Ms").toFixed(1)} ms, p99 ${of("p99Ms").toFixed(1)}`,
        `worst ${of("maxMs").toFixed(0)}`,
      ];
      console.log(`  ${name.padEnd(21)} ${figures.join("  ")}`);
      const floor = floors.get(name) ?? 0;
      if (perSecond >= floor) continue;
      console.log(`  ${name} is below its floor of ${floor} of bare`);
      process.exitCode = 1;
    }
  }
}
