// Tests the webhook routes with a dashboard session and with an API key.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { findCredentials } from "../../accounts/account.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { startApp, type TestApp } from "../../testing/app.ts";
import { openBrowser } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const url = "https://shop.example.com/hook";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

/**
 * Creates an account. Returns a client that authenticates with the account's API key instead of a
 * session.
 */
async function openKey(service: TestApp) {
  const { apiKey } = await service.newKey();
  const authorization = `Bearer ${apiKey}`;
  const ask = (method: "GET" | "POST" | "DELETE", path: string, body?: object) =>
    service.app.inject({
      ...{ method, url: path, headers: { authorization } },
      ...(body && { payload: body }),
    });
  return {
    get: (path: string) => ask("GET", path),
    post: (path: string, body: object) => ask("POST", path, body),
    delete: (path: string) => ask("DELETE", path),
  };
}

async function openSession(service: TestApp) {
  const browser = openBrowser(service);
  await browser.signUp(`${Math.random()}@example.com`);
  return { ...browser, delete: (path: string) => browser.delete(path, {}) };
}

const callerOf = {
  "/dashboard/api/webhooks": openSession,
  "/v1/webhooks": openKey,
} as const;

for (const dialect of ["sqlite", "postgres"] as const)
  for (const [api, open] of Object.entries(callerOf)) {
    describe(`${api} on ${dialect}`, () => {
      let service: TestApp;
      before(async () => {
        const more = dialect === "postgres" ? { databaseUrl: await postgres.newDatabase() } : {};
        service = await startApp({ webhookTargets: "public", ...more });
      });
      after(() => service.close());
      const newCaller = () => open(service);

      test("returns 401 without a credential, and 404 to another account", async () => {
        assert.equal((await service.app.inject({ url: api })).statusCode, 401);
        const [mine, other] = [await newCaller(), await newCaller()];
        const { id } = (await mine.post(api, { url })).json();
        for (const path of ["rotate", "test", "pause", "resume", "replay"]) {
          const response = await other.post(`${api}/${id}/${path}`, {});
          assert.equal(response.statusCode, 404);
          assert.equal(
            response.json().error.message,
            `the account has no webhook endpoint "${id}"`,
          );
        }
        for (const path of ["", "/deliveries"])
          assert.equal((await other.get(`${api}/${id}${path}`)).statusCode, 404);
        assert.equal((await other.delete(`${api}/${id}`)).statusCode, 404);
        assert.equal((await mine.get(`${api}/${id}`)).json().url, url);
        assert.deepEqual((await other.get(api)).json().endpoints, []);
      });

      test("returns 400 for a private URL, an unknown type, or an eleventh endpoint", async () => {
        const caller = await newCaller();
        for (const [input, field, expected] of [
          [{ url: "http://shop.example.com/" }, "url", "target_refused"],
          [{ url: "https://169.254.169.254/latest" }, "url", "target_refused"],
          [{ url: "https://localhost/" }, "url", "target_refused"],
          [{ url, types: ["address.paid"] }, "types", "unknown_type"],
        ] as const) {
          const response = await caller.post(api, input);
          assert.equal(response.statusCode, 400);
          const [{ path, code }] = response.json().error.issues;
          assert.deepEqual([path[0], code], [field, expected]);
        }
        const add = (i: number) => caller.post(api, { url: `${url}/${i}` });
        for (let i = 0; i < 10; i++) assert.equal((await add(i)).statusCode, 200);
        const [eleventh] = (await add(10)).json().error.issues;
        assert.equal(eleventh.code, "too_many");
        assert.match(eleventh.message, /at most 10 endpoints per account, found 10: remove/);
      });

      test("returns 400 `url_in_use` with the existing endpoint for a repeated URL", async () => {
        const caller = await newCaller();
        const { id } = (await caller.post(api, { url })).json();
        assert.equal((await caller.post(api, { url: `${url}?shop=2` })).statusCode, 200);
        const again = (await caller.post(api, { url })).json().error.issues[0];
        assert.deepEqual([again.path, again.code], [["url"], "url_in_use"]);
        assert.ok(again.message.startsWith(`endpoint ${id} already has this URL`), again.message);
      });

      test("shows a secret only in the responses to its creation and its rotation", async () => {
        const caller = await newCaller();
        const added = (await caller.post(api, { url, types: ["address.executed"] })).json();
        assert.match(added.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
        const rotated = (await caller.post(`${api}/${added.id}/rotate`, {})).json();
        assert.notEqual(rotated.secret, added.secret);
        const listed = await caller.get(api);
        assert.ok(!listed.body.includes("whsec_"));
        const [endpoint] = listed.json().endpoints;
        assert.deepEqual(
          [endpoint.url, endpoint.types, endpoint.state],
          [url, added.types, "active"],
        );
        assert.ok(endpoint.oldSecretUntil);
        assert.match(listed.json().publicKeys[0].publicKey, /^whpk_/);
      });

      test("pauses, resumes, tests, and removes an endpoint, and replays events", async () => {
        const caller = await newCaller();
        const { id } = (await caller.post(api, { url })).json();
        const paused = await caller.post(`${api}/${id}/pause`, {});
        assert.equal(paused.json().state, "paused");
        const untested = await caller.post(`${api}/${id}/test`, {});
        assert.equal(untested.statusCode, 409);
        assert.match(untested.json().error.message, /^the endpoint is paused: resume it before/);
        const resumed = await caller.post(`${api}/${id}/resume`, {});
        assert.equal(resumed.json().state, "active");
        assert.equal((await caller.post(`${api}/${id}/test`, {})).statusCode, 200);
        assert.equal((await caller.post(`${api}/${id}/test`, {})).statusCode, 429);
        const [delivery] = (await caller.get(`${api}/${id}/deliveries`)).json().items;
        assert.deepEqual(
          [delivery.type, delivery.state, delivery.attempts],
          ["webhook.test", "waiting", []],
        );
        const replayed = await caller.post(`${api}/${id}/replay`, { eventId: "evt_none" });
        assert.deepEqual(replayed.json(), { replayed: 0, next: null });
        assert.equal((await caller.delete(`${api}/${id}`)).statusCode, 200);
        assert.deepEqual((await caller.get(api)).json().endpoints, []);
      });
    });
  }

describe("the webhook routes", () => {
  let service: TestApp;
  before(async () => {
    service = await startApp();
  });
  after(() => service.close());

  test("return 403 in the public API if the request has an `Origin`", async () => {
    const { accountId, apiKey } = await service.newKey();
    const { db } = service.parts.store;
    const origin = "https://shop.example.com";
    await addOrigin(db, accountId, origin, { atMs: Date.now() });
    const { clientId } = await findCredentials(db, accountId);
    const page = { "x-client-id": clientId.client_id, origin };
    const leaked = { authorization: `Bearer ${apiKey}`, origin };
    const routes = [
      ["GET", ""],
      ["POST", ""],
      ["GET", "/whe_0"],
      ["DELETE", "/whe_0"],
      ["GET", "/whe_0/deliveries"],
      ...["rotate", "pause", "resume", "test", "replay"].map((verb) => ["POST", `/whe_0/${verb}`]),
    ] as const;
    for (const [method, path] of routes)
      for (const [headers, code] of [
        [page, "forbidden"],
        [leaked, "api_key_in_browser"],
      ] as const) {
        const asked = { method: method as "GET", url: `/v1/webhooks${path}`, headers };
        const answer = await service.app.inject(asked);
        assert.deepEqual([answer.statusCode, answer.json().error.code], [403, code], path);
      }
  });

  test("return 400 for an `Idempotency-Key`, an unknown field, or a long URL", async () => {
    const { apiKey } = await service.newKey();
    const authorization = `Bearer ${apiKey}`;
    const post = (headers: object, payload: object) =>
      service.app.inject({
        ...{ method: "POST", url: "/v1/webhooks", payload },
        headers: { authorization, ...headers },
      });
    const keyed = await post({ "idempotency-key": "1" }, { url });
    assert.match(keyed.json().error.message, /Idempotency-Key is not supported/);
    assert.equal((await post({}, { url, secret: "mine" })).statusCode, 400);
    assert.equal((await post({}, { url: `${url}/${"x".repeat(500)}` })).statusCode, 400);
  });

  test("return 429 in the public API if an API key exceeds its limit", async () => {
    const { apiKey } = await service.newKey();
    const headers = { authorization: `Bearer ${apiKey}` };
    const ask = (path: string) => service.app.inject({ url: `/v1${path}`, headers });
    const asked = await Promise.all(Array.from({ length: 80 }, () => ask("/webhooks")));
    const refused = asked.find(({ statusCode }) => statusCode === 429);
    assert.match(String(refused?.headers["ratelimit-policy"]), /"api-key-webhooks";q=60/);
    assert.equal((await ask("/events")).statusCode, 200);
  });

  test("record in the audit log which IP address created an endpoint", async () => {
    const { accountId, apiKey } = await service.newKey();
    const headers = { authorization: `Bearer ${apiKey}` };
    const asked = { method: "POST", url: "/v1/webhooks", headers, payload: { url } } as const;
    await service.app.inject({ ...asked, remoteAddress: "203.0.113.7" });
    const { db } = service.parts.store;
    const audit = db.selectFrom("audit").select(["event", "ip", "detail"]);
    const rows = await audit.where("account_id", "=", accountId).execute();
    const added = rows.find(({ event }) => event === "webhook_added");
    assert.deepEqual({ ...added }, { event: "webhook_added", ip: "203.0.113.7", detail: url });
  });

  test("let the dashboard set and reset the number of confirmations", async () => {
    const api = "/dashboard/api/webhooks";
    const caller = await openSession(service);
    const depth = (confirmations: number | null, chainId = 1) =>
      caller.post(`${api}/confirmations`, { chainId, confirmations });
    assert.equal((await depth(101)).statusCode, 400);
    assert.equal((await depth(3, 77)).statusCode, 404);
    await depth(3);
    assert.equal((await caller.get(api)).json().chains[0].chosen, 3);
    await depth(null);
    assert.equal((await caller.get(api)).json().chains[0].chosen, null);
  });
});
