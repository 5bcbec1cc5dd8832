// node bench/detect.ts: 10,000 logs against 10⁴ to 10⁶ known addresses, on SQLite and PostgreSQL.
// The cost of a log must not grow with how many addresses were created. Every tenth log is for a
// known address; the rounds of all sizes are interleaved, and medians are shown.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Hex, toHex } from "executable-address";
import { sql } from "kysely";
import { matchAddresses } from "../executor/ledger/match.ts";
import { openStore } from "../store/open.ts";
import { startPostgres } from "../store/postgres-for-tests.ts";
import type { Store } from "../store/store.ts";

const sizes = [10_000, 100_000, 1_000_000];
const logs = 10_000;
const rounds = Number(process.env.ROUNDS ?? 9);
/** What two calls of an intent encode to. */
const termsBytes = 1000;

/** A million of them are as random as keccak's, and drawn again from a number. */
function addressOf(n: number, kind: number): Uint8Array {
  const bytes = Buffer.alloc(20);
  let state = (n * 2 + kind) >>> 0;
  for (let at = 0; at < 20; at += 4) {
    state = Math.imul(state ^ (state >>> 16), 0x45d9f3b) >>> 0;
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) ^ at;
    bytes.writeInt32LE(state | 0, at);
  }
  return bytes;
}

async function fill(store: Store, from: number, to: number): Promise<void> {
  const terms = Buffer.alloc(termsBytes, 7);
  for (let at = from; at < to; at += 5000) {
    const rows = Array.from({ length: Math.min(5000, to - at) }, (_, i) => ({
      address: addressOf(at + i, 0),
      terms,
      account_id: "acc",
      created_at: 1,
    }));
    await store.db
      .insertInto("records")
      .values(rows)
      .onConflict((c) => c.doNothing())
      .execute();
  }
  if (store.dialect === "postgres") await sql`vacuum analyze records`.execute(store.db);
}

async function measure(store: Store, size: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const asked: Hex[] = Array.from({ length: logs }, (_, i) => {
      const n = Math.floor(Math.random() * size);
      return toHex(i % 10 === 0 ? addressOf(n, 0) : addressOf(n, 1));
    });
    const start = performance.now();
    const found = await matchAddresses(store.db, store.dialect, [...new Set(asked)]);
    times.push(performance.now() - start);
    if (found.length < logs / 20) throw new Error(`only ${found.length} were found`);
  }
  return times.sort((a, b) => a - b);
}

const directory = mkdtempSync(join(tmpdir(), "detect-"));
const postgres = await startPostgres();
try {
  for (const databaseUrl of [undefined, postgres.url]) {
    const store = await openStore({ dataDirectory: directory, databaseUrl });
    let filled = 0;
    for (const size of sizes) {
      await fill(store, filled, size);
      filled = size;
      const times = await measure(store, size);
      const median = times[Math.floor(times.length / 2)]!;
      const perLog = ((median / logs) * 1000).toFixed(2);
      const title = `${store.dialect.padEnd(9)} ${String(size).padStart(8)} addresses`;
      console.log(`${title}: ${median.toFixed(1)} ms for ${logs} logs, ${perLog} µs a log`);
    }
    await store.close();
  }
} finally {
  await postgres.stop();
  rmSync(directory, { recursive: true, force: true });
}
