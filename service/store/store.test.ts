// Tests the guarantees of store.ts for both databases. If you add a guarantee, test it in this
// file.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { fromHex, makeRecord, toHex } from "executable-address";
import { sql } from "kysely";
import { intentOf } from "../bench/intents.ts";
import { type openStore, rooms } from "../roles/open-store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { deriveColumns } from "./columns.ts";
import { findCreated, findNewestSeq } from "./find-records.ts";
import { openPostgres } from "./postgres.ts";
import { causeOf, mendTerms } from "./record.ts";
import { openSqlite } from "./sqlite.ts";
import { CorruptError, type NewRecord, type Store } from "./store.ts";

let postgres: TestPostgres;
const directory = mkdtempSync(join(tmpdir(), "store-"));
before(async () => {
  postgres = await startPostgres();
});
after(async () => {
  await postgres.stop();
  rmSync(directory, { recursive: true });
});

type Dialect = "sqlite" | "postgres";
const stores: Record<Dialect, () => Promise<Store>> = {
  sqlite: () => openSqlite(join(directory, "service.db"), rooms),
  postgres: () => openPostgres(postgres.url, rooms),
};

const emptyDatabase: Record<Dialect, () => Promise<Parameters<typeof openStore>[0]>> = {
  sqlite: async () => ({ dataDirectory: mkdtempSync(join(directory, "empty-")) }),
  postgres: async () => ({ dataDirectory: directory, databaseUrl: await postgres.newDatabase() }),
};

/**
 * The names of the migrations of earlier versions. The names must not change, because existing
 * databases contain them.
 */
const earlierMigrations = [
  "accounts-2c77eb16",
  "events-8b155c54",
  "executor-463673a9",
  "follow-e3ff69fb",
  "records-78d43c28",
  "webhooks-7c247b2d",
];

function row(accountId = "acc_1"): NewRecord {
  const terms = Buffer.concat([Buffer.alloc(256), randomBytes(444)]);
  return { address: randomBytes(20), terms, accountId, createdAtMs: 1_790_000_000_123 };
}

/**
 * Waits until `count` statements of this database wait for a lock, or until `isOver` returns true.
 */
async function waiting({ db }: Store, count: number, isOver = () => false): Promise<void> {
  while (!isOver()) {
    const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
    if (Number(rows[0]!.count) >= count) return;
  }
}

for (const name of ["sqlite", "postgres"] as const) {
  const open = stores[name];
  describe(`the store on ${name}`, () => {
    let store: Store;
    before(async () => {
      store = await open();
    });
    after(() => store.close());

    const ownersOf = (address: Uint8Array) =>
      store.db
        .selectFrom("owners")
        .select(["account_id", "created_at"])
        .where("address", "=", address)
        .orderBy("account_id")
        .execute();

    test("throws `CorruptError` if an address is saved again with different terms", async () => {
      const first = row();
      const forged = { ...row("acc_2"), address: first.address };
      const beside = row();
      await store.saveRecord(first);
      const [forgedOutcome, besideOutcome] = await Promise.allSettled([
        store.saveRecord(forged),
        store.saveRecord(beside),
      ]);
      assert.ok(forgedOutcome.status === "rejected");
      assert.ok(forgedOutcome.reason instanceof CorruptError);
      assert.equal(besideOutcome.status, "fulfilled");
      assert.deepEqual(Buffer.from((await store.findTerms(first.address))!), first.terms);
      assert.deepEqual(await ownersOf(first.address), [
        { account_id: "acc_1", created_at: first.createdAtMs },
      ]);
    });

    test("throws `CorruptError` for a record whose terms belong to another address", async () => {
      const records = [1, 2, 3].map((number) => makeRecord(intentOf(number, 2_000_000_000)));
      const [first, forged, last] = records.map((record) => ({
        ...row(),
        address: Buffer.from(fromHex(record.address)),
        terms: Buffer.from(fromHex(record.terms)),
      }));
      await store.saveRecord(first!);
      await store.saveRecord({ ...forged!, terms: first!.terms });
      await store.saveRecord(last!);
      const addresses = [first!, forged!, last!].map(({ address }) => address);
      const found = await Promise.allSettled(addresses.map(store.findRecord));
      assert.ok(found[1]?.status === "rejected" && found[1].reason instanceof CorruptError);
      assert.match(found[1].reason.message, new RegExp(records[1]!.address.slice(2), "i"));
      assert.match(causeOf(found[1].reason), /the address derived from the stored terms is 0x/);
      for (const place of [0, 2]) {
        const each = found[place]!;
        assert.ok(each.status === "fulfilled");
        assert.equal(each.value, JSON.stringify(records[place]));
      }
    });

    test("returns undefined for an unknown address", async () => {
      assert.equal(await store.findTerms(randomBytes(20)), undefined);
      assert.equal(await store.findRecord(randomBytes(20)), undefined);
    });

    test("saves whether the first create request used a client ID", async () => {
      const [byKey, byClient] = [row(), row()];
      await store.saveRecord(byKey);
      await store.saveRecord({ ...byClient, isClientId: true });
      await store.saveRecord({ ...byKey, accountId: "acc_2", isClientId: true });
      const kindOf = async (address: Uint8Array) =>
        (
          await store.db.selectFrom("records").selectAll().where("address", "=", address).execute()
        ).map((each) => each.by_client_id);
      assert.deepEqual(await kindOf(byKey.address), [0]);
      assert.deepEqual(await kindOf(byClient.address), [1]);
    });

    test("finds a saved record with its account", async () => {
      const saved = row();
      await store.saveRecord(saved);
      assert.deepEqual(Buffer.from((await store.findTerms(saved.address))!), saved.terms);
      assert.deepEqual(await ownersOf(saved.address), [
        { account_id: "acc_1", created_at: saved.createdAtMs },
      ]);
    });

    test("changes nothing if a record is saved again", async () => {
      const saved = row();
      await store.saveRecord(saved);
      await store.saveRecord({ ...saved, createdAtMs: saved.createdAtMs + 1000 });
      assert.deepEqual(await ownersOf(saved.address), [
        { account_id: "acc_1", created_at: saved.createdAtMs },
      ]);
    });

    test("saves a separate creation time for each account of an address", async () => {
      const saved = row();
      await Promise.all([
        store.saveRecord(saved),
        store.saveRecord({ ...saved, accountId: "acc_2", createdAtMs: 1_790_000_001_000 }),
        store.saveRecord(saved),
      ]);
      assert.deepEqual(await ownersOf(saved.address), [
        { account_id: "acc_1", created_at: saved.createdAtMs },
        { account_id: "acc_2", created_at: 1_790_000_001_000 },
      ]);
    });

    test("changes nothing if both accounts of a record save it again", async () => {
      const saved = row();
      const later = { ...saved, accountId: "acc_2", createdAtMs: saved.createdAtMs + 1000 };
      await store.saveRecord(saved);
      await store.saveRecord(later);
      await store.saveRecord({ ...later, createdAtMs: later.createdAtMs + 1000 });
      await store.saveRecord(saved);
      assert.deepEqual(await ownersOf(saved.address), [
        { account_id: "acc_1", created_at: saved.createdAtMs },
        { account_id: "acc_2", created_at: later.createdAtMs },
      ]);
    });

    const namesOf = async (address: Uint8Array) => {
      const all = store.db.selectFrom("address_references");
      const rows = await all
        .select(["account_id", "reference", "created_at", "by_client_id", "is_again"])
        .where("address", "=", address)
        .execute();
      return rows.map((each) => Object.values(each));
    };

    test("saves a reference together with its record", async () => {
      const saved = { ...row(), reference: "Order 1" };
      for (let time = 0; time < 2; time++) assert.equal(await store.saveRecord(saved), "saved");
      const name = ["acc_1", "Order 1", saved.createdAtMs, 0, 0];
      assert.deepEqual(await namesOf(saved.address), [name]);
      const later = { ...saved, accountId: "acc_2", isClientId: true, createdAtMs: 7 };
      assert.equal(await store.saveRecord(later), "saved");
      const both = (await namesOf(saved.address)).toSorted();
      assert.deepEqual(both, [name, ["acc_2", "Order 1", 7, 1, 0]]);
    });

    test("returns `usedBy` if a new record's reference belongs to another address", async () => {
      for (const isClientId of [false, true]) {
        const first = { ...row(), reference: "order-2", isClientId };
        const second = { ...row(), reference: "order-2", isClientId };
        const outcomes = await Promise.all([first, second].map(store.saveRecord));
        assert.equal(outcomes[0], "saved");
        assert.deepEqual(Buffer.from((outcomes[1] as { usedBy: Buffer }).usedBy), first.address);
        assert.equal(await store.findTerms(second.address), undefined);
        assert.deepEqual(await ownersOf(second.address), []);
        assert.equal(await store.saveRecord({ ...second, isAgain: true }), "saved");
        const name = ["acc_1", "order-2", second.createdAtMs, isClientId ? 1 : 0, 1];
        assert.deepEqual(await namesOf(second.address), [name]);
      }
    });

    test("returns `usedBy` if a saved record gets the reference of another address", async () => {
      const [first, second] = [row(), row()];
      await store.saveRecord({ ...first, reference: "order-3" });
      await store.saveRecord({ ...second, reference: "order-4" });
      const outcome = await store.saveRecord({ ...second, reference: "order-3" });
      assert.deepEqual(Buffer.from((outcome as { usedBy: Buffer }).usedBy), first.address);
      assert.equal(await store.saveRecord({ ...second, reference: "order-5" }), "saved");
      assert.equal((await namesOf(second.address))[0]![1], "order-5");
    });

    test("returns `exists` if a client ID sets the reference of an existing address", async () => {
      for (const reference of [undefined, "order-6"]) {
        const saved = row();
        await store.saveRecord({ ...saved, reference });
        const before = await namesOf(saved.address);
        const claim = { ...saved, isClientId: true, reference: "claim-6", isAgain: true };
        assert.equal(await store.saveRecord(claim), "exists");
        assert.deepEqual(await namesOf(saved.address), before);
      }
    });

    test("replaces a reference from a client ID with one from an API key", async () => {
      const saved = row();
      await store.saveRecord({ ...saved, isClientId: true, reference: "claim-7" });
      assert.equal(await store.saveRecord({ ...saved, reference: "order-7" }), "saved");
      const name = ["acc_1", "order-7", saved.createdAtMs, 0, 0];
      assert.deepEqual(await namesOf(saved.address), [name]);
    });

    test("saves 3,000 records simultaneously", async () => {
      const rows = Array.from({ length: 3000 }, () => row());
      await Promise.all(rows.map((each) => store.saveRecord(each)));
      const found = await Promise.all(rows.map((each) => store.findTerms(each.address)));
      found.forEach((terms, index) => {
        assert.deepEqual(Buffer.from(terms!), rows[index]?.terms);
      });
    });

    test("finds a record immediately after it was saved", async () => {
      for (let round = 0; round < 100; round++) {
        const saved = row();
        await store.saveRecord(saved);
        assert.ok(await store.findTerms(saved.address));
      }
    });

    test("saves a record while another transaction is open", async () => {
      const saved = row();
      let isSaved: Promise<unknown> | undefined;
      await store.db.transaction().execute(async (transaction) => {
        await transaction
          .insertInto("accounts")
          .values({ id: "acc_open", email: "open@example.com", created_at: 1 })
          .execute();
        isSaved = store.saveRecord(saved);
        await sleep(50);
      });
      await isSaved;
      assert.ok(await store.findTerms(saved.address));
    });

    test("commits a transaction even if a save starts between the read and the write", async () => {
      let isSaved: Promise<unknown> | undefined;
      await store.db.transaction().execute(async (transaction) => {
        const accounts = await transaction.selectFrom("accounts").select("id").execute();
        isSaved = store.saveRecord(row());
        await sleep(50);
        await transaction
          .insertInto("accounts")
          .values({ id: "acc_read", email: `${accounts.length}@example.com`, created_at: 1 })
          .execute();
      });
      await isSaved;
    });

    test("returns the rows of each key if several keys are read simultaneously", async () => {
      const rowsOf = store.readerOf<{ account_id: string; created_at: number }>({
        name: "test-owners",
        sqlite: `select account_id, created_at from owners where address = ?
          order by account_id`,
        postgres: `select address as key, account_id, created_at from owners
          where address = any($1::bytea[]) order by account_id`,
      });
      const [one, two, none] = [row("acc_2"), row("acc_3"), row()];
      await Promise.all([one, two, { ...one, accountId: "acc_1" }].map(store.saveRecord));
      const read = await Promise.all([one, none, two, one].map(({ address }) => rowsOf(address)));
      assert.deepEqual(
        read.map((rows) => rows.map(({ account_id }) => account_id).toSorted()),
        [["acc_1", "acc_2"], [], ["acc_3"], ["acc_1", "acc_2"]],
      );
      const [first] = read[2]!;
      assert.equal(Number(first?.created_at), two.createdAtMs);
    });

    test("finds a record that a second server has saved", async () => {
      const other = await open();
      const saved = row();
      await store.saveRecord(saved);
      assert.ok(await other.findTerms(saved.address));
      await other.close();
    });

    test("creates the tables once if four processes start simultaneously", async () => {
      const config = JSON.stringify(await emptyDatabase[name]());
      const script = `import { openStore } from "${import.meta.resolve("../roles/open-store.ts")}";
        const store = await openStore(${config}, false);
        const applied = await store.db.selectFrom("migrations").select("name").execute();
        console.log(applied.length);
        await store.close();`;
      const run = promisify(execFile);
      const processes = Array.from({ length: 4 }, () =>
        run(process.execPath, ["--input-type=module", "-e", script]),
      );
      const applied = await store.db.selectFrom("migrations").select("name").execute();
      for (const { stdout } of await Promise.all(processes)) {
        assert.equal(Number(stdout), applied.length);
      }
    });

    test("keeps the names of earlier versions' migrations", async () => {
      const names = (await store.db.selectFrom("migrations").select("name").execute()).map(
        ({ name }) => name,
      );
      assert.deepEqual(
        earlierMigrations.filter((name) => !names.includes(name)),
        [],
      );
    });

    test("refuses a database with an unknown migration, and recommends a restore", async () => {
      await store.db
        .insertInto("migrations")
        .values({ name: "999-later", applied_at: 1 })
        .execute();
      await assert.rejects(
        open(),
        /\(999-later\): run the version that added them, or restore the backup/,
      );
      await store.db.deleteFrom("migrations").where("name", "=", "999-later").execute();
    });

    test("sets a record's columns from its terms when it is saved or repaired", async () => {
      const saved = row();
      const word = (value: bigint) => Buffer.from(value.toString(16).padStart(64, "0"), "hex");
      const words = [32n, 0xabcdn, 2n ** 255n + 1n, 7n, 1_900_000_000n, 8n, 9n, 8453n, 5n];
      const terms = Buffer.concat(words.map(word));
      const readColumns = () =>
        store.db
          .selectFrom("records")
          .select(["chain_id", "token", "amount", "expires_at"])
          .where("address", "=", saved.address)
          .executeTakeFirstOrThrow();
      const expected = {
        chain_id: 8453,
        token: Buffer.from("abcd".padStart(40, "0"), "hex"),
        amount: String(2n ** 255n + 1n),
        expires_at: 1_900_000_000,
      };
      await store.saveRecord(saved);
      assert.equal((await readColumns()).chain_id, 0);
      await mendTerms(store, saved.address, terms);
      assert.deepEqual({ ...(await readColumns()) }, expected);
      const other = { ...row(), terms };
      await store.saveRecord(other);
      saved.address = other.address;
      assert.deepEqual({ ...(await readColumns()) }, expected);
    });

    test("completes pending calls before the database closes", async () => {
      const other = await open();
      const saved = row();
      const isSaved = other.saveRecord(saved);
      await other.close();
      await isSaved;
      assert.ok(await store.findTerms(saved.address));
    });
  });
}

test("`findCreated` does not skip a record that PostgreSQL commits late", async () => {
  const [one, other] = [
    await openPostgres(postgres.url, rooms),
    await openPostgres(postgres.url, rooms),
  ];
  const from = await findNewestSeq(one.db);
  const rows = [row(), row(), row()].sort((a, b) => Buffer.compare(a.address, b.address));
  const [first, held, last] = rows as [NewRecord, NewRecord, NewRecord];
  // The transaction `blocker` inserts the address of `held`. The test then saves `first` and `held`
  // simultaneously. The store assigns a `seq` to `first`, but cannot save `held` until `blocker`
  // ends.
  const blocker = await one.db.startTransaction().execute();
  const { chainId, expirationSeconds, ...columns } = deriveColumns(held.terms);
  const times = { created_at: 1, expires_at: expirationSeconds };
  const more = { account_id: "acc_1", chain_id: chainId, ...times };
  const { address, terms } = held;
  await blocker
    .insertInto("records")
    .values({ address, terms, ...columns, ...more })
    .execute();
  const begun = [one.saveRecord(first), one.saveRecord(held)];
  await waiting(one, 1);
  let isLastSaved = false;
  const saved = other.saveRecord(last).then(() => {
    isLastSaved = true;
  });
  await waiting(one, 2, () => isLastSaved);
  const early = await findCreated(one.db, from, 10);
  await blocker.rollback().execute();
  await Promise.all([...begun, saved]);
  const late = await findCreated(one.db, early.at(-1)?.seq ?? from, 10);
  const read = [...early, ...late].map((record) => record.address);
  assert.deepEqual(
    read.sort(),
    rows.map((each) => toHex(each.address)),
  );
  await Promise.all([one.close(), other.close()]);
});
