// node bench/detect.ts measures how long it takes to find the payments in a block. The block has
// 10,000 Transfer logs. The database contains 10⁴ to 10⁶ addresses, in SQLite and in PostgreSQL.
// Every tenth log is a payment to an address in the database. Prints the total time, from the
// node's JSON response until the executor's jobs are saved. Also prints the part of this time in
// which the database finds the logs' recipients. For comparison, prints the time to look up each
// recipient by its primary key. With more addresses, only the lookups take longer, because the
// index exceeds the processor's caches. Times are medians of interleaved rounds.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Hex, toHex } from "executable-address";
import { toQuantity, transferTopic } from "executable-address/status";
import { sql } from "kysely";
import { openRecord } from "../chain/rpc/endpoint-record.ts";
import type { EndpointClient, View } from "../chain/rpc/view.ts";
import { type Fence, takeLease } from "../executor/ledger/lease.ts";
import { type Ledger, openLedger } from "../executor/ledger/ledger.ts";
import { defaultTuning } from "../executor/settings.ts";
import { openFollowMemory } from "../follow/context.ts";
import { sweep } from "../follow/sweep.ts";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres } from "../testing/postgres.ts";

const sizes = [10_000, 100_000, 1_000_000];
const logs = 10_000;
const rounds = Number(process.env.ROUNDS ?? 9);
const termsBytes = 1000;

/** Returns a pseudorandom address for `n`, because real addresses look random. */
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
  // SQLite accepts at most 32,766 values in a statement, and each of these rows has eight values.
  for (let at = from; at < to; at += 4000) {
    const rows = Array.from({ length: Math.min(4000, to - at) }, (_, i) => ({
      address: addressOf(at + i, 0),
      terms,
      ...{ chain_id: 1, token: Buffer.alloc(20), amount: "1", expires_at: 1 },
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

const chainId = 1;
const token: Hex = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const word = (hex: string): Hex => `0x${hex.padStart(64, "0")}`;

/** Writes a response to `eth_getLogs`. */
function logsText(number: number, recipients: readonly Hex[]): string {
  const logs = recipients.map((to, index) => ({
    address: token,
    topics: [transferTopic, word("9".repeat(40)), word(to.slice(2))],
    data: word((25_000_000 + index).toString(16)),
    blockNumber: toQuantity(number),
    blockHash: hashOf(number),
    transactionHash: word(index.toString(16)),
    transactionIndex: "0x0",
    logIndex: toQuantity(index),
    removed: false,
  }));
  return JSON.stringify(logs);
}

const hashOf = (number: number) => word(number.toString(16));

type ViewOfTurn = Pick<View, "quorum" | "clients"> & { head: Partial<View["head"]> };

/**
 * Finds the payments in one block with the service's own code. Saves them in the executor's tables.
 * The endpoint is simulated and returns `text`.
 */
async function detect(ledger: Ledger, fence: Fence, number: number, text: string): Promise<void> {
  let found = 0;
  const answer = { result: JSON.parse(text) };
  const head = { number, hash: hashOf(number), parentHash: hashOf(number - 1), timestamp: number };
  const ask = async () => [answer];
  const client: EndpointClient = {
    ...{ name: "one", hasHead: true, ask, record: openRecord({ name: "one", ask }) },
    accuse: () => {},
  };
  const view = { head, quorum: 1, clients: () => [client] } satisfies ViewOfTurn;
  await sweep({
    chain: { chainId, tokens: [token], lookalikes: new Map(), paymentConfirmations: 0 },
    view: view as unknown as View,
    memory: openFollowMemory(),
    tuning: { ...defaultTuning, resweepBlocks: 0, recipientsMax: 0 },
    report: () => found++,
    store: {
      matchAddresses: ledger.matchAddresses,
      findCreated: ledger.findCreated,
      findRequestedTokens: (seq) => ledger.findRequestedTokens(chainId, 0, seq),
      findOldestCreation: ledger.findOldestCreation,
      findAnchor: (before) => ledger.findAnchor(chainId, before),
      save: (anchor, payments, isGap, agreed) =>
        ledger.savePayments(fence, { anchor, payments, isGap, agreed }, number),
      wake: async () => {},
      undoAbove: (above) => ledger.forgetAbove(fence, above),
    },
  });
  if (found < logs / 20) throw new Error(`only ${found} were found`);
}

type Times = { step: number[]; matching: number[]; lookUps: number[] };

async function measure(store: Store, fence: Fence, size: number): Promise<Times> {
  const ledger = openLedger(store.db, store.dialect);
  const times: Times = { step: [], matching: [], lookUps: [] };
  const timed = async (into: number[], work: () => Promise<unknown>) => {
    const start = performance.now();
    await work();
    into.push(performance.now() - start);
  };
  for (let round = 0; round < rounds; round++) {
    const addresses = Array.from({ length: logs }, (_, i) =>
      addressOf(Math.floor(Math.random() * size), i % 10 === 0 ? 0 : 1),
    );
    const distinct = [...new Set(addresses.map(toHex))];
    const text = logsText(++number, distinct);
    await timed(times.step, () => detect(ledger, fence, number, text));
    await timed(times.matching, () => ledger.matchAddresses(distinct));
    await timed(times.lookUps, () => Promise.all(addresses.map((each) => store.findTerms(each))));
  }
  return times;
}

const microsPerLog = (times: number[]) =>
  (times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]! / logs) * 1000;

let number = 1;
const directory = mkdtempSync(join(tmpdir(), "detect-"));
const postgres = await startPostgres();
try {
  for (const databaseUrl of [undefined, postgres.url]) {
    const store = await openStore({ dataDirectory: directory, databaseUrl });
    const fence = (await takeLease(store.db, chainId, "bench", undefined))!;
    const anchor = { number, hash: hashOf(number) };
    const begun = { anchor, payments: [], isGap: false, agreed: [] };
    await openLedger(store.db, store.dialect).savePayments(fence, begun, 0);
    let filled = 0;
    for (const size of sizes) {
      await fill(store, filled, size);
      filled = size;
      const { step, matching, lookUps } = await measure(store, fence, size);
      const [whole, match, one] = [step, matching, lookUps].map(microsPerLog) as number[];
      console.log(
        `${store.dialect.padEnd(9)} ${String(size).padStart(8)} addresses: ` +
          `a log costs ${whole!.toFixed(2)} µs, of that ${match!.toFixed(2)} to match it, ` +
          `${(match! / one!).toFixed(2)} of one look-up (${one!.toFixed(2)} µs)`,
      );
    }
    await store.close();
  }
} finally {
  await postgres.stop();
  rmSync(directory, { recursive: true, force: true });
}
