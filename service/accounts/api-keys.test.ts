import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { createAccount, findCredentials } from "./account.ts";
import { addApiKey, revokeApiKey, rotateApiKey, wholeKey } from "./api-keys.ts";
import { bindClientId, rotateClientId } from "./client-ids.ts";
import { digestCredential, type Holders, openHolders } from "./credentials.ts";

const rounds = 20;
const actor = { atMs: 1_790_000_000_000 };

let postgres: TestPostgres;
const directory = mkdtempSync(join(tmpdir(), "rotate-"));
before(async () => {
  postgres = await startPostgres();
});
after(async () => {
  await postgres.stop();
  rmSync(directory, { recursive: true });
});

let emails = 0;
const newAccount = async ({ db }: Store) =>
  (await createAccount(db, `${emails++}@example.com`, actor))!.accountId;

/**
 * Opens the stores of two servers that share a database. With SQLite, returns the same store twice,
 * because only one server can use a SQLite file.
 */
const pairs: Record<string, () => Promise<[Store, Store]>> = {
  sqlite: async () => {
    const store = await openStore({ dataDirectory: directory });
    return [store, store];
  },
  postgres: async () => {
    const databaseUrl = await postgres.newDatabase();
    const open = () => openStore({ databaseUrl, dataDirectory: directory });
    return [await open(), await open()];
  },
};

for (const [name, open] of Object.entries(pairs)) {
  describe(`API keys and client IDs on ${name}`, () => {
    let a: Store;
    let b: Store;
    let holders: Holders;
    before(async () => {
      [a, b] = await open();
      holders = openHolders(b);
    });
    after(async () => {
      if (b !== a) await b.close();
      await a.close();
    });

    test("only one of several simultaneous rotations of a key succeeds", async () => {
      for (let round = 0; round < rounds; round++) {
        const accountId = await newAccount(a);
        let { prefix } = (await addApiKey(a.db, accountId, wholeKey, actor))!;
        for (let turn = 0; turn < 3; turn++) {
          const asked = [a, b, a, b].map(({ db }) => rotateApiKey(db, accountId, prefix, actor));
          const made = (await Promise.all(asked)).filter((key) => key !== undefined);
          assert.equal(made.length, 1);
          const { apiKey } = made[0]!;
          assert.equal((await holders.findApiKey(digestCredential(apiKey)))?.accountId, accountId);
          prefix = made[0]!.prefix;
        }
        const keys = await a.db
          .selectFrom("api_keys")
          .select("prefix")
          .where("account_id", "=", accountId)
          .execute();
        assert.deepEqual(keys, [{ prefix }]);
      }
    });

    test("only one of several simultaneous rotations of a client ID succeeds", async () => {
      const accountId = await newAccount(a);
      const { clientId } = await findCredentials(a.db, accountId);
      await bindClientId(a.db, accountId, true, actor);
      const asked = [a, b, a, b].map(({ db }) =>
        rotateClientId(db, accountId, clientId.client_id, actor),
      );
      const made = (await Promise.all(asked)).filter((id) => id !== undefined);
      assert.equal(made.length, 1);
      const held = await holders.findClientId(digestCredential(made[0]!.clientId));
      assert.deepEqual(
        held,
        { accountId, isBound: true, mayName: true, origins: [] },
        "it stays bound",
      );
      assert.equal(await holders.findClientId(digestCredential(clientId.client_id)), undefined);
    });

    test("an account cannot rotate or revoke another account's key", async () => {
      const [accountId, stranger] = [await newAccount(a), await newAccount(a)];
      const { apiKey, prefix } = (await addApiKey(a.db, accountId, wholeKey, actor))!;
      assert.equal(await rotateApiKey(a.db, stranger, prefix, actor), undefined);
      assert.equal(await revokeApiKey(a.db, stranger, prefix, actor), false);
      assert.equal((await holders.findApiKey(digestCredential(apiKey)))?.accountId, accountId);
    });

    test("a rotated key is immediately invalid on the other server", async () => {
      const accountId = await newAccount(a);
      let held = (await addApiKey(a.db, accountId, wholeKey, actor))!;
      for (let round = 0; round < rounds; round++) {
        const old = digestCredential(held.apiKey);
        // A lookup that starts before the rotation may still find the old key. A lookup after the
        // rotation must not find the old key.
        const before = Array.from({ length: 20 }, () => holders.findApiKey(old));
        held = (await rotateApiKey(a.db, accountId, held.prefix, actor))!;
        const asked = Array.from({ length: 100 }, () => holders.findApiKey(old));
        assert.ok((await Promise.all(asked)).every((found) => found === undefined));
        await Promise.all(before);
        assert.equal(
          (await holders.findApiKey(digestCredential(held.apiKey)))?.accountId,
          accountId,
        );
      }
    });

    test("the database contains only the hash and the prefix of a key", async () => {
      const accountId = await newAccount(a);
      const { apiKey, prefix } = (await addApiKey(a.db, accountId, wholeKey, actor))!;
      assert.equal(prefix, apiKey.slice(0, 15));
      const rows = await a.db.selectFrom("api_keys").selectAll().execute();
      const audit = await a.db.selectFrom("audit").selectAll().execute();
      assert.ok(!JSON.stringify([rows, audit]).includes(apiKey.slice(15, 40)));
    });
  });
}
