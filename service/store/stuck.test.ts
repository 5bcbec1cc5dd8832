// Tests calls to the store while PostgreSQL is stuck. Either a table is locked, or the server
// accepts statements but does not respond.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import pg from "pg";
import { openStore, rooms } from "../roles/open-store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { migrate } from "./migrate.ts";
import { openPostgres } from "./postgres.ts";
import type { Store } from "./store.ts";

/** The store's limit of 5 s, plus a margin for a slow machine. */
const answerMsMax = 7_000;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

function newRow(number: number) {
  const terms = Buffer.concat([
    Buffer.alloc(256),
    createHash("sha512").update(`${number}`).digest(),
  ]);
  const address = createHash("sha1").update(terms).digest();
  return { address, terms, accountId: "acc_1", createdAtMs: 1_790_000_000_000 + number };
}

const unavailable = { name: "UnavailableError", message: /^PostgreSQL: / };

async function assertRefused(act: Promise<unknown>): Promise<void> {
  const beganMs = performance.now();
  await assert.rejects(act, unavailable);
  const tookMs = performance.now() - beganMs;
  assert.ok(tookMs < answerMsMax, `refused after ${Math.round(tookMs)} ms`);
}

/** Asserts that saves and lookups fail within 7 s, even if they wait for earlier calls. */
async function assertAllRefused(store: Store): Promise<void> {
  const reads = Array.from({ length: 3 }, () => assertRefused(store.findTerms(newRow(1).address)));
  const first = assertRefused(store.saveRecord(newRow(1)));
  await sleep(1_000);
  const second = assertRefused(store.saveRecord(newRow(2)));
  const third = assertRefused(store.findTerms(newRow(2).address));
  await Promise.all([...reads, first, second, third]);
}

describe("PostgreSQL calls throw `UnavailableError` within 15 s if", { concurrency: true }, () => {
  test("another transaction has locked the table of records", async (t) => {
    const databaseUrl = await postgres.newDatabase();
    const store = await openStore({ dataDirectory: "", databaseUrl });
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    t.after(() => Promise.all([operator.end(), store.close()]));
    await operator.query("begin; lock table records in access exclusive mode");
    await assertAllRefused(store);
    const count = store.db.selectFrom("records").select("address").execute();
    await assertRefused(count);
    await operator.query("rollback");
    assert.equal(await store.findTerms(newRow(1).address), undefined);
    await store.saveRecord(newRow(1));
    assert.deepEqual(await store.findTerms(newRow(1).address), newRow(1).terms);
  });

  test("the server does not respond", async (t) => {
    const line = await openLine(await postgres.newDatabase());
    t.after(line.close);
    const store = await openStore({ dataDirectory: "", databaseUrl: line.url });
    await store.saveRecord(newRow(0));
    line.stall();
    await assertAllRefused(store);
    line.resume();
    const repeat = () =>
      store.saveRecord(newRow(1)).then(
        () => true,
        () => false,
      );
    while (!(await repeat())) await sleep(100);
    const rows = await store.db.selectFrom("records").select("address").execute();
    const kept = rows.filter(({ address }) => newRow(1).address.equals(address));
    assert.equal(kept.length, 1);
    await store.close();
  });

  test("the server stops responding during a transaction", async (t) => {
    const line = await openLine(await postgres.newDatabase());
    t.after(line.close);
    const store = await openStore({ dataDirectory: "", databaseUrl: line.url });
    let beganMs = 0;
    const transaction = store.db.transaction().execute(async (db) => {
      await db.selectFrom("records").select("seq").execute();
      line.stall();
      beganMs = performance.now();
      await db.selectFrom("records").select("seq").execute();
    });
    await assert.rejects(transaction, unavailable);
    const tookMs = performance.now() - beganMs;
    assert.ok(tookMs < 15_000, `${Math.round(tookMs)} ms for a statement that ends after 10.5 s`);
    line.resume();
    assert.deepEqual(await store.db.selectFrom("records").select("seq").execute(), []);
    await store.close();
  });

  test("the record has a reference, and the table of references is locked", async (t) => {
    const databaseUrl = await postgres.newDatabase();
    const config = { dataDirectory: "", databaseUrl };
    const [store, other] = await Promise.all([openStore(config), openStore(config)]);
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    t.after(() => Promise.all([operator.end(), store.close(), other.close()]));
    await operator.query("begin; lock table address_references in access exclusive mode");
    const named = { ...newRow(1), reference: "order-1" };
    let isRefused = false;
    const refused = assertRefused(store.saveRecord(named)).finally(() => {
      isRefused = true;
    });
    let saved = 0;
    while (!isRefused) {
      const number = 10 + 2 * saved++;
      const creates = [store.saveRecord(newRow(number)), other.saveRecord(newRow(number + 1))];
      await Promise.all(creates);
    }
    await refused;
    // A save without a reference would take seconds if it waited for the locked table.
    assert.ok(saved > 5, `${saved} creates while another waited`);
    await operator.query("rollback");
    assert.equal(await store.findTerms(named.address), undefined);
    assert.equal(await store.saveRecord(named), "saved");
  });
});

describe("the store on PostgreSQL", { concurrency: true }, () => {
  test("fails if a migration's tables stay locked, and applies the migration later", async (t) => {
    const databaseUrl = await postgres.newDatabase();
    const store = await openStore({ dataDirectory: "", databaseUrl });
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    t.after(() => Promise.all([operator.end(), store.close()]));
    const added = { statements: () => [sql`alter table records add column added integer`] };
    const migrateOnce = () => migrate(store.db, "postgres", { ...rooms, added }, 1);
    await operator.query("begin; lock table records in access share mode");
    await assert.rejects(
      migrateOnce(),
      /^Error: the migration added-\w+ found its tables locked 1/,
    );
    await operator.query("rollback");
    await migrateOnce();
    assert.deepEqual((await sql`select added from records`.execute(store.db)).rows, []);
  });

  test("answers create requests and lookups while 30 slow lists are running", async (t) => {
    const store = await openStore({ dataDirectory: "", databaseUrl: await postgres.newDatabase() });
    t.after(() => store.close());
    await store.saveRecord(newRow(1));
    const lists = Array.from({ length: 30 }, () => sql`select pg_sleep(1)`.execute(store.db));
    const beganMs = performance.now();
    await Promise.all([
      store.saveRecord(newRow(2)),
      store.saveRecord({ ...newRow(3), reference: "order-3" }),
      store.findTerms(newRow(1).address),
      store.findRecord(Buffer.alloc(20)),
    ]);
    const tookMs = performance.now() - beganMs;
    const isBusy = await Promise.race([Promise.allSettled(lists), Promise.resolve("busy")]);
    assert.equal(isBusy, "busy", `the lists ended within ${tookMs} ms`);
    await Promise.allSettled(lists);
  });

  test("ends a transaction that stops between statements, and releases its locks", async (t) => {
    const databaseUrl = await postgres.newDatabase();
    const config = { dataDirectory: "", databaseUrl };
    const [stopped, other] = await Promise.all([openStore(config), openStore(config)]);
    t.after(() => Promise.all([stopped.close(), other.close()]));
    const lock = sql`lock table records in access exclusive mode`;
    const isLocked = Promise.withResolvers<void>();
    const isSaved = Promise.withResolvers<void>();
    const transaction = stopped.db.transaction().execute(async (db) => {
      await lock.execute(db);
      isLocked.resolve();
      await isSaved.promise;
      await lock.execute(db);
    });
    await isLocked.promise;
    await assertRefused(other.saveRecord(newRow(1)));
    const repeat = () =>
      other.saveRecord(newRow(1)).then(
        () => true,
        () => false,
      );
    while (!(await repeat())) await sleep(100);
    isSaved.resolve();
    await assert.rejects(transaction, unavailable);
    assert.deepEqual(await stopped.findTerms(newRow(1).address), newRow(1).terms);
  });

  test("saves records while the migration of another server waits for a lock", async (t) => {
    const databaseUrl = await postgres.newDatabase();
    const running = await openPostgres(databaseUrl, {});
    const isLocked = Promise.withResolvers<void>();
    let isOver = false;
    const long = running.db.transaction().execute(async (db) => {
      await sql`lock table records in access share mode`.execute(db);
      isLocked.resolve();
      while (!isOver) {
        await sql`select 1`.execute(db);
        await sleep(100);
      }
    });
    await isLocked.promise;
    const rooms = { more: { statements: () => [sql`alter table records add column more text`] } };
    const opening = openPostgres(databaseUrl, rooms);
    let saved = 0;
    for (const until = Date.now() + 8_000; Date.now() < until; saved++) {
      await running.saveRecord(newRow(saved));
    }
    assert.ok(saved > 1, `${saved} creates`);
    isOver = true;
    const opened = await opening;
    t.after(() => Promise.all([running.close(), opened.close()]));
    await long;
    const applied = await opened.db.selectFrom("migrations").select("name").execute();
    assert.equal(applied.filter(({ name }) => name.startsWith("more-")).length, 1);
  });

  test("allows a migration to take longer than other statements", async (t) => {
    const databaseUrl = await postgres.newDatabase();
    // The migration takes longer than 10 s, the limit for other statements.
    const rooms = { slow: { statements: () => [sql`select pg_sleep(12)`] } };
    const stores = await Promise.all([
      openPostgres(databaseUrl, rooms),
      openPostgres(databaseUrl, rooms),
    ]);
    t.after(() => Promise.all(stores.map((store) => store.close())));
    const applied = await stores[1].db.selectFrom("migrations").select("name").execute();
    assert.equal(applied.filter(({ name }) => name.startsWith("slow-")).length, 1);
    await assert.rejects(sql`select pg_sleep(12)`.execute(stores[0].db), unavailable);
  });
});

/**
 * Opens a proxy to PostgreSQL. While the test stalls the proxy, connections stay open, but no data
 * is forwarded.
 */
async function openLine(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isStalled = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port || 5432), target.hostname);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("data", (data) => other.write(data));
      socket.on("error", () => other.destroy());
      socket.on("close", () => other.destroy());
      if (isStalled) socket.pause();
    }
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    stall() {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    resume() {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
