// Tests that acknowledged records survive a killed process and a full disk. Also tests that the
// store confirms no write if PostgreSQL stops waiting for its standby.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import Database from "better-sqlite3";
import { sql } from "kysely";
import pg from "pg";
import { isLong } from "../../scripts/long.ts";
import { openStore } from "../roles/open-store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";

/** For each database, the number of times that the test kills a writing process. */
const rounds = Number(process.env.DURABILITY_ROUNDS ?? (isLong ? 20 : 2));
const directory = mkdtempSync(join(tmpdir(), "durability-"));
let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres({ fsync: "on" });
});
after(async () => {
  await postgres.stop();
  rmSync(directory, { recursive: true });
});

function rowOf(number: number) {
  const terms = Buffer.concat([
    Buffer.alloc(256),
    createHash("sha512").update(`${number}`).digest(),
  ]);
  const address = createHash("sha1").update(terms).digest();
  return { address, terms, accountId: "acc_1", createdAtMs: 1_790_000_000_000 + number };
}

/**
 * Starts a process that saves numbered records, beginning with the number `first`. Up to 32 saves
 * run simultaneously. The process prints the number of each acknowledged record.
 */
function startWriter(config: object, first: number): ChildProcess {
  const script = `
    import { createHash } from "node:crypto";
    import { openStore } from "${new URL("../roles/open-store.ts", import.meta.url)}";
    ${rowOf}
    const store = await openStore(${JSON.stringify(config)});
    let next = ${first};
    const write = async () => {
      for (;;) {
        const number = next++;
        await store.saveRecord(rowOf(number));
        process.stdout.write(number + "\\n");
      }
    };
    for (let i = 0; i < 32; i++) write();`;
  return spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
}

async function killWhileWriting(config: object, first: number): Promise<number[]> {
  const writer = startWriter(config, first);
  const acknowledged: number[] = [];
  const lines = createInterface({ input: writer.stdout! });
  lines.on("line", (line) => acknowledged.push(Number(line)));
  await once(lines, "line");
  await sleep(20 + Math.random() * 150);
  writer.kill("SIGKILL");
  await once(lines, "close");
  return acknowledged;
}

for (const dialect of ["sqlite", "postgres"] as const) {
  test(`a confirmed record survives kill -9 on ${dialect}`, async () => {
    const databaseUrl = dialect === "postgres" ? postgres.url : undefined;
    const config = { dataDirectory: directory, databaseUrl };
    let first = 0;
    for (let round = 0; round < rounds; round++) {
      const acknowledged = await killWhileWriting(config, first);
      const store = await openStore(config);
      for (const number of acknowledged) {
        const { address, terms } = rowOf(number);
        const held = await store.findTerms(address);
        assert.ok(held && terms.equals(held), `record ${number} of round ${round} is lost`);
      }
      await store.close();
      first = Math.max(...acknowledged) + 1000;
    }
    assert.ok(first > rounds * 1000, "nothing was acknowledged");
  });
}

test("only the owner can read the SQLite directory and its files", async () => {
  const dataDirectory = join(directory, "made");
  const umask = process.umask(0);
  const store = await openStore({ dataDirectory });
  await store.saveRecord(rowOf(1));
  process.umask(umask);
  const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
  const modes = readdirSync(dataDirectory).map((name) => [name, modeOf(join(dataDirectory, name))]);
  assert.equal(modeOf(dataDirectory), "700");
  assert.deepEqual(Object.fromEntries(modes), {
    "server.lock": "600",
    "service.db": "600",
    "service.db-shm": "600",
    "service.db-wal": "600",
  });
  await store.close();
});

test("the backup command in docs/self-hosting.md works while records are saved", async () => {
  const docs = readFileSync(new URL("../../docs/self-hosting.md", import.meta.url), "utf8");
  assert.ok(docs.includes("npm run --silent admin -- backup --to backup.db"));
  const dataDirectory = mkdtempSync(join(directory, "backed-up-"));
  const store = await openStore({ dataDirectory });
  await Promise.all(Array.from({ length: 500 }, (_, number) => store.saveRecord(rowOf(number))));
  const admin = new URL("../admin.ts", import.meta.url).pathname;
  const args = [admin, "backup", "--to", join(dataDirectory, "backup.db")];
  const env = { ...process.env, DATA_DIR: dataDirectory };
  const backup = spawn(process.execPath, args, { env, stdio: "inherit" });
  const ended = once(backup, "exit");
  for (let number = 500; backup.exitCode === null; number++) await store.saveRecord(rowOf(number));
  assert.deepEqual(await ended, [0, null]);
  await store.close();

  const copy = mkdtempSync(join(directory, "restored-"));
  renameSync(join(dataDirectory, "backup.db"), join(copy, "service.db"));
  const restored = await openStore({ dataDirectory: copy });
  for (let number = 0; number < 500; number++) {
    assert.ok(await restored.findTerms(rowOf(number).address), `record ${number} is lost`);
  }
  await restored.close();
});

describe("a store whose database fails", () => {
  test("rejects all writes after a failed write, until a restart", async () => {
    const config = { dataDirectory: mkdtempSync(join(directory, "full-")) };
    const script = `
      import { createHash } from "node:crypto";
      import { openStore } from "${new URL("../roles/open-store.ts", import.meta.url)}";
      ${rowOf}
      process.on("SIGXFSZ", () => {});
      const store = await openStore(${JSON.stringify(config)}, false);
      let number = 0;
      const failures = [];
      const write = async () => {
        while (failures.length < 3) {
          const mine = number++;
          await store.saveRecord(rowOf(mine)).then(
            () => console.log(mine),
            (error) => failures.push(error.name + ": " + error.message),
          );
        }
      };
      await Promise.all(Array.from({ length: 32 }, write));
      await store.check().catch((error) => failures.push(error.name + ": " + error.message));
      console.log(JSON.stringify(failures));
      process.exit();`;
    // Limits files to 1 MiB, so that writes fail as on a full disk.
    const limited = 'ulimit -f 1024; exec "$0" --input-type=module -e "$1"';
    const child = spawn("bash", ["-c", limited, process.execPath, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) lines.push(line);
    const failures = JSON.parse(lines.pop()!) as string[];
    // The failed commit rejects all saves of its group. All queued and later saves are also
    // rejected.
    assert.ok(failures.length >= 4);
    for (const failure of failures) assert.match(failure, /^UnavailableError: /);
    const [first, last] = [failures[0]!, failures.at(-1)!];
    assert.match(first, /not committed: SQLITE_/);
    assert.match(last, /writes are rejected until a restart, because of/);

    const store = await openStore(config);
    assert.ok(lines.length > 10);
    for (const line of lines) {
      const { address, terms } = rowOf(Number(line));
      assert.ok(terms.equals((await store.findTerms(address))!), `record ${line} is lost`);
    }
    await store.saveRecord(rowOf(1_000_000));
    await store.close();
  });

  test("throws `UnavailableError` from `check` if the SQLite file is missing", async () => {
    const dataDirectory = mkdtempSync(join(directory, "gone-"));
    const store = await openStore({ dataDirectory });
    await store.check();
    const file = join(dataDirectory, "service.db");
    rmSync(file);
    await assert.rejects(store.check(), {
      name: "UnavailableError",
      message: `${file} is missing`,
    });
    await store.close();
  });

  test("throws `UnavailableError` while another process locks SQLite", async () => {
    const dataDirectory = mkdtempSync(join(directory, "busy-"));
    const store = await openStore({ dataDirectory });
    const other = new Database(join(dataDirectory, "service.db"));
    other.exec("begin immediate");
    const waiting = store.saveRecord(rowOf(1));
    await assert.rejects(waiting, unavailable(/^not committed: SQLITE_BUSY: database is locked$/));
    const patient = store.saveRecord(rowOf(2));
    await sleep(100);
    other.exec("rollback");
    await patient;
    assert.equal(await store.findTerms(rowOf(1).address), undefined);
    other.close();
    await store.close();
  });

  test("throws `UnavailableError` for every call while PostgreSQL is down", async () => {
    const own = await startPostgres();
    const store = await openStore({ dataDirectory: directory, databaseUrl: own.url });
    await own.stop();
    const { address } = rowOf(1);
    await assert.rejects(store.saveRecord(rowOf(1)), unavailable(/^PostgreSQL: /));
    await assert.rejects(store.findTerms(address), unavailable(/^PostgreSQL: /));
    await assert.rejects(
      store.db.selectFrom("records").selectAll().execute(),
      unavailable(/^PostgreSQL: /),
    );
    await assert.rejects(
      store.db.transaction().execute(async () => {}),
      unavailable(/^PostgreSQL: /),
    );
    await store.close();
  });

  test("does not confirm a write if PostgreSQL stops waiting for its standby", async () => {
    const databaseUrl = await postgres.newDatabase();
    const store = await openStore({ dataDirectory: directory, databaseUrl });
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    await operator.query("alter system set synchronous_standby_names = 'nobody'");
    await operator.query("select pg_reload_conf()");
    const waiting = "from pg_stat_activity where wait_event = 'SyncRep'";
    const cancel = async () =>
      (await operator.query(`select pg_cancel_backend(pid) ${waiting}`)).rowCount ?? 0;
    let tried = 0;
    let cancelled = 0;
    // The first saves may still succeed, until all server processes have read the new setting.
    while (cancelled === 0) {
      let isSettled = false;
      const settle = () => {
        isSettled = true;
      };
      const saved = store.saveRecord(rowOf(++tried));
      saved.then(settle, settle);
      while (!isSettled && cancelled === 0) cancelled = await cancel();
      if (cancelled > 0)
        await assert.rejects(saved, unavailable(/^the write may not be durable: /));
      else await saved;
    }
    await operator.query("alter system reset synchronous_standby_names");
    await operator.query("select pg_reload_conf()");
    await operator.end();
    await store.saveRecord(rowOf(tried));
    await store.close();
  });

  test("throws `UnavailableError` if its connections break, and then reconnects", async () => {
    const databaseUrl = await postgres.newDatabase();
    const store = await openStore({ dataDirectory: directory, databaseUrl });
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    await operator.query("begin");
    await operator.query("lock table records");
    const isSaved = assert.rejects(store.saveRecord(rowOf(1)), unavailable(/^PostgreSQL: /));
    const ours = "from pg_stat_activity where application_name = 'executable-address'";
    const waiting = `select pid ${ours} and wait_event_type = 'Lock'`;
    // Within a transaction, PostgreSQL caches `pg_stat_activity`.
    const clear = () => operator.query("select pg_stat_clear_snapshot()");
    while ((await operator.query(waiting)).rowCount === 0) await clear();
    await operator.query(`select pg_terminate_backend(pid) ${ours}`);
    await isSaved;
    await operator.end();
    await store.saveRecord(rowOf(2));
    assert.equal(await store.findTerms(rowOf(1).address), undefined);
    await store.close();
  });

  test("rejects a transaction if its connection breaks between two statements", async () => {
    const databaseUrl = await postgres.newDatabase();
    const store = await openStore({ dataDirectory: directory, databaseUrl });
    const broken = store.db.transaction().execute(async (transaction) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(
        transaction,
      );
      await sql`select pg_terminate_backend(${rows[0]!.pid})`.execute(store.db);
      // The connection breaks while it is idle. The connection's error event must not end the
      // process.
      await sql`select pg_sleep(0.1)`.execute(store.db);
      await transaction.selectFrom("accounts").selectAll().execute();
    });
    await assert.rejects(broken, /terminat|not queryable/i);
    assert.deepEqual(await store.db.selectFrom("accounts").select("id").execute(), []);
    await store.close();
  });

  test("does not open if PostgreSQL confirms commits before they are on disk", async () => {
    const databaseUrl = await postgres.newDatabase();
    const operator = new pg.Client(databaseUrl);
    await operator.connect();
    await operator.query("alter role postgres set synchronous_commit = off");
    await assert.rejects(
      openStore({ dataDirectory: directory, databaseUrl }),
      /synchronous_commit is off on this PostgreSQL server, .*; expected on/,
    );
    await operator.query("alter role postgres reset synchronous_commit");
    await operator.end();
  });
});

const unavailable = (message: RegExp) => ({ name: "UnavailableError", message });
