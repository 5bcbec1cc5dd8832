import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import {
  apiKeyPrefix,
  checkSpelling,
  digestCredential,
  type Holders,
  newAccountId,
  newApiKey,
  newClientId,
  openHolders,
} from "./credentials.ts";

describe("credentials", () => {
  const hex = (digits: number) => "0123456789abcdef".repeat(4).slice(0, digits);

  test("checkSpelling returns `malformed` for text in a wrong format", () => {
    const key = newApiKey();
    const texts = [
      "",
      "svc_sk_",
      key.slice(0, -1),
      `${key}0`,
      key.toUpperCase(),
      `svc_sk_${key.slice(7).toUpperCase()}`,
      ` ${key}`,
      `${key}\n`,
      `svc_sk_${hex(63)}g`,
      "svc_client_",
      `svc_client_${hex(31)}`,
      `svc_client_${hex(32)}0`,
      `${newClientId()}\n`,
    ];
    for (const text of texts) {
      assert.equal(checkSpelling("apiKey", text), "malformed", text);
      assert.equal(checkSpelling("clientId", text), "malformed", text);
    }
    assert.equal(checkSpelling("apiKey", newClientId()), "malformed");
    assert.equal(checkSpelling("clientId", newApiKey()), "malformed");
  });

  test("checkSpelling returns `bad_checksum` for a typing error and for an invented key", () => {
    for (const [kind, issued, prefix] of [
      ["apiKey", newApiKey(), "svc_sk_"],
      ["clientId", newClientId(), "svc_client_"],
    ] as const) {
      for (let at = prefix.length; at < issued.length; at++) {
        const other = issued[at] === "0" ? "1" : "0";
        const typo = issued.slice(0, at) + other + issued.slice(at + 1);
        assert.equal(checkSpelling(kind, typo), "bad_checksum", typo);
        const pair = issued.slice(at, at + 2);
        if (pair.length < 2 || pair[0] === pair[1]) continue;
        const swapped = issued.slice(0, at) + pair[1] + pair[0] + issued.slice(at + 2);
        assert.equal(checkSpelling(kind, swapped), "bad_checksum", swapped);
      }
    }
    const madeUp = Array.from(
      { length: 10_000 },
      () => `svc_sk_${randomBytes(32).toString("hex")}`,
    );
    assert.ok(madeUp.every((text) => checkSpelling("apiKey", text) === "bad_checksum"));
  });

  test("newApiKey, newClientId, and newAccountId return a prefix and random hex digits", () => {
    assert.match(newApiKey(), /^svc_sk_[0-9a-f]{64}$/);
    assert.match(newClientId(), /^svc_client_[0-9a-f]{32}$/);
    assert.match(newAccountId(), /^acc_[0-9a-f]{24}$/);
    assert.equal(checkSpelling("apiKey", newApiKey()), "valid");
    assert.equal(checkSpelling("clientId", newClientId()), "valid");
  });

  test("an API key contains 224 random bits, and a client ID contains 96", () => {
    const drawn = 2_000;
    for (const [make, bits] of [
      [newApiKey, 224],
      [newClientId, 96],
    ] as const) {
      const ones = new Array<number>(bits).fill(0);
      for (let i = 0; i < drawn; i++) {
        const digits = /_([0-9a-f]+)[0-9a-f]{8}$/.exec(make())![1]!;
        const binary = BigInt(`0x${digits}`).toString(2).padStart(bits, "0");
        assert.equal(binary.length, bits);
        for (let bit = 0; bit < bits; bit++) ones[bit]! += Number(binary[bit]);
      }
      // For random bits, the standard deviation of each count is 22.4. A difference of 180 is 8
      // standard deviations. Therefore, correct code fails this test in fewer than one of 10^12
      // runs.
      for (const count of ones) assert.ok(Math.abs(count - drawn / 2) < 180, `${count}`);
    }
  });

  test("the last 8 digits of a credential are the CRC-32 of the text before them", () => {
    // The checksums in these credentials were computed with Python's zlib.crc32.
    assert.equal(
      checkSpelling(
        "apiKey",
        "svc_sk_0123456789abcdef0123456789abcdef0123456789abcdef0123002005f1c354",
      ),
      "valid",
    );
    assert.equal(checkSpelling("clientId", "svc_client_0123456789abcdef012345673636ca68"), "valid");
  });

  test("generated credentials and account IDs are unique", () => {
    const made = Array.from({ length: 1000 }, () => [newApiKey(), newClientId(), newAccountId()]);
    assert.equal(new Set(made.flat()).size, 3000);
  });

  test("the prefix of a credential is its first 15 characters", () => {
    assert.equal(apiKeyPrefix(`svc_sk_${hex(64)}`), "svc_sk_01234567");
  });

  test("the digest of a credential is its SHA-256 hash", () => {
    assert.equal(
      digestCredential("abc").toString("hex"),
      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    );
  });
});

let postgres: TestPostgres;
const directory = mkdtempSync(join(tmpdir(), "credentials-"));
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
