// Creates and look-ups a second over HTTP: this service beside bare node:http, the ceiling, and
// beside what one would write by hand. Servers and load are processes of their own; rounds are
// interleaved and medians told, so that what else the machine does hits all alike. Then the same on
// PostgreSQL, whose own processes share the machine and are not in the server's processor time.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { startPostgres } from "../testing/postgres.ts";
import { intentOf } from "./intents.ts";
import type { Job, Outcome } from "./load.ts";

const rounds = Number(process.env.BENCH_ROUNDS ?? 7);
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

const load = fork(new URL("load.ts", import.meta.url));
const [bare, ours, uncached, byHand] = await Promise.all([
  start("server-bare.ts"),
  start("server-ours.ts", records, expiry, cacheBytes),
  start("server-ours.ts", records, expiry, 0),
  start("server-by-hand.ts", records, expiry),
]);
const addresses = uncached.addresses.toSorted(() => Math.random() - 0.5);
const hot = addresses.slice(0, hotRecords);
let salt = records;

await compare(
  [
    variant("bare node:http", bare, create),
    variant("this service", ours, create),
    variant("by hand", byHand, create),
  ],
  [
    variant("bare node:http", bare, lookup(addresses)),
    variant("this service, random", uncached, lookup(addresses)),
    variant("this service, hot", ours, lookup(hot)),
    variant("by hand, random", byHand, lookup(addresses)),
  ],
);
await Promise.all([ours, uncached].map(end));

const postgres = await startPostgres({ fsync: "on" });
const shared = await start("server-ours.ts", records, expiry, 0, postgres.url);
await compare(
  [
    variant("bare node:http", bare, create),
    variant("on PostgreSQL", shared, create),
    variant("by hand, SQLite", byHand, create),
  ],
  [
    variant("bare node:http", bare, lookup(addresses)),
    variant("on PostgreSQL, random", shared, lookup(addresses)),
    variant("by hand, SQLite", byHand, lookup(addresses)),
  ],
);
await Promise.all([bare, shared, byHand].map(end));
await postgres.stop();
load.disconnect();

/** Creates leave the system writing for a while; so no look-up has its turn among them. */
async function compare(creates: Variant[], lookups: Variant[]): Promise<void> {
  for (const variants of [creates, lookups]) {
    for (let round = 0; round <= rounds; round++) {
      for (const each of variants) {
        const measured = await measure(each);
        if (round > 0) each.rounds.push(measured); // the first round only warms up
      }
    }
  }
  report("POST /v1/address/create", creates);
  report("GET /v1/address/{address}", lookups);
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

/** Processor time tells more than the clock where the machine has other work. */
async function measure({ server, job }: Variant): Promise<Measured> {
  // While the others had their turns, what this one keeps in memory has grown cold.
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

function report(title: string, variants: Variant[]): void {
  const of = (variant: Variant, figure: keyof Measured) =>
    median(variant.rounds.map((round) => round[figure]));
  const [first, last] = [variants[0]!, variants.at(-1)!];
  console.log(`\n${title}, ${connections} connections, medians of ${rounds} rounds`);
  for (const each of variants) {
    const [rate, micros] = [of(each, "perSecond"), of(each, "processorMicros")];
    const worst = Math.max(...each.rounds.map((round) => round.maxMs)).toFixed(0);
    const figures = [
      `${rate.toFixed(0).padStart(6)}/s`,
      `${(rate / of(first, "perSecond")).toFixed(2)} of bare`,
      `${(rate / of(last, "perSecond")).toFixed(1).padStart(4)} × by hand`,
      `processor ${micros.toFixed(0).padStart(3)} µs`,
      `${(of(first, "processorMicros") / micros).toFixed(2)} of bare`,
      `${(of(last, "processorMicros") / micros).toFixed(1).padStart(4)} × by hand`,
      `p50 ${of(each, "p50Ms").toFixed(1)} ms, p99 ${of(each, "p99Ms").toFixed(1)}, worst ${worst}`,
    ];
    console.log(`  ${each.name.padEnd(21)} ${figures.join("  ")}`);
  }
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
