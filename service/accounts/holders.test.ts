import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { type Holders, openHolders } from "./holders.ts";

let postgres: TestPostgres;
const directory = mkdtempSync(join(tmpdir(), "holders-"));
before(async () => {
  postgres = await startPostgres();
});
after(async () => {
  await postgres.stop();
  rmSync(directory, { recursive: true });
});

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`findApiKey and findClientId on ${dialect}`, () => {
    const accountId = "acc_credentials";
    const [digest, next, clientDigest] = [randomBytes(32), randomBytes(32), randomBytes(32)];
    const holder = { accountId, number: 2, scopes: ["create", "read"], expiresAtMs: 7 };
    let store: Store;
    let holders: Holders;
    before(async () => {
      const databaseUrl = dialect === "postgres" ? postgres.url : undefined;
      store = await openStore({ dataDirectory: directory, databaseUrl });
      holders = openHolders(store);
      const created = { account_id: accountId, created_at: 1 };
      const unused = { rotated_at: null, last_used_at: null };
      const key = { number: 2, name: "shop", scopes: "create,read", expires_at: 7 };
      const { db } = store;
      const account = { id: accountId, email: "a@example.com", created_at: 1 };
      await db.insertInto("accounts").values(account).execute();
      await db
        .insertInto("api_keys")
        .values({ ...created, ...unused, ...key, digest, prefix: "svc_sk_0" })
        .execute();
      await db
        .insertInto("client_ids")
        .values({
          ...created,
          ...unused,
          digest: clientDigest,
          client_id: "svc_client_0",
          bound: 1,
        })
        .execute();
    });
    after(() => store.close());

    test("return undefined for an unknown credential", async () => {
      assert.equal(await holders.findApiKey(randomBytes(32)), undefined);
      assert.equal(await holders.findClientId(randomBytes(32)), undefined);
    });

    test("findApiKey finds no client ID, and findClientId finds no API key", async () => {
      assert.deepEqual(await holders.findApiKey(digest), holder);
      assert.deepEqual(await holders.findClientId(clientDigest), {
        accountId,
        isBound: true,
        mayName: true,
        origins: [],
      });
      assert.equal(await holders.findApiKey(clientDigest), undefined);
      assert.equal(await holders.findClientId(digest), undefined);
    });

    test("return the client ID's allowed origins in byte order", async () => {
      const origins = ["https://b.example", "https://a.example", "https://B.example"];
      await store.db
        .insertInto("origins")
        .values(origins.map((origin) => ({ account_id: accountId, origin, created_at: 1 })))
        .execute();
      assert.deepEqual((await holders.findClientId(clientDigest))?.origins, origins.toSorted());
    });

    test("return undefined for a replaced credential", async () => {
      await store.db.updateTable("api_keys").set({ digest: next }).execute();
      assert.equal(await holders.findApiKey(digest), undefined);
      assert.deepEqual(await holders.findApiKey(next), holder);
    });
  });
}
