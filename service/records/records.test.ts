// Tests `export`, `import`, `mirror`, `backup`, and `copy to-postgres` on both databases.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import Database from "better-sqlite3";
import { fromHex, type Intent, makeRecord } from "executable-address";
import { createClient } from "executable-address/client";
import { factoryAddress } from "executable-address-contracts";
import { sql } from "kysely";
import { onlyLong } from "../../scripts/long.ts";
import { createAccount } from "../accounts/account.ts";
import { accountCommands } from "../accounts/admin.ts";
import { findCommand } from "../admin/command.ts";
import { immutable, noSniff } from "../http/errors.ts";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { recordCommands } from "./admin.ts";
import { batchSize } from "./export.ts";

const program = resolve(import.meta.dirname, "../admin.ts");
const folder = mkdtempSync(join(tmpdir(), "records-"));
let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(async () => {
  await postgres.stop();
  rmSync(folder, { recursive: true });
});

type Place = { DATA_DIR: string; DATABASE_URL?: string };
const places: Record<string, () => Promise<Place>> = {
  sqlite: async () => ({ DATA_DIR: mkdtempSync(join(folder, "sqlite-")) }),
  postgres: async () => ({ DATA_DIR: folder, DATABASE_URL: await postgres.newDatabase() }),
};

const open = ({ DATA_DIR, DATABASE_URL }: Place): Promise<Store> =>
  openStore({ dataDirectory: DATA_DIR, databaseUrl: DATABASE_URL }, false);

/** Runs an operator's command in this process. `input` is its standard input. */
async function admin(place: Place, words: string, input = "") {
  let [code, out, err] = [0, "", ""];
  const report = (line: string) => (err += `${line}\n`);
  const commands = [
    ...accountCommands,
    ...recordCommands({ stdin: () => Readable.from([Buffer.from(input)]), report }),
  ];
  const store = await open(place);
  try {
    const { command, given } = findCommand(commands, words.split(" "));
    const settings = { publicUrl: "", dataDirectory: place.DATA_DIR, chainsFile: "" };
    const answer = await command.run({ store, ...settings }, given);
    if (words.startsWith("export"))
      for await (const piece of answer as AsyncIterable<string>) out += piece;
    else out = `${JSON.stringify(answer)}\n`;
  } catch (error) {
    report((error as Error).message);
    code = 1;
  }
  await store.close();
  return { code, out, err };
}

/** Runs an operator's command in a separate process. */
async function typed(place: Place, words: string, input = "") {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...place };
  const child = spawn(process.execPath, [program, ...words.split(" ")], { env });
  const streams = Promise.all([text(child.stdout), text(child.stderr)]);
  child.stdin.on("error", () => {}).end(input);
  const [code] = await once(child, "close");
  const [out, err] = await streams;
  return { code, out, err };
}

/**
 * Returns a record whose intent expired long ago. Exports include expired records, because money at
 * an address can be returned only with its intent.
 */
function record(nth: number) {
  const intent: Intent = {
    token: "0x90461958A1b877A893da820b1131e33fB0c72600",
    amount: "25000000",
    calls: [
      {
        target: "0x90461958A1b877A893da820b1131e33fB0c72600",
        function: "mint(address to, uint256 amount)",
        args: ["0x70997970C51812dc3A010C7d01b50e0d17dc79C8", `${nth}`],
      },
    ],
    expirationTimestamp: 1_600_000_000,
    recovery: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    salt: `0x${nth.toString(16).padStart(64, "0")}`,
    chainId: 31_337,
  };
  return makeRecord(intent, { factory: factoryAddress });
}

async function fill(place: Place, count: number, createdAtMs: number): Promise<string[]> {
  const store = await open(place);
  const lines: string[] = [];
  const saving = Array.from({ length: count }, (_, nth) => {
    const made = record(nth);
    lines.push(JSON.stringify(made));
    const [address, terms] = [fromHex(made.address), fromHex(made.terms)];
    return store.saveRecord({ address, terms, accountId: "acc_1", createdAtMs: createdAtMs + nth });
  });
  await Promise.all(saving);
  await store.close();
  return lines;
}

async function addAccount(place: Place): Promise<void> {
  const store = await open(place);
  await createAccount(store.db, email, { atMs: Date.now() });
  await store.close();
}

const sorted = (text: string) => text.trimEnd().split("\n").sort();
const email = "mirror@example.com";

for (const [name, newPlace] of Object.entries(places)) {
  // On PostgreSQL, most of these tests need TESTS=long. Other tests already run the same SQL
  // statements.
  const once = name === "sqlite" ? {} : onlyLong;

  describe(`the commands for records on ${name}`, () => {
    test("`import` rejects invalid lines and saves all other records", once, async () => {
      const place = await newPlace();
      await addAccount(place);
      assert.match(
        (await admin(place, "import --email nobody@example.com")).err,
        /^no account has the email/,
      );
      const good = JSON.stringify(record(1));
      const lines = [
        "no JSON",
        JSON.stringify({ ...record(2), address: record(3).address }),
        good,
        "",
        "x".repeat(1_048_577),
        JSON.stringify({ ...record(4), terms: record(5).terms }),
        good,
      ];
      const { code, err, out } = await admin(place, `import --email ${email}`, lines.join("\n"));
      assert.deepEqual([code, out], [1, ""]);
      for (const line of ["line 1: ", "line 2: ", "line 5: expected at most", "line 6: "])
        assert.ok(err.includes(line), err);
      assert.match(
        err,
        /\{"saved":2,"repaired":0,"refused":4\}: the rejected records are listed above\n$/,
      );
      assert.equal((await admin(place, "export")).out, `${good}\n`);
    });

    test("`mirror` writes only new records, and a client can look them up", once, async () => {
      const place = await newPlace();
      const mirror = mkdtempSync(join(folder, "mirror-"));
      const first = await fill(place, 3, 1_700_000_000_000);
      assert.match(
        (await admin(place, "mirror a b")).err,
        /expected one folder, found 2; usage: mirror DIR/,
      );
      const run = async () => JSON.parse((await admin(place, `mirror ${mirror}`)).out);
      assert.deepEqual(await run(), { written: 3, corrupt: 0 });
      const lines = await fill(place, 5, 1_700_000_000_000);
      assert.deepEqual(await run(), { written: 2, corrupt: 0 });
      assert.deepEqual(await run(), { written: 0, corrupt: 0 });
      const listed = readFileSync(join(mirror, "v1/records.jsonl"), "utf8");
      assert.deepEqual(sorted(listed), lines.toSorted());
      assert.ok(first.every((line) => listed.includes(line)));
      // A 404 response must not have the cache headers of records. Otherwise, caches would return
      // the 404 response for a year, even if the record is created later.
      const caddy = readFileSync(join(mirror, "Caddyfile"), "utf8");
      assert.match(caddy, /@address \{\n {2}path \/v1\/address\/\*\n {2}file\n\}/);
      assert.match(caddy, /^respond \/\.mirror\.json 404$/m);
      const nginx = readFileSync(join(mirror, "nginx.conf"), "utf8");
      assert.match(nginx, /^location = \/\.mirror\.json \{\n {2}return 404;\n\}$/m);
      // A mirror sends a record with the same headers as the API.
      for (const [name, value] of Object.entries({ ...immutable, ...noSniff }))
        for (const file of [nginx, caddy]) assert.match(file, RegExp(`${name} "${value}"`, "i"));
      const read = async (input: string | URL | Request) => {
        const { pathname, host } = new URL(String(input));
        if (host !== "mirror.example") throw new TypeError("fetch failed");
        return new Response(readFileSync(join(mirror, pathname)));
      };
      const mirrors = ["https://mirror.example/v1"];
      const baseUrl = "https://gone.example/v1";
      const client = createClient({ baseUrl, mirrors, fetch: read as typeof fetch });
      for (const nth of [0, 4])
        assert.deepEqual(await client.lookup(record(nth).address), record(nth));
    });

    test("`mirror` omits a corrupt record until it is repaired", once, async () => {
      const place = await newPlace();
      const mirror = mkdtempSync(join(folder, "mirror-"));
      const lines = await fill(place, 3, 1_700_000_000_000);
      const store = await open(place);
      const address = fromHex(record(1).address);
      const terms = Buffer.from(fromHex(record(0).terms));
      await store.db.updateTable("records").set({ terms }).where("address", "=", address).execute();
      await store.close();
      const listed = () => sorted(readFileSync(join(mirror, "v1/records.jsonl"), "utf8"));
      for (let repeat = 0; repeat < 2; repeat++) {
        const { code, err } = await admin(place, `mirror ${mirror}`);
        assert.equal(code, 1);
        assert.match(err, /is not served/);
        assert.match(err, /"corrupt":1\}: the corrupt records above were skipped\n$/);
        assert.equal(listed().length, 2);
      }
      // Simulates a crash after a partial line was written, but before the note was updated.
      appendFileSync(join(mirror, "v1/records.jsonl"), lines[0]!.slice(0, 99));
      await addAccount(place);
      await admin(place, `import --email ${email}`, lines.join("\n"));
      const { out } = await admin(place, `mirror ${mirror}`);
      assert.deepEqual(JSON.parse(out), { written: 1, corrupt: 0 });
      assert.deepEqual(listed(), lines.toSorted());
    });

    const retries = "`mirror` omits 600 corrupt records until they are repaired";
    test(retries, once, async () => {
      const place = await newPlace();
      const mirror = mkdtempSync(join(folder, "mirror-"));
      const lines = await fill(place, 600, 1_700_000_000_000);
      const setTerms = async (terms: (nth: number) => string) => {
        const store = await open(place);
        await store.db.transaction().execute(async (db) => {
          for (let nth = 0; nth < lines.length; nth++)
            await db
              .updateTable("records")
              .set({ terms: Buffer.from(fromHex(terms(nth))) })
              .where("address", "=", fromHex(record(nth).address))
              .execute();
        });
        await store.close();
      };
      await setTerms(() => record(700).terms);
      for (let repeat = 0; repeat < 2; repeat++) {
        const { err } = await admin(place, `mirror ${mirror}`);
        assert.equal(err.match(/is not served/g)?.length, 600);
      }
      await setTerms((nth) => record(nth).terms);
      const run = async () => JSON.parse((await admin(place, `mirror ${mirror}`)).out);
      assert.deepEqual(await run(), { written: 600, corrupt: 0 });
      assert.deepEqual(await run(), { written: 0, corrupt: 0 });
      assert.deepEqual(
        sorted(readFileSync(join(mirror, "v1/records.jsonl"), "utf8")),
        lines.toSorted(),
      );
    });

    test("`export` omits a corrupt record, and `import` repairs it", once, async () => {
      const place = await newPlace();
      const lines = await fill(place, 2, 1_700_000_000_000);
      const [good] = lines;
      const store = await open(place);
      const address = fromHex(record(1).address);
      const terms = Buffer.from(fromHex(record(0).terms));
      await store.db.updateTable("records").set({ terms }).where("address", "=", address).execute();
      await store.close();
      const { code, err, out } = await admin(place, "export");
      assert.deepEqual([code, out], [1, `${good}\n`]);
      assert.match(
        err,
        new RegExp(`the record of ${record(1).address.toLowerCase()} is corrupt and is not served`),
      );
      assert.match(err, /"exported":1,"corrupt":1,/);

      await addAccount(place);
      const repaired = await admin(place, `import --email ${email}`, lines.join("\n"));
      assert.equal(repaired.out, '{"saved":2,"repaired":1,"refused":0}\n');
      assert.match(repaired.err, /^line 2: the row of 0x\w+ contains terms that .*; repaired\n$/);
      assert.deepEqual(sorted((await admin(place, "export")).out), lines.toSorted());
    });

    test("`export` and `import` include every record", async () => {
      const from = await newPlace();
      const count = 2 * batchSize + 100;
      const lines = await fill(from, count, 1_700_000_000_000);
      const all = await typed(from, "export");
      assert.equal(all.code, 0, all.err);
      assert.deepEqual(sorted(all.out), lines.toSorted());
      const { exported, until } = JSON.parse(all.err);
      assert.equal(exported, count);
      assert.ok(Math.abs(Date.parse(until) - Date.now()) < 60_000);

      const to = await newPlace();
      await addAccount(to);
      const imported = await typed(to, `import --email ${email}`, all.out);
      assert.deepEqual(
        [imported.code, imported.out],
        [0, `{"saved":${count},"repaired":0,"refused":0}\n`],
      );
      const again = await typed(to, `import --email ${email}`, all.out);
      assert.equal(again.code, 0);
      assert.deepEqual(sorted((await typed(to, "export")).out), lines.toSorted());
    });

    test("`export --since` omits records created before the given time", once, async () => {
      const place = await newPlace();
      const lines = await fill(place, 10, Date.parse("2026-01-31T00:00:00Z"));
      const since = await admin(place, "export --since 2026-01-31T00:00:00.004Z");
      assert.deepEqual(sorted(since.out), lines.slice(4).toSorted());
      const none = await admin(place, "export --since 2026-02-01T00:00:00Z");
      assert.deepEqual([none.out, JSON.parse(none.err).exported], ["", 0]);
      assert.match(
        (await admin(place, "export --since yesterday")).err,
        /^--since: expected a time such as .*, found yesterday/,
      );
    });
  });
}

describe("the command `backup`", () => {
  test("writes a complete file that only its owner can read", async () => {
    const place = await places.sqlite!();
    const lines = await fill(place, 100, 1_700_000_000_000);
    const restored = mkdtempSync(join(folder, "restored-"));
    const file = join(restored, "service.db");
    const { out } = await admin(place, `backup --to ${file}`);
    assert.deepEqual(JSON.parse(out), { backup: file });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(restored), ["service.db"]);
    const bytes = readFileSync(file);
    assert.match(
      (await admin(place, `backup --to ${file}`)).err,
      /already exists: choose another name\n$/,
    );
    assert.ok(readFileSync(file).equals(bytes));
    assert.deepEqual(sorted((await admin({ DATA_DIR: restored }, "export")).out), lines.toSorted());
  });

  test("refuses a PostgreSQL database", async () => {
    const { err } = await admin(await places.postgres!(), "backup --to somewhere");
    assert.match(err, /pg_dump/);
  });
});

describe("the command `copy to-postgres`", () => {
  test("refuses a missing source, and a missing or non-empty target", async () => {
    const place = await places.sqlite!();
    await addAccount(place);
    const target = { ...place, DATABASE_URL: await postgres.newDatabase() };
    await admin({ ...target, DATA_DIR: folder }, "account create --email other@example.com");
    assert.match(
      (await admin(target, "copy to-postgres")).err,
      /is not empty: accounts contains rows/,
    );
    assert.match((await admin(place, "copy to-postgres")).err, /DATABASE_URL is not set to/);
    assert.match(
      (await admin({ ...target, DATA_DIR: folder }, "copy to-postgres")).err,
      /\S+db is missing: set DATA_DIR/,
    );
  });

  test("refuses a database file of an earlier version of the service", async () => {
    const place = await places.sqlite!();
    const store = await open(place);
    const last = store.db.selectFrom("migrations").select(({ fn }) => fn.max("name").as("name"));
    const { name } = await last.executeTakeFirstOrThrow();
    await store.db.deleteFrom("migrations").where("name", "=", name).execute();
    await store.close();
    const target = { ...place, DATABASE_URL: await postgres.newDatabase() };
    const { code, err } = await admin(target, "copy to-postgres");
    assert.equal(code, 1);
    const parts =
      / version: start this version once with that file, and stop it; expected (.+), found (.+)\n$/;
    const [, wanted, found] = parts.exec(err) ?? [];
    assert.equal(wanted, `${found}, ${name}`);
  });

  test("copies nothing if a record is corrupt", async () => {
    const place = await places.sqlite!();
    await fill(place, 3, 1_700_000_000_000);
    const store = await open(place);
    const terms = Buffer.from(fromHex(record(0).terms));
    await store.db.updateTable("records").set({ terms }).execute();
    await store.close();
    const target = { ...place, DATABASE_URL: await postgres.newDatabase() };
    const { code, err } = await admin(target, "copy to-postgres");
    assert.equal(code, 1);
    assert.match(err, /the record of 0x[0-9a-f]{40} is corrupt and is not served/);
    assert.equal((await admin(target, "export")).out, "");
  });

  test("copies all rows of every table and verifies every record", async () => {
    const place = await places.sqlite!();
    const lines = await fill(place, 1500, 1_700_000_000_000);
    const created = JSON.parse((await admin(place, `account create --email ${email}`)).out);
    const written = addRows(place);
    assert.ok(Object.values(written).every((count) => count > 0));
    const target = { ...place, DATABASE_URL: await postgres.newDatabase() };
    const { code, err, out } = await admin(target, "copy to-postgres");
    assert.equal(code, 0, err);
    const { rows, recordsProved } = JSON.parse(out);
    assert.deepEqual(rows, written);
    assert.deepEqual(await countRows(target, Object.keys(written)), written);
    assert.deepEqual([rows.records, rows.accounts, recordsProved], [1500, 3, 1500]);
    assert.deepEqual(sorted((await admin(target, "export")).out), lines.toSorted());
    const shown = JSON.parse((await admin(target, `account show --email ${email}`)).out);
    assert.equal(shown.clientId, created.clientId);
  });
});

/**
 * Adds two rows to each table of a SQLite file, except to `records`. Rows of `records` must be
 * valid, because the copy command verifies them.
 * @returns the number of rows of each table
 */
function addRows({ DATA_DIR }: Place): Record<string, number> {
  const db = new Database(join(DATA_DIR, "service.db"));
  db.pragma("foreign_keys = off");
  const text = (sql: string) => db.prepare<[], string>(sql).pluck().all();
  const tables = text(`select name from sqlite_master where type = 'table'
    and name not like 'sqlite_%' and name <> 'migrations'`);
  const sampleOf = (type: string, nth: number) => {
    if (type === "TEXT") return `text ${nth}`;
    if (type === "BLOB") return Buffer.alloc(20, nth);
    return type === "DATE" ? new Date(nth).toISOString() : nth;
  };
  const counts = tables.map((table) => {
    const types = text(`select upper(type) from pragma_table_info('${table}')`);
    const add = db.prepare(`insert into ${table} values (${types.map(() => "?")})`);
    if (table !== "records")
      for (const nth of [0, 1]) add.run(types.map((type) => sampleOf(type, nth)));
    return [table, Number(text(`select count(*) from ${table}`)[0])];
  });
  db.close();
  return Object.fromEntries(counts);
}

/** Returns the number of rows of each table. */
async function countRows(place: Place, tables: string[]): Promise<Record<string, number>> {
  const store = await open(place);
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const counting = sql<{ count: string }>`select count(*) as count from ${sql.table(table)}`;
    counts[table] = Number((await counting.execute(store.db)).rows[0]!.count);
  }
  await store.close();
  return counts;
}
