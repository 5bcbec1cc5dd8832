// Tests that an API key can do only what its scopes allow. Also tests that expired and revoked keys
// stop working. Also tests that a bound client ID can only create addresses for signed intents.

import assert from "node:assert/strict";
import { get as openStream } from "node:http";
import { after, before, describe, test } from "node:test";
import { type Hex, makeRecord } from "executable-address";
import { signatureFor } from "executable-address/reference";
import { findCredentials } from "../../accounts/account.ts";
import { addApiKey, revokeApiKey, rotateApiKey } from "../../accounts/api-keys.ts";
import { bindClientId } from "../../accounts/client-ids.ts";
import type { Scope } from "../../accounts/credentials.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { rotateReferenceKey } from "../../accounts/reference-keys.ts";
import { listen, newIntent, startApp, type TestApp } from "../../testing/app.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const origin = "https://shop.example.com";
const actor = { atMs: Date.now() };
const strange = `0x${"1".repeat(40)}`;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`API keys with scopes on ${dialect}`, () => {
    let service: TestApp;
    let nowMs = Date.now();
    before(async () => {
      const databaseUrl = dialect === "postgres" ? { databaseUrl: postgres.url } : {};
      service = await startApp({ ...databaseUrl, now: () => nowMs });
    });
    after(() => service.close());

    /** Creates an API key. Returns the key and a function that sends requests with the key. */
    async function keyOf(accountId: string, scopes: Scope[], expiresAtMs: number | null = null) {
      const key = { name: "test", scopes, expiresAtMs };
      const made = (await addApiKey(service.parts.store.db, accountId, key, actor))!;
      const authorization = `Bearer ${made.apiKey}`;
      const ask = (method: "GET" | "POST" | "DELETE", path: string, payload?: object) =>
        service.app.inject({
          ...{ method, url: `/v1${path}`, headers: { authorization } },
          ...(payload && { payload }),
        });
      return { ...made, ask };
    }
    const needed = [
      ["create", "POST", "/address/create", 200],
      ["create", "POST", "/address/check", 503],
      ["read", "GET", "/addresses", 200],
      ["read", "GET", "/events", 200],
      ["read", "GET", "/events/evt_0", 404],
      ["read", "GET", `/address/${strange}/mine`, 404],
      ["webhooks", "GET", "/webhooks", 200],
      ["webhooks", "POST", "/webhooks", 400],
      ["webhooks", "GET", "/webhooks/whe_0", 404],
      ["webhooks", "DELETE", "/webhooks/whe_0", 404],
      ["webhooks", "GET", "/webhooks/whe_0/deliveries", 404],
      ...["rotate", "pause", "resume", "test", "replay"].map(
        (verb) => ["webhooks", "POST", `/webhooks/whe_0/${verb}`, 404] as const,
      ),
    ] as const;

    test("a key gets 403 `scope_required` on every route outside its scopes", async () => {
      const { accountId } = await service.newKey();
      for (const has of ["create", "read", "webhooks"] as const) {
        const { ask } = await keyOf(accountId, [has]);
        for (const [scope, method, path, whenAllowed] of needed) {
          const hasBody = method === "POST" && !path.startsWith("/webhooks/");
          const answer = await ask(method, path, hasBody ? newIntent() : undefined);
          const at = `${has}: ${method} ${path}`;
          if (scope === has) {
            assert.equal(answer.statusCode, whenAllowed, `${at} ${answer.body}`);
            continue;
          }
          const { error } = answer.json();
          assert.deepEqual([answer.statusCode, error.code], [403, "scope_required"], at);
          assert.ok(error.message.includes(`with the scope ${scope}`), error.message);
          assert.equal(answer.headers.ratelimit, undefined, "it spends nothing");
        }
      }
    });

    test("a key is rejected with 401 as soon as it expires", async () => {
      const { accountId } = await service.newKey();
      const expiresAtMs = nowMs + 60_000;
      const { ask, prefix } = await keyOf(accountId, ["read"], expiresAtMs);
      nowMs = expiresAtMs - 1;
      assert.equal((await ask("GET", "/events")).statusCode, 200);
      nowMs = expiresAtMs;
      const answer = await ask("GET", "/events");
      assert.equal(answer.statusCode, 401);
      assert.match(answer.json().error.message, /expired at 20/);
      const { db } = service.parts.store;
      assert.equal(await rotateApiKey(db, accountId, prefix, { atMs: nowMs }), undefined);
    });

    test("a key still works after another key of the account is revoked", async () => {
      const { accountId } = await service.newKey();
      const { db } = service.parts.store;
      const [old, next] = [await keyOf(accountId, ["read"]), await keyOf(accountId, ["read"])];
      for (const { ask } of [old, next])
        assert.equal((await ask("GET", "/events")).statusCode, 200);
      assert.ok(await revokeApiKey(db, accountId, old.prefix, actor));
      assert.equal(await revokeApiKey(db, accountId, old.prefix, actor), false);
      assert.equal((await old.ask("GET", "/events")).statusCode, 401);
      assert.equal((await next.ask("GET", "/events")).statusCode, 200);
      const stranger = (await service.newKey()).accountId;
      assert.equal(await revokeApiKey(db, stranger, next.prefix, actor), false);
      const rotated = (await rotateApiKey(db, accountId, next.prefix, actor))!;
      assert.equal((await next.ask("GET", "/events")).statusCode, 401);
      const held = (await findCredentials(db, accountId)).apiKeys.at(-1);
      assert.deepEqual([held?.prefix, held?.scopes], [rotated.prefix, ["read"]]);
    });

    test("requests with one key do not count against the limit of another key", async () => {
      const { accountId } = await service.newKey();
      const calm = await keyOf(accountId, ["read"]);
      let busy = await keyOf(accountId, ["read"]);
      const { db } = service.parts.store;
      const rotate = async () => {
        const rotated = (await rotateApiKey(db, accountId, busy.prefix, actor))!;
        busy = { ...busy, prefix: rotated.prefix };
        return rotated.apiKey;
      };
      const askWith = (apiKey: string) =>
        service.app.inject({
          url: "/v1/events",
          headers: { authorization: `Bearer ${apiKey}` },
        });
      const readLeft = ({ headers }: Awaited<ReturnType<typeof askWith>>) =>
        Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
      const whole = readLeft(await calm.ask("GET", "/events"));
      // The rate limit refills while the test sends requests. On a slow machine, the limit can
      // refill before the test reads its headers. The test therefore makes several attempts.
      let apiKey = await rotate();
      let rotated = whole;
      for (let flood = 0; flood < 20 && rotated >= whole; flood++) {
        await Promise.all(Array.from({ length: 90 }, () => askWith(apiKey)));
        const spent = readLeft(await askWith(apiKey));
        assert.ok(readLeft(await calm.ask("GET", "/events")) >= whole - 1);
        apiKey = await rotate();
        const answer = await askWith(apiKey);
        assert.match(String(answer.headers["ratelimit-policy"]), /"api-key-read"/);
        if (spent < whole) rotated = readLeft(answer);
      }
      assert.ok(rotated < whole, `${rotated} of ${whole} left after a flood and a rotation`);
    });

    test("an open event stream continues after its key is revoked", async () => {
      const { accountId } = await service.newKey();
      const { ask, prefix, apiKey } = await keyOf(accountId, ["create"]);
      const { address } = (await ask("POST", "/address/create", newIntent())).json();
      const port = await listen(service);
      const headers = { authorization: `Bearer ${apiKey}` };
      const at = { port, host: "127.0.0.1", path: `/v1/address/${address}/events`, headers };
      const stream = await new Promise<import("node:http").IncomingMessage>((resolve) =>
        openStream(at, resolve),
      );
      assert.equal(stream.statusCode, 200);
      await revokeApiKey(service.parts.store.db, accountId, prefix, actor);
      assert.equal((await ask("POST", "/address/create", newIntent())).statusCode, 401);
      assert.ok(!stream.destroyed, "public, as anybody has it");
      stream.destroy();
    });
  });

  describe(`a client ID that accepts only signed intents, on ${dialect}`, () => {
    let service: TestApp;
    before(async () => {
      const databaseUrl =
        dialect === "postgres" ? { databaseUrl: await postgres.newDatabase() } : {};
      service = await startApp(databaseUrl);
    });
    after(() => service.close());

    async function shop() {
      const { db } = service.parts.store;
      const { accountId, apiKey } = await service.newKey();
      await addOrigin(db, accountId, origin, actor);
      const { clientId } = await findCredentials(db, accountId);
      const { referenceKey } = (await rotateReferenceKey(db, accountId, actor))!;
      await bindClientId(db, accountId, true, actor);
      const page = { "x-client-id": clientId.client_id, origin };
      return { accountId, referenceKey, page, server: { authorization: `Bearer ${apiKey}` } };
    }
    const create = async (headers: Record<string, string>, intent: object, query = {}) => {
      const search = new URLSearchParams(query as Record<string, string>);
      const answer = await service.app.inject({
        ...{ method: "POST", url: `/v1/address/create?${search}`, payload: intent },
        headers: { ...headers, "content-type": "application/json" },
      });
      return answer.statusCode === 200 ? "created" : answer.json().error.code;
    };
    const addressOf = (intent: object): Hex => makeRecord(intent as never).address;

    test("a page gets 403 `not_signed` if it changes a signed field", async () => {
      const { page, referenceKey } = await shop();
      const intent = newIntent();
      const signature = signatureFor(addressOf(intent), referenceKey, "order-1");
      const signed = { reference: "order-1", signature };
      const me = "0x00000000000000000000000000000000000000aa";
      const [call] = intent.calls;
      const { salt: _, ...saltless } = intent;
      const attempts: [string, object, object][] = [
        ["an intent to itself, unsigned", { ...intent, recovery: me }, {}],
        ["the signed intent, unsigned", intent, { reference: "order-1" }],
        ["another amount", { ...intent, amount: "1" }, signed],
        ["another payee", { ...intent, calls: [{ ...call, args: [me, "25000000"] }] }, signed],
        ["another recovery", { ...intent, recovery: me }, signed],
        [
          "another expiry",
          { ...intent, expirationTimestamp: intent.expirationTimestamp + 1 },
          signed,
        ],
        ["a salt that the service draws", saltless, signed],
        ["another reference", intent, { reference: "order-9", signature }],
        ["no reference", intent, { signature }],
        [
          "a signature of nobody",
          intent,
          { reference: "order-1", signature: `0x${"0".repeat(64)}` },
        ],
      ];
      for (const [what, body, query] of attempts)
        assert.equal(await create(page, body, query), "not_signed", what);
      const wrong = { ...signed, signature: signature.toUpperCase() };
      assert.equal(await create(page, intent, wrong), "invalid_request");
      assert.equal(await create(page, intent, signed), "created");
      assert.equal(await create(page, intent, signed), "created", "a repeat");
    });

    test("a signature by an old key or another account's key gets 403 `not_signed`", async () => {
      const [mine, other] = [await shop(), await shop()];
      const intent = newIntent();
      const by = (key: string) => ({ signature: signatureFor(addressOf(intent), key) });
      assert.equal(await create(mine.page, intent, by(other.referenceKey)), "not_signed");
      const { db } = service.parts.store;
      const next = (await rotateReferenceKey(db, mine.accountId, actor))!;
      assert.equal(await create(mine.page, intent, by(mine.referenceKey)), "not_signed");
      assert.equal(await create(mine.page, intent, by(next.referenceKey)), "created");
    });

    test("a server needs no signature, but a wrong signature is rejected", async () => {
      const { server, page, accountId, referenceKey } = await shop();
      assert.equal(await create(server, newIntent()), "created");
      const wrong = { signature: signatureFor(addressOf(newIntent()), referenceKey) };
      assert.equal(await create(server, newIntent(), wrong), "not_signed");
      await bindClientId(service.parts.store.db, accountId, false, actor);
      assert.equal(await create(page, newIntent()), "created");
      assert.equal(await create(page, newIntent(), wrong), "not_signed");
    });
  });
}
