// Runs the same tests with our dialect and with Kysely's own SQLite dialect. Our dialect runs
// statements in a separate thread. Also tests that statements in the separate thread do not delay
// other work, and tests the other threads.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import { CompiledQuery, type Dialect, Kysely, SqliteDialect, sql } from "kysely";
import { openStore } from "../roles/open-store.ts";
import { connect } from "./sqlite/connect.ts";
import { recordReader, sqliteDialect, startThread } from "./sqlite.ts";
import { type Store, UnavailableError } from "./store.ts";

type Row = { id?: number; bytes: Uint8Array; number: number | null; text: string };
type Tables = { rows: Row };

const directory = mkdtempSync(join(tmpdir(), "sqlite-"));
after(() => rmSync(directory, { recursive: true }));

const dialects: Record<string, (file: string) => Dialect> = {
  "a thread": (file) => sqliteDialect(file, () => {}),
  "the control, this thread": (file) =>
    new SqliteDialect({ database: connect(file, { busyMsMax: 100 }) }),
};

/** Waits 20 ms, so that this thread can do other work. */
const somethingElse = () => sleep(20);

for (const [name, dialect] of Object.entries(dialects)) {
  const isThread = name === "a thread";
  describe(`SQL statements on ${name}`, () => {
    const file = join(directory, `${isThread}.db`);
    let db: Kysely<Tables>;
    before(async () => {
      db = new Kysely<Tables>({ dialect: dialect(file) });
      await sql`create table rows (id integer primary key, bytes blob, number any,
        text text unique)`.execute(db);
    });
    beforeEach(() => db.deleteFrom("rows").execute());
    after(() => db.destroy());

    const row = (text: string, bytes = Buffer.from("b")): Row => ({ bytes, number: null, text });
    const insert = (...rows: Row[]) => db.insertInto("rows").values(rows);

    test("throw `SqliteError` with SQLite's error code if SQLite refuses a statement", async () => {
      await insert(row("once")).execute();
      const isUnique = (error: unknown) =>
        error instanceof Database.SqliteError &&
        error.name === "SqliteError" &&
        error.code === "SQLITE_CONSTRAINT_UNIQUE" &&
        error.message === "UNIQUE constraint failed: rows.text";
      await assert.rejects(insert(row("once")).execute(), isUnique);
      await assert.rejects(sql`select`.execute(db), { code: "SQLITE_ERROR" });
    });

    test("throw `TypeError` for a parameter type that SQLite does not support", async () => {
      await assert.rejects(sql`select ${true}`.execute(db), TypeError);
      await assert.rejects(sql`select ${new Date()}`.execute(db), TypeError);
    });

    test("are rolled back if their transaction throws", async () => {
      const failed = db.transaction().execute(async (transaction) => {
        await transaction.insertInto("rows").values(row("undone")).execute();
        throw new Error("no");
      });
      await assert.rejects(failed, /^Error: no$/);
      assert.deepEqual(await db.selectFrom("rows").selectAll().execute(), []);
    });

    test("return values as Buffers, numbers, strings, and null", async () => {
      const bytes = Buffer.from("part of a piece of memory that Buffers share");
      await insert({ id: 7, bytes, number: 1.5, text: "a" }).execute();
      await insert({ id: 8, bytes: new Uint8Array(), number: 2 ** 53 - 1, text: "é" }).execute();
      const query = db.selectFrom("rows").select(["text", "bytes", "number", "id"]).orderBy("id");
      const rows = await query.execute();
      assert.deepEqual(rows, [
        { text: "a", bytes, number: 1.5, id: 7 },
        { text: "é", bytes: Buffer.alloc(0), number: 2 ** 53 - 1, id: 8 },
      ]);
      assert.ok(rows.every((each) => Buffer.isBuffer(each.bytes)));
      assert.deepEqual(Object.keys(rows[0]!), ["text", "bytes", "number", "id"]);
      await db.updateTable("rows").set({ number: null }).execute();
      assert.equal((await query.execute())[0]!.number, null);
    });

    test("return the number of changed rows and the last ID", async () => {
      const inserted = await insert({ ...row("a"), id: 5 }, { ...row("b"), id: 6 }).execute();
      assert.deepEqual(
        inserted.map((each) => ({ ...each })),
        [{ insertId: 6n, numInsertedOrUpdatedRows: 2n }],
      );
      const [updated] = await db.updateTable("rows").set({ number: 1 }).execute();
      assert.equal(updated?.numUpdatedRows, 2n);
      const removed = await db.deleteFrom("rows").where("id", "=", 5).returning("text").execute();
      assert.deepEqual(removed, [{ text: "a" }]);
    });

    test("run in order, and wait until an open transaction has ended", async () => {
      const texts = Array.from({ length: 20 }, (_, number) => `${number}`);
      const both = db.transaction().execute(async (transaction) => {
        await transaction.insertInto("rows").values(row("first of two")).execute();
        await somethingElse();
        await transaction.insertInto("rows").values(row("second of two")).execute();
      });
      await Promise.all([both, ...texts.map((text) => insert(row(text)).execute())]);
      const rows = await db.selectFrom("rows").select("text").orderBy("id").execute();
      assert.deepEqual(
        rows.map(({ text }) => text),
        ["first of two", "second of two", ...texts],
      );
    });

    test("do not block the calling thread while another process holds the write lock", async () => {
      const other = new Database(file);
      other.exec("begin immediate");
      const isWritten = insert(row("patient")).execute();
      isWritten.catch(() => {});
      await somethingElse();
      other.exec("rollback");
      other.close();
      if (isThread) await isWritten;
      else await assert.rejects(isWritten, { code: "SQLITE_BUSY" });
    });
  });
}

describe("the thread that runs SQL statements", () => {
  let store: Store;
  let dataDirectory: string;
  let workers: Worker[];
  const { postMessage } = Worker.prototype;
  /** A statement that takes about 100 ms on SQLite. */
  const long = `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000)
    select count(*) from n`;
  const ask = (text: string) => store.db.executeQuery(CompiledQuery.raw(text));

  beforeEach(async () => {
    workers = [];
    Worker.prototype.postMessage = function posted(this: Worker, ...args) {
      if ("sql" in args[0] && !workers.includes(this)) workers.push(this);
      return postMessage.apply(this, args);
    };
    dataDirectory = mkdtempSync(join(directory, "store-"));
    store = await openStore({ dataDirectory });
    await ask("select 1");
    Worker.prototype.postMessage = postMessage;
  });

  test("throws `UnavailableError` for each statement after the thread has ended", async () => {
    await store.check();
    const [worker] = workers;
    const waiting = ask(long);
    const ended = once(worker!, "exit");
    worker!.terminate();
    await assert.rejects(waiting, UnavailableError);
    await ended;
    await assert.rejects(ask("select 1"), UnavailableError);
    await assert.rejects(
      store.db.transaction().execute(async () => {}),
      UnavailableError,
    );
    await assert.rejects(store.check(), /the statement thread has ended/);
    await store.close();
  });

  test("rolls back a transaction that is open while the store closes", async () => {
    const closed = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const values = { id: "acc_late", email: "late@example.com", created_at: 1 };
    const late = store.db.transaction().execute(async (transaction) => {
      await transaction.insertInto("accounts").values(values).execute();
      begun.resolve();
      await closed.promise;
      await transaction.selectFrom("accounts").selectAll().execute();
    });
    await begun.promise;
    await store.close();
    closed.resolve();
    await assert.rejects(late, UnavailableError);
    const again = await openStore({ dataDirectory });
    assert.deepEqual(await again.db.selectFrom("accounts").select("id").execute(), []);
    await again.close();
  });

  test("does not support streamed queries", async () => {
    const rows = store.db.selectFrom("accounts").select("id").stream();
    await assert.rejects(rows.next(), /^Error: statements on SQLite are not streamed$/);
    await store.close();
  });

  test("keeps a program alive only while a statement is pending", async () => {
    const config = { dataDirectory: mkdtempSync(join(directory, "program-")) };
    const program = `
      import { CompiledQuery } from "kysely";
      import { openStore } from "${import.meta.resolve("../roles/open-store.ts")}";
      const store = await openStore(${JSON.stringify(config)});
      await store.db.executeQuery(CompiledQuery.raw(${JSON.stringify(long)}));
      console.log("answered");`;
    const args = ["--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: import.meta.dirname,
      timeout: 30_000,
    });
    assert.equal(stdout, "answered\n");
    await store.close();
  });
});

describe("the thread that writes records", () => {
  test("does not keep a program alive", async () => {
    const config = { dataDirectory: mkdtempSync(join(directory, "writer-")) };
    const program = `
      import { openStore } from "${import.meta.resolve("../roles/open-store.ts")}";
      await openStore(${JSON.stringify(config)});`;
    const run = promisify(execFile);
    const args = ["--input-type=module", "--eval", program];
    await assert.doesNotReject(run(process.execPath, args, { timeout: 20_000 }));
  });
});

test("a failed lookup of a record throws `UnavailableError` with SQLite's error", async () => {
  const file = join(directory, "reader.db");
  const database = new Database(file);
  database.exec("create table records (address blob primary key, terms blob)");
  const reader = recordReader(file);
  const address = new Uint8Array(20);
  assert.equal(await reader.find(address), undefined);
  database.exec("drop table records");
  await assert.rejects(reader.find(address), {
    name: "UnavailableError",
    message: "not read: SQLITE_ERROR: no such table: records",
  });
  await reader.stop();
  database.close();
});

/** The source code of a thread that doubles each number, and throws an error for 0. */
const source = `
  import { parentPort } from "node:worker_threads";
  parentPort.on("message", (message) => {
    if (message === "stop") return parentPort.close();
    if (message === 0) throw new Error("a fault");
    parentPort.postMessage([2 * message]);
  });`;
const module = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
const start = (onEnd = (_cause: Error) => {}) =>
  startThread<number, number>(module, { file: "", name: "doubling", onEnd });

test("a failed thread rejects pending and later messages", async () => {
  const ends: Error[] = [];
  const thread = start((cause) => ends.push(cause));
  const asked = await Promise.allSettled([thread.ask(1), thread.ask(0), thread.ask(2)]);
  assert.deepEqual(asked[0], { status: "fulfilled", value: 2 });
  for (const each of asked.slice(1)) {
    assert.ok(each.status === "rejected" && each.reason instanceof UnavailableError);
    assert.match(each.reason.message, /the doubling thread has ended: Error: a fault/);
  }
  await assert.rejects(thread.ask(3), UnavailableError);
  await thread.stop();
  assert.equal(ends.length, 1);
});

test("a thread answers in order, and answers every message before it stops", async () => {
  const thread = start();
  const answers = [1, 2, 3].map((number) => thread.ask(number));
  await Promise.all([thread.stop(), thread.stop()]);
  assert.deepEqual(await Promise.all(answers), [2, 4, 6]);
});

test("a worker thread does not start before it gets a message", async () => {
  const ends: Error[] = [];
  const thread = startThread(new URL("data:text/javascript,throw new Error('it has started')"), {
    ...{ file: "", name: "idle" },
    onEnd: (cause) => ends.push(cause),
  });
  await thread.stop();
  assert.deepEqual(ends.map(String), ["UnavailableError: the idle thread has ended"]);
  await assert.rejects(thread.ask(1), UnavailableError);
});
