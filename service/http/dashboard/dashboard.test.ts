import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isLong } from "../../../scripts/long.ts";
import { originsMax } from "../../accounts/origins/origins.ts";
import { newIntent, startApp, type TestApp, token } from "../../testing/app.ts";
import { type Browser, openBrowser } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

const databases: Record<string, () => Promise<string | undefined>> = {
  sqlite: async () => undefined,
  postgres: () => postgres.newDatabase(),
};
const api = "/dashboard/api";
type Page = { items: { address: string }[]; next: string | null };

describe("the dashboard's API while the database is down", () => {
  test("returns 503 `service_unavailable` with `Retry-After`", async () => {
    const service = await startApp({ databaseUrl: await postgres.newDatabase() });
    const browser = openBrowser(service);
    await browser.signUp("ada@example.com");
    await service.parts.store.close();
    for (const answer of [
      await browser.get(`${api}/account`),
      await browser.post(`${api}/origins`, { origin: "https://shop.example" }),
      await openBrowser(service).signUp("eve@example.com"),
      await openBrowser(service).signIn("ada@example.com"),
      await browser.post("/auth/sign-out", {}),
    ]) {
      assert.equal(answer.statusCode, 503, answer.body);
      assert.equal(answer.json().error.code, "service_unavailable");
      assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/);
    }
    await service.app.close();
  });
});

for (const [name, database] of Object.entries(databases)) {
  // On PostgreSQL, these tests run only in `npm run test:long`. In `npm test`, other tests already
  // run the same SQL statements and functions on PostgreSQL.
  const skip = !isLong && name !== "sqlite" && "npm run test:long";
  describe(`the dashboard's API on ${name}`, { skip }, () => {
    let service: TestApp;
    before(async () => {
      service = await startApp({ databaseUrl: (await database()) as string });
    });
    after(() => service.close());

    const signUp = async () => {
      const browser = openBrowser(service);
      await browser.signUp(`${randomBytes(6).toString("hex")}@example.com`);
      return browser;
    };
    const rotate = (browser: Browser, prefix: string) =>
      browser.post(`${api}/credentials/api-key/rotate`, { prefix });
    const newKey = async (browser: Browser, key = {}) =>
      (await browser.post(`${api}/credentials/api-key`, key)).json();
    const create = (headers: Record<string, string>, intent: object = newIntent()) =>
      service.app.inject({ method: "POST", url: "/v1/address/create", headers, payload: intent });
    const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });

    test("shows an account only its own gas per day", async () => {
      const [ada, eve] = [await signUp(), await signUp()];
      const { accountId } = (await ada.get(`${api}/account`)).json();
      const sums = { client_wei: "2", tip_loss_wei: "3", gas_wei: "9", tips_wei: "4" };
      const row = { chain_id: 31_337, ...sums, account_id: accountId };
      await service.parts.store.db
        .insertInto("executor_account_spending")
        .values([
          { ...row, day: 20_000, wei: "7" },
          { ...row, day: 20_001, wei: "1000000000000000000" },
        ])
        .execute();
      const { gasSpent } = (await ada.get(`${api}/account`)).json();
      const more = { gasWei: "9", tipsWei: "4", clientIdWei: "2", failedTipsWei: "3" };
      const rest = { chainId: 31_337, ...more };
      assert.deepEqual(gasSpent, [
        { ...rest, day: "2024-10-05", wei: "1000000000000000000" },
        { ...rest, day: "2024-10-04", wei: "7" },
      ]);
      assert.deepEqual((await eve.get(`${api}/account`)).json().gasSpent, []);
    });

    test("returns 401 without a session, except for `config` and `session`", async () => {
      const { apiKey } = await service.newKey();
      const gets = ["account", "credentials", "origins", "usage", "addresses", "activity"];
      const posts = [
        ...[
          "api-key",
          "api-key/rotate",
          "client-id/rotate",
          "client-id/bound",
          "client-id/may-name",
        ],
        "reference-key/rotate",
      ].map((path) => `credentials/${path}`);
      for (const headers of [{}, bearer(apiKey)]) {
        const stranger = openBrowser(service, headers);
        const answers = [
          ...gets.map((path) => stranger.get(`${api}/${path}`)),
          ...[...posts, "origins", "origins/verdict"].map((p) => stranger.post(`${api}/${p}`, {})),
          stranger.delete(`${api}/origins`, {}),
          stranger.delete(`${api}/credentials/api-key`, {}),
        ];
        for (const answer of await Promise.all(answers)) {
          assert.equal(answer.statusCode, 401);
          assert.equal(answer.json().error.code, "unauthorized");
        }
        const session = await stranger.get(`${api}/session`);
        assert.equal(session.statusCode, 200);
        assert.deepEqual(session.json(), { account: null });
      }
      const ada = await signUp();
      const { gasSpent: _, ...account } = (await ada.get(`${api}/account`)).json();
      assert.deepEqual((await ada.get(`${api}/session`)).json(), { account });
    });

    test("returns 403 for a request from another origin", async () => {
      const { jar } = await signUp();
      for (const origin of ["https://evil.example", "null", "http://127.0.0.1:8080.evil.example"]) {
        const page = openBrowser(service, { origin });
        page.jar.set("eas-session", jar.get("eas-session")!);
        assert.equal((await page.get(`${api}/account`)).statusCode, 200);
        for (const answer of [
          await page.post(`${api}/credentials/api-key`, {}),
          await page.post(`${api}/origins`, { origin: "https://evil.example" }),
          await page.delete(`${api}/origins`, { origin: "https://evil.example" }),
        ]) {
          assert.equal(answer.statusCode, 403);
          const { code, message } = answer.json().error;
          assert.equal(code, "forbidden");
          assert.ok(message.endsWith(`, found "${origin}"`), message);
        }
      }
    });

    test("sends no CORS headers and forbids caching", async () => {
      const browser = await signUp();
      for (const path of ["account", "config", "credentials", "nothing"]) {
        const { headers } = await browser.get(`${api}/${path}`);
        assert.equal(headers["access-control-allow-origin"], undefined);
        if (path !== "nothing") assert.equal(headers["cache-control"], "no-store");
      }
      const preflight = await service.app.inject({ method: "OPTIONS", url: `${api}/account` });
      assert.equal(preflight.headers["access-control-allow-origin"], undefined);
    });

    test("returns 400 with the path of the error", async () => {
      const browser = await signUp();
      const answers = {
        name: await browser.post(`${api}/credentials/api-key`, { name: "a\u200bb" }),
        scopes: await browser.post(`${api}/credentials/api-key`, { scopes: [] }),
        expiresAt: await browser.post(`${api}/credentials/api-key`, {
          expiresAt: "2026-01-01T00:00:00Z",
        }),
        bound: await browser.post(`${api}/credentials/client-id/bound`, {}),
        mayName: await browser.post(`${api}/credentials/client-id/may-name`, {}),
        prefix: await browser.post(`${api}/credentials/api-key/rotate`, {}),
        clientId: await browser.post(`${api}/credentials/client-id/rotate`, { clientId: 7 }),
        hours: await browser.get(`${api}/usage?hours=0`),
        limit: await browser.get(`${api}/addresses?limit=101`),
        address: await browser.get(`${api}/addresses?address=0xzz`),
        token: await browser.get(`${api}/addresses?token=0x12`),
        cursor: await browser.get(`${api}/addresses?cursor=x`),
      };
      for (const [field, answer] of Object.entries(answers)) {
        assert.equal(answer.statusCode, 400, field);
        const { error } = answer.json();
        assert.equal(error.code, "invalid_request");
        assert.deepEqual(error.issues[0].path, [field]);
      }
      const messageOf = (field: "address" | "cursor") => answers[field].json().error.message;
      assert.match(messageOf("address"), /up to 40 hex digits, found "0xzz"$/);
      assert.match(messageOf("cursor"), /value of `next` from an earlier page, found "x"$/);
    });

    test("returns 409 to the rotation of a credential that was already rotated", async () => {
      const browser = await signUp();
      const { prefix } = await newKey(browser);
      const unknown = { prefix: "svc_sk_00000000" };
      for (const answer of [
        await rotate(browser, unknown.prefix),
        await browser.delete(`${api}/credentials/api-key`, unknown),
      ]) {
        assert.equal(answer.statusCode, 409);
        assert.equal(answer.json().error.code, "conflict");
      }
      assert.equal((await rotate(browser, prefix)).statusCode, 200);
      const stale = { clientId: `svc_client_${"0".repeat(32)}` };
      const answer = await browser.post(`${api}/credentials/client-id/rotate`, stale);
      assert.equal(answer.statusCode, 409);
    });

    test("shows a new key only once", async () => {
      const browser = await signUp();
      const made = await newKey(browser);
      assert.match(made.apiKey, /^svc_sk_[0-9a-f]{64}$/);
      assert.equal(made.prefix, made.apiKey.slice(0, 15));
      assert.equal((await create(bearer(made.apiKey))).statusCode, 200);

      const shown = await browser.get(`${api}/credentials`);
      assert.ok(!shown.body.includes(made.apiKey));
      const [apiKey] = shown.json().apiKeys;
      assert.deepEqual(apiKey.scopes, ["create", "read", "webhooks"]);
      assert.equal(apiKey.prefix, made.prefix);
      assert.deepEqual([apiKey.rotatedAt, apiKey.seenInBrowserAt], [null, null]);
      assert.ok(Date.parse(apiKey.createdAt) > Date.now() - 60_000);

      const next = (await rotate(browser, made.prefix)).json();
      assert.equal((await create(bearer(made.apiKey))).statusCode, 401);
      assert.equal((await create(bearer(next.apiKey))).statusCode, 200);
    });

    test("returns 400 `too_many` for an eleventh key", async () => {
      const browser = await signUp();
      const [first, ...more] = await Promise.all(
        Array.from({ length: 10 }, async (_, at) => {
          for (;;) {
            const made = await newKey(browser, { name: `server ${at}` });
            if (made.apiKey) return made;
            assert.equal(made.error.code, "conflict");
          }
        }),
      );
      const [eleventh] = (await newKey(browser)).error.issues;
      assert.equal(eleventh.code, "too_many");
      assert.match(eleventh.message, /at most 10 API keys per account, found 10: revoke/);
      assert.equal((await create(bearer(first.apiKey))).statusCode, 200);
      const revoked = { prefix: first.prefix };
      assert.equal((await browser.delete(`${api}/credentials/api-key`, revoked)).statusCode, 200);
      assert.equal((await create(bearer(first.apiKey))).statusCode, 401);
      assert.equal((await create(bearer(more[0].apiKey))).statusCode, 200);
      const key = { name: "reports", scopes: ["read"], expiresAt: "2099-01-01T00:00:00.000Z" };
      assert.ok((await newKey(browser, key)).apiKey);
      const { apiKeys } = (await browser.get(`${api}/credentials`)).json();
      const { name, scopes, expiresAt } = apiKeys.find(
        (each: { name: string }) => each.name === "reports",
      );
      assert.deepEqual({ name, scopes, expiresAt }, key);
      const { items } = (await browser.get(`${api}/activity`)).json();
      assert.ok(items.some(({ event }: { event: string }) => event === "api_key_revoked"));
    });

    test("creates a client ID that is valid until its rotation", async () => {
      const browser = await signUp();
      await browser.post(`${api}/origins`, { origin: "https://*.shop.example" });
      const { clientId } = (await browser.get(`${api}/credentials`)).json().clientId;
      const from = (id: string, origin: string) => create({ "x-client-id": id, origin });
      assert.equal((await from(clientId, "https://www.shop.example")).statusCode, 200);
      assert.equal((await from(clientId, "https://shop.example")).statusCode, 403);
      const rotated = await browser.post(`${api}/credentials/client-id/rotate`, { clientId });
      assert.equal((await from(clientId, "https://www.shop.example")).statusCode, 401);
      const next = rotated.json().clientId;
      assert.equal((await from(next, "https://www.shop.example")).statusCode, 200);
    });

    test("reports that a key was used in a browser, until the key is rotated", async () => {
      const browser = await signUp();
      const { apiKey, prefix } = await newKey(browser);
      await create({ ...bearer(apiKey), origin: "https://shop.example" });
      await service.parts.accounts.usage.flush();
      const seen = (await browser.get(`${api}/credentials`)).json().apiKeys[0].seenInBrowserAt;
      assert.ok(Date.parse(seen) > Date.now() - 60_000);
      await rotate(browser, prefix);
      const after = (await browser.get(`${api}/credentials`)).json().apiKeys[0];
      assert.equal(after.seenInBrowserAt, null);
      assert.ok(after.rotatedAt);
    });

    test("returns 400 for an invalid origin and for the 21st origin", async () => {
      const browser = await signUp();
      const add = (origin: string) => browser.post(`${api}/origins`, { origin });
      const bad = await add("https://*.github.io");
      assert.equal(bad.statusCode, 400);
      assert.equal(bad.json().error.issues[0].code, "public_suffix");
      for (let i = 0; i < originsMax; i++) {
        assert.equal((await add(`https://shop${i}.example`)).statusCode, 200);
      }
      assert.equal((await add("HTTPS://shop0.example:443/")).statusCode, 200);
      const excess = await add("https://excess.example");
      assert.equal(excess.statusCode, 400);
      assert.equal(excess.json().error.issues[0].code, "too_many");
      const entry = { entry: "https://excess.example" };
      const verdict = (await browser.post(`${api}/origins/verdict`, entry)).json().entry;
      assert.equal(verdict.ok, false);
      assert.match(verdict.message, /^the account already allows 20 of at most 20/);
      const { origins, max } = (await browser.get(`${api}/origins`)).json();
      assert.deepEqual([origins.length, max], [originsMax, originsMax]);
      await browser.delete(`${api}/origins`, { origin: "https://shop0.example" });
      assert.equal((await add("https://excess.example")).statusCode, 200);
    });

    test("accepts only one of two simultaneous requests to add the 20th origin", async () => {
      const browser = await signUp();
      const add = (origin: string) => browser.post(`${api}/origins`, { origin });
      for (let i = 1; i < originsMax; i++) await add(`https://shop${i}.example`);
      const both = await Promise.all(["https://a.example", "https://b.example"].map(add));
      assert.deepEqual(both.map((answer) => answer.statusCode).sort(), [200, 400]);
      const { origins } = (await browser.get(`${api}/origins`)).json();
      assert.equal(origins.length, originsMax);
    });

    test("returns the entry that allows an origin", async () => {
      const browser = await signUp();
      await browser.post(`${api}/origins`, { origin: "https://*.shop.example" });
      const judge = async (body: object) =>
        (await browser.post(`${api}/origins/verdict`, body)).json();
      const { entry } = await judge({ entry: "https://*.Bücher.example/" });
      assert.equal(entry.ok, true);
      assert.equal(entry.canonical, "https://*.xn--bcher-kva.example");
      assert.ok(entry.matches.length > 0 && entry.matchesNot.length > 0);
      const refused = (await judge({ entry: "http://shop.example" })).entry;
      assert.deepEqual([refused.ok, refused.canonical], [false, null]);
      assert.match(refused.message, /https:\/\/shop\.example/);
      const passing = (await judge({ origin: "https://www.shop.example" })).origin;
      assert.deepEqual([passing.ok, passing.allowedBy], [true, "https://*.shop.example"]);
      const failing = (await judge({ origin: "https://shop.example" })).origin;
      assert.deepEqual([failing.ok, failing.allowedBy], [false, null]);
      const { origins } = (await browser.get(`${api}/origins`)).json();
      assert.equal(origins.length, 1);
    });

    test("shows an account only its own addresses, newest first", async () => {
      const [mine, other] = [await signUp(), await signUp()];
      const { apiKey } = await newKey(mine);
      const created: string[] = [];
      for (let i = 0; i < 7; i++) {
        created.unshift((await create(bearer(apiKey))).json().address);
        await sleep(2);
      }
      const listed: string[] = [];
      for (let next: string | null = ""; next !== null; ) {
        const cursor: string = next && `&cursor=${next}`;
        const page: Page = (await mine.get(`${api}/addresses?limit=3${cursor}`)).json();
        assert.ok(page.items.length <= 3);
        listed.push(...page.items.map((item) => item.address));
        next = page.next;
      }
      assert.deepEqual(listed, created);
      assert.deepEqual((await other.get(`${api}/addresses`)).json(), { items: [], next: null });
    });

    test("finds addresses by their first digits and by token", async () => {
      const browser = await signUp();
      const { apiKey } = await newKey(browser);
      const { address, intent } = (await create(bearer(apiKey))).json();
      await create(bearer(apiKey));
      const find = async (query: string) =>
        (await browser.get(`${api}/addresses?${query}`)).json().items;
      for (const text of [address, address.toLowerCase(), address.slice(0, 13)]) {
        const items = await find(`address=${text}`);
        assert.deepEqual(
          items.map((item: { address: string }) => item.address),
          [address],
        );
        assert.deepEqual([items[0].token, items[0].amount], [intent.token, intent.amount]);
      }
      assert.equal((await find(`token=${token.toLowerCase()}`)).length, 2);
      assert.equal((await find(`token=0x${"1".repeat(40)}`)).length, 0);
    });

    test("counts requests per hour and credential", async () => {
      const browser = await signUp();
      const { apiKey } = await newKey(browser);
      await create(bearer(apiKey));
      await create(bearer(apiKey), { nonsense: true });
      const { clientId } = (await browser.get(`${api}/credentials`)).json().clientId;
      await create({ "x-client-id": clientId, origin: "https://shop.example" });
      await service.parts.accounts.usage.flush();
      const { hours } = (await browser.get(`${api}/usage?hours=24`)).json();
      assert.equal(hours.length, 1);
      assert.match(hours[0].hour, /:00:00\.000Z$/);
      assert.deepEqual(hours[0].apiKey, { created: 1, refused: 1 });
      assert.deepEqual(hours[0].clientId, { created: 0, refused: 1 });
    });

    test("lists only the account's own activity, and never shows a whole key", async () => {
      const browser = await signUp();
      const { prefix } = await newKey(browser);
      await rotate(browser, prefix);
      await browser.post(`${api}/origins`, { origin: "https://shop.example" });
      await browser.delete(`${api}/origins`, { origin: "https://shop.example" });
      await browser.post("/auth/sign-out", {});
      const email = `${randomBytes(6).toString("hex")}@example.com`;
      await browser.signUp(email);
      const other = (await browser.get(`${api}/activity`)).json().items;
      assert.deepEqual(
        other.map((item: { event: string }) => item.event),
        ["account_created"],
      );
      const all = await service.parts.store.db
        .selectFrom("audit")
        .select(["event", "ip", "detail"])
        .where("ip", "=", other[0].ip)
        .orderBy("id")
        .execute();
      assert.deepEqual(all.map((row) => row.event).sort(), [
        "account_created",
        "account_created",
        "api_key_created",
        "api_key_rotated",
        "origin_added",
        "origin_removed",
        "signed_out",
      ]);
      assert.ok(all.every((row) => !/svc_sk_.{9,}/.test(row.detail ?? "")));
    });

    test("lists activity in pages of 50 without gaps", async () => {
      const browser = await signUp();
      for (let i = 0; i < 30; i++) {
        await browser.post(`${api}/origins`, { origin: "https://shop.example" });
        await browser.delete(`${api}/origins`, { origin: "https://shop.example" });
      }
      const first = (await browser.get(`${api}/activity`)).json();
      const second = (await browser.get(`${api}/activity?cursor=${first.next}`)).json();
      assert.deepEqual([first.items.length, second.items.length, second.next], [50, 11, null]);
    });

    test("returns the configuration without an RPC URL", async () => {
      const answer = await openBrowser(service).get(`${api}/config`);
      const { signup, publicUrl, apiBase, chains } = answer.json();
      assert.deepEqual([signup, apiBase], ["open", `${publicUrl}/v1`]);
      assert.equal(chains.length, 1);
      assert.ok(!/rpc/i.test(answer.body));
      assert.equal(chains[0].localNode, null);
    });
  });
}
