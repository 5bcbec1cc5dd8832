// Runs this service as in production, with credentials, limits, and metrics. Uses SQLite, or
// PostgreSQL if a URL is given. The last argument turns off one optimization, so that its effect
// can be measured. The value "wasm" turns off WebAssembly, so keccak runs in JavaScript. With
// "reader", lookups run in the main thread. With "writer", the main thread commits new records.

import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { deriveAddress, encodeNewIntent, factoryAddress } from "executable-address";
import { pino } from "pino";
import { keccak256 } from "../../address/keccak/keccak.ts";
import { createWithKey } from "../accounts/admin.ts";
import { openAccounts } from "../accounts/open.ts";
import { parseChains } from "../chain/chains.ts";
import { perChain } from "../chain/registry.ts";
import { openStatusReader } from "../chain/status/reader.ts";
import { openExecutorClient } from "../executor/client.ts";
import { together } from "../flow/together.ts";
import { openChainLoop } from "../follow/loop.ts";
import { buildApp } from "../http/app.ts";
import { defaultLimits } from "../http/limits.ts";
import { createMetrics } from "../http/metrics.ts";
import { openStore } from "../roles/open-store.ts";
import { deriveColumns } from "../store/columns.ts";
import { storedRecordJson, keccak as wasmKeccak } from "../store/record.ts";
import { connect } from "../store/sqlite/connect.ts";
import { sqliteFile } from "../store/sqlite.ts";
import { type NewRecord, otherTerms, type SaveOutcome, type Store } from "../store/store.ts";
import { chainsOf } from "../testing/app.ts";
import { intentOf, token } from "./intents.ts";

const [, , records, expiry, cacheBytes, databaseUrl, without] = process.argv;

/**
 * The number of accounts. With this number, no account reaches its limit of 50 requests per second.
 */
const accountsCount = 600;
/**
 * The maximum number of simultaneous saves before the measurement. Without this limit, saves on
 * PostgreSQL could exceed their time limit of 5 s. A busy machine cannot save 100,000 records in
 * this time.
 */
const savesMax = 5_000;

const dataDirectory = mkdtempSync(join(tmpdir(), "bench-ours-"));
process.on("exit", () => rmSync(dataDirectory, { recursive: true, force: true }));
const store = await openStore({ dataDirectory, databaseUrl: databaseUrl || undefined });
const keccak = without === "wasm" ? keccak256 : wasmKeccak;
const publicUrl = "http://127.0.0.1";
const onFault = (error: unknown) => console.error(error);
const faults = { onLimiterFault: onFault, onUsageFault: onFault };
const accounts = await openAccounts(store, { publicUrl, signup: "closed" }, faults);

const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
const rpcUrls = ["http://127.0.0.1:9"];
const known = parseChains([{ chainId: 1, name: "Ethereum", rpcUrls, tokens }], "the bench");
const chains = chainsOf(known);

const keys: string[] = [];
const actor = { atMs: Date.now() };
for (let i = 0; i < accountsCount; i++) {
  keys.push((await createWithKey(store.db, `bench${i}@example.com`, actor))!.apiKey);
}
const addresses: string[] = [];
const saves: Promise<SaveOutcome>[] = [];
for (let number = 0; number < Number(records); number++) {
  const { terms } = encodeNewIntent(intentOf(number, Number(expiry)), { keccak });
  const address = deriveAddress(terms, { keccak });
  addresses.push(Buffer.from(address).toString("hex"));
  saves.push(store.saveRecord({ address, terms, accountId: "acc_bench", createdAtMs: actor.atMs }));
  if (saves.length === savesMax) await Promise.all(saves.splice(0));
}
await Promise.all(saves);

const findHere = async (address: Uint8Array) => {
  const terms = await store.findTerms(address);
  return terms && storedRecordJson(address, terms, { factory: factoryAddress, keccak });
};

/**
 * Collects the records of one turn of the event loop, and commits them in a single transaction. The
 * service's writing thread does the same. The transaction must not wait for SQLite's write lock,
 * whose holder may be waiting for this thread.
 */
function openWriterHere() {
  const database = connect(sqliteFile(dataDirectory), { busyMsMax: 0 });
  const insert = database.prepare(
    `insert into records (address, terms, chain_id, token, amount, expires_at, account_id,
         created_at, by_client_id)
       values (?, ?, ?, ?, ?, ?, ?, ?, 0)
       on conflict do nothing`,
  );
  const commit = database.transaction((rows: NewRecord[]) =>
    rows.map(({ address, terms, accountId, createdAtMs }) => {
      const { chainId, token, amount, expirationSeconds } = deriveColumns(terms);
      const columns = [address, terms, chainId, token, amount, expirationSeconds];
      const { changes } = insert.run(...columns, accountId, createdAtMs);
      return changes === 1 ? ("saved" as const) : otherTerms(address);
    }),
  );
  const commitWhenFree = async (rows: NewRecord[]) => {
    for (;;) {
      try {
        return commit.immediate(rows);
      } catch (error) {
        if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
        await sleep(1);
      }
    }
  };
  return together<NewRecord, SaveOutcome>(commitWhenFree, { sizeMax: 1024 });
}

const replaced: Partial<Store> = {
  ...(without === "reader" && { findRecord: findHere }),
  ...(without === "writer" && { saveRecord: openWriterHere() }),
};

const log = pino({ level: "info" });
const app = buildApp({
  store: { ...store, ...replaced },
  accounts,
  chains,
  statusReader: perChain({ chains, factory: factoryAddress }, openStatusReader),
  chainLoop: perChain({ chains, factory: factoryAddress }, ({ rpc }) =>
    openChainLoop(rpc.heads, 1_000),
  ),
  executorClient: openExecutorClient(store, log, 10),
  factory: factoryAddress,
  labels: new Map(),
  keccak,
  publicUrl,
  limits: { ...defaultLimits, lookupCacheBytesMax: Number(cacheBytes) },
  metrics: createMetrics(),
  log,
  now: Date.now,
  draining: new AbortController().signal,
});
await app.listen({ port: 0, host: "127.0.0.1" });
process.send!({ port: (app.server.address() as AddressInfo).port, keys, addresses });
// Before and after each round, the parent asks for the processor time of this process.
process.on("message", () => process.send!(process.cpuUsage()));
process.on("disconnect", () => process.exit());
