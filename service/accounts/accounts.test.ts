// Tests accounts on SQLite and PostgreSQL.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { hourMs } from "../flow/days.ts";
import { openStore } from "../roles/open-store.ts";
import type { Store } from "../store/store.ts";
import { startPostgres, type TestPostgres, waitForLocks } from "../testing/postgres.ts";
import { createAccount } from "./account.ts";
import { accountCommands } from "./admin.ts";
import { addApiKey, rotateApiKey, wholeKey } from "./api-keys.ts";
import { appendAudit } from "./audit.ts";
import { digestCredential, newApiKey, openHolders } from "./credentials.ts";
import { addOrigin, listOrigins, removeOrigin, setOrigins } from "./origins/origin-list.ts";
import { ensureSecret } from "./secret.ts";
import { countUsage, listUsage } from "./usage.ts";

let postgres: TestPostgres;
const directory = mkdtempSync(join(tmpdir(), "accounts-"));
before(async () => {
  postgres = await startPostgres();
});
after(async () => {
  await postgres.stop();
  rmSync(directory, { recursive: true });
});

const atMs = 500_000 * hourMs + 1234;
const actor = { atMs };
const noFault = (error: unknown) => assert.fail(String(error));
let emails = 0;
const newEmail = () => `${emails++}@example.com`;

const databases: Record<string, () => Promise<string | undefined>> = {
  sqlite: async () => undefined,
  postgres: () => postgres.newDatabase(),
};

for (const [name, database] of Object.entries(databases)) {
  describe(`accounts on ${name}`, () => {
    let store: Store;
    before(async () => {
      store = await openStore({ databaseUrl: await database(), dataDirectory: directory });
    });
    after(() => store.close());
    const newAccount = async () => (await createAccount(store.db, newEmail(), actor))!.accountId;

    describe("createAccount", () => {
      test("returns undefined if the email belongs to an account", async () => {
        const email = newEmail();
        assert.ok(await createAccount(store.db, email, actor));
        assert.equal(await createAccount(store.db, email.toUpperCase(), actor), undefined);
      });
    });

    describe("the list of origins", () => {
      const origins = async (accountId: string) =>
        (await listOrigins(store.db, accountId)).map(({ origin }) => origin);

      test("setOrigins changes nothing if it refuses one of the entries", async () => {
        const accountId = await newAccount();
        await setOrigins(store.db, accountId, ["https://a.example"], actor);
        const list = ["https://b.example", "https://*.com", "http://c.example"];
        await assert.rejects(setOrigins(store.db, accountId, list, actor), {
          name: "InvalidError",
          message: /origins\[1\].*origins\[2\]/,
        });
        assert.deepEqual(await origins(accountId), ["https://a.example"]);
      });

      test("addOrigin normalizes origins, and is idempotent like removeOrigin", async () => {
        const accountId = await newAccount();
        for (let i = 0; i < 2; i++) {
          await addOrigin(store.db, accountId, "HTTPS://A.example:443/", actor);
        }
        assert.deepEqual(await origins(accountId), ["https://a.example"]);
        for (let i = 0; i < 2; i++) {
          await removeOrigin(store.db, accountId, "https://a.example", actor);
        }
        assert.deepEqual(await origins(accountId), []);
        const events = await store.db
          .selectFrom("audit")
          .select("event")
          .where("account_id", "=", accountId)
          .execute();
        assert.equal(events.length, 3);
      });
    });

    describe("countUsage", () => {
      test("writes the counts later if a write to the database fails", async () => {
        const accountId = await newAccount();
        const faults: unknown[] = [];
        const usage = countUsage(store.db, (error) => faults.push(error));
        const use = { accountId, kind: "apiKey", digest: digestCredential("x"), atMs } as const;
        usage.count(use, "created");
        await sql`alter table usage rename to usage_away`.execute(store.db);
        await usage.flush();
        assert.equal(faults.length, 1);
        usage.count(use, "created");
        await sql`alter table usage_away rename to usage`.execute(store.db);
        await usage.close();
        const [hour] = await listUsage(store.db, accountId, atMs);
        assert.deepEqual(hour, {
          hourMs: 500_000 * hourMs,
          apiKey: { created: 2, refused: 0 },
          clientId: { created: 0, refused: 0 },
        });
      });

      test("adds the requests of two servers to the same totals", async () => {
        const accountId = await newAccount();
        const { apiKey } = (await addApiKey(store.db, accountId, wholeKey, actor))!;
        const digest = digestCredential(apiKey);
        const [a, b] = [countUsage(store.db, noFault), countUsage(store.db, noFault)];
        const use = { accountId, kind: "apiKey", digest } as const;
        for (let i = 0; i < 10; i++) a.count({ ...use, atMs: atMs + i }, "created");
        for (let i = 0; i < 5; i++) b.count({ ...use, atMs: atMs + hourMs + i }, "refused");
        b.count({ ...use, atMs }, "created");
        await Promise.all([b.close(), a.close()]);
        const hours = await listUsage(store.db, accountId, atMs);
        assert.deepEqual(
          hours.map((hour) => hour.apiKey),
          [
            { created: 11, refused: 0 },
            { created: 0, refused: 5 },
          ],
        );
        const row = await store.db
          .selectFrom("api_keys")
          .select("last_used_at")
          .where("digest", "=", digest)
          .executeTakeFirst();
        assert.equal(row?.last_used_at, atMs + hourMs + 4);
      });

      test("does not count requests with a replaced key as uses of the new key", async () => {
        const accountId = await newAccount();
        const first = (await addApiKey(store.db, accountId, wholeKey, actor))!;
        const usage = countUsage(store.db, noFault);
        const digest = digestCredential(first.apiKey);
        usage.count({ accountId, kind: "apiKey", digest, atMs }, "created");
        usage.seenInBrowser(digest, atMs);
        usage.seenInBrowser(digestCredential(newApiKey()), atMs);
        await rotateApiKey(store.db, accountId, first.prefix, actor);
        await usage.close();
        const row = await store.db
          .selectFrom("api_keys")
          .select(["last_used_at", "seen_in_browser_at"])
          .where("account_id", "=", accountId)
          .executeTakeFirst();
        assert.deepEqual({ ...row }, { last_used_at: null, seen_in_browser_at: null });
      });
    });

    describe("the audit log", () => {
      test("rejects changes and deletions of its rows", async () => {
        await appendAudit(store.db, await newAccount(), "signed_in", actor);
        await assert.rejects(
          store.db.updateTable("audit").set({ ip: "x" }).execute(),
          /append-only/,
        );
        await assert.rejects(store.db.deleteFrom("audit").execute(), /append-only/);
      });
    });

    describe("the session secret", () => {
      test("all processes use the same generated secret", async () => {
        const asked = Array.from({ length: 5 }, () => ensureSecret(store.db));
        const secrets = new Set(await Promise.all(asked));
        assert.equal(secrets.size, 1);
        assert.match([...secrets][0]!, /^[0-9a-f]{64}$/);
      });
    });

    describe("an operator's command", () => {
      // biome-ignore lint/suspicious/noExplicitAny: each command prints different JSON
      const run = (words: string, options = {}, rest: string[] = []): Promise<any> => {
        const command = accountCommands.find((each) => each.words === words)!;
        const publicUrl = "https://pay.example";
        const context = { store, publicUrl, dataDirectory: directory, chainsFile: "" };
        return command.run(context, { options, rest });
      };

      test("fails with a message that names the wrong argument", async () => {
        const account = `acc_${"0".repeat(24)}`;
        const email = "nobody@example.com";
        await assert.rejects(
          run("account create", { email: "x" }),
          /--email: expected an email address, found x$/,
        );
        await run("account create", { email: "taken@example.com" });
        await assert.rejects(
          run("account create", { email: "Taken@example.com" }),
          /an account with the email Taken@example\.com already exists$/,
        );
        await assert.rejects(run("account reset", { email }), /no account has the email nobody/);
        await assert.rejects(
          run("account show"),
          /expected --account ID or --email E, found neither$/,
        );
        await assert.rejects(run("account show", { account }), /no account has the ID acc_0/);
        await assert.rejects(run("key rotate", { account }), /no account has the ID acc_0/);
        await assert.rejects(run("client-id rotate", { account }), /no account has the ID acc_0/);
        await assert.rejects(run("origins set", { account }), /no account has the ID acc_0/);
        const taken = newEmail();
        await run("account create", { email: taken });
        await assert.rejects(run("account create", { email: taken }), /already/);
        const { accountId } = await run("account create", { email: newEmail() });
        const brief = { name: "brief", scopes: wholeKey.scopes, expiresAtMs: 2 };
        const { prefix } = (await addApiKey(store.db, accountId, brief, { atMs: 1 }))!;
        const expired = run("key rotate", { account: accountId, key: prefix });
        await assert.rejects(expired, /the key \w+ has expired or was rotated or revoked/);
      });

      test("`key rotate` names `key create` if the account has no API key", async () => {
        const { accountId: account, apiKey } = await run("account create", { email: newEmail() });
        await run("key revoke", { account, key: apiKey });
        const message = `the account ${account} has no API key: create one with key create`;
        await assert.rejects(run("key rotate", { account }), { message });
      });

      // This test needs PostgreSQL. On SQLite, the commands' transactions run one after the other,
      // so the second command reads the rows that the first command changed.
      const skip = name === "sqlite";
      test("fails if another process makes the same change first", { skip }, async () => {
        for (const [words, said] of [
          ["key create", /^acc_\w+: another key was created simultaneously: try again/],
          ["key rotate", /the key \w+ has expired or was rotated or revoked/],
          ["reference-key rotate", /^acc_\w+: the reference key was rotated simultaneously/],
          ["client-id rotate", /the client ID \w+ was rotated simultaneously/],
        ] as const) {
          const { accountId: account } = await run("account create", { email: newEmail() });
          let isOver = false;
          const { both } = await store.db.transaction().execute(async (transaction) => {
            // Each command first reads its rows, and writes to the audit table last. Therefore, a
            // lock on the audit table pauses both commands after they have read their rows.
            await sql`lock table audit in exclusive mode`.execute(transaction);
            const both = Promise.allSettled([run(words, { account }), run(words, { account })]);
            void both.then(() => {
              isOver = true;
            });
            await waitForLocks(store.db, 2, () => isOver);
            return { both };
          });
          const refused = (await both).filter((end) => end.status === "rejected");
          assert.equal(refused.length, 1, words);
          assert.match(refused[0]!.reason.message, said);
        }
      });

      test("`account list` and `show` find a new account, and `reset` prints a link", async () => {
        const email = newEmail();
        const made = await run("account create", { email });
        const holder = await openHolders(store).findApiKey(digestCredential(made.apiKey));
        assert.equal(holder?.accountId, made.accountId);
        assert.ok(await openHolders(store).findClientId(digestCredential(made.clientId)));
        const listed = await run("account list");
        assert.ok(listed.some((row: { email: string }) => row.email === email));
        const shown = await run("account show", { account: made.accountId });
        assert.deepEqual(await run("account show", { email }), shown);
        assert.equal(shown.apiKeys[0].prefix, made.apiKey.slice(0, 15));
        assert.ok(!JSON.stringify(shown).includes(made.apiKey));
        const { resetUrl } = await run("account reset", { email });
        assert.match(resetUrl, /^https:\/\/pay\.example\/reset#token=[\w-]{32}$/);
      });

      test("`key rotate` and `client-id rotate` end the old credential immediately", async () => {
        const made = await run("account create", { email: newEmail() });
        const options = { account: made.accountId };
        const { apiKey } = await run("key rotate", options);
        const { clientId } = await run("client-id rotate", options);
        assert.equal(await openHolders(store).findApiKey(digestCredential(made.apiKey)), undefined);
        assert.equal(
          await openHolders(store).findClientId(digestCredential(made.clientId)),
          undefined,
        );
        assert.ok(await openHolders(store).findApiKey(digestCredential(apiKey)));
        assert.ok(await openHolders(store).findClientId(digestCredential(clientId)));
      });

      test("`key create`, `key rotate`, and `key revoke` leave other keys unchanged", async () => {
        const { accountId: account, apiKey } = await run("account create", { email: newEmail() });
        const holders = openHolders(store);
        const unplain =
          /^Error: --name: expected at most 64 visible .* between words, found "a\\nb"$/;
        await assert.rejects(run("account name", { account, name: "a\nb" }), unplain);
        for (const [options, scopes, said] of [
          [
            {},
            ["delete"],
            /^Error: SCOPE: .* one of "create"\|"read"\|"webhooks", found "delete"$/,
          ],
          [{ name: "a\nb" }, [], unplain],
          [
            { expires: "2020-01-01T00:00:00Z" },
            [],
            /in the future.*, found 2020-01-01T00:00:00\.000Z/,
          ],
          [{ expires: "soon" }, [], /^Error: --expires: expected a time with Z .*, found "soon"$/],
          // Without a UTC offset, the time would depend on the time zone of the operator's machine.
          [{ expires: "2099-01-01T00:00:00" }, [], /^Error: --expires: expected a time with Z/],
        ] as const)
          await assert.rejects(run("key create", { account, ...options }, [...scopes]), said);
        const expires = "2099-01-01T00:00:00Z";
        const made = await run("key create", { account, name: "reports", expires }, ["read"]);
        const found = await holders.findApiKey(digestCredential(made.apiKey));
        assert.deepEqual([found?.scopes, found?.expiresAtMs], [["read"], Date.parse(expires)]);
        await assert.rejects(
          run("key rotate", { account }),
          /--key: expected a key that begins with svc_sk_.* or svc_sk_.*, found no --key$/,
        );
        const rotated = await run("key rotate", { account, key: made.prefix });
        assert.deepEqual((await holders.findApiKey(digestCredential(rotated.apiKey)))?.scopes, [
          "read",
        ]);
        await run("key revoke", { account, key: rotated.apiKey });
        assert.equal(await holders.findApiKey(digestCredential(rotated.apiKey)), undefined);
        assert.ok(await holders.findApiKey(digestCredential(apiKey)));
        assert.equal((await run("client-id bind", { account })).bound, true);
        assert.equal((await run("account show", { account })).clientIdBound, true);
        assert.equal((await run("account show", { account })).clientIdMayName, true);
        assert.equal((await run("client-id refuse-references", { account })).mayName, false);
        assert.equal((await run("account show", { account })).clientIdMayName, false);
        assert.equal((await run("client-id allow-references", { account })).mayName, true);
      });

      test("`origins set` replaces the origins, or names the entry that it refuses", async () => {
        const { accountId: account } = await run("account create", { email: newEmail() });
        const list = ["https://b.example/", "https://a.example"];
        assert.deepEqual(await run("origins set", { account }, list), {
          origins: ["https://a.example", "https://b.example"],
        });
        await assert.rejects(
          run("origins set", { account }, ["https://c.example", "http://d.example"]),
          /nothing was changed: http:\/\/d\.example: use https/,
        );
        const shown = await run("account show", { account });
        assert.deepEqual(shown.origins, ["https://a.example", "https://b.example"]);
        assert.deepEqual(await run("origins set", { account }, []), { origins: [] });
      });
    });
  });
}
