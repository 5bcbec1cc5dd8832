// Tests that responses with an account's lists and webhook endpoints match spec/openapi.json.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { InjectOptions } from "fastify";
import { newIntent, startApp, type TestApp, testChains } from "../../testing/app.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import {
  checkAnswers,
  eventId,
  manyHeaders,
  newClientId,
  origin,
  overLimit,
  strange,
  writeEvent,
} from "../../testing/openapi-answers.ts";
import { removeEndpoint } from "../../webhooks/endpoints.ts";
import { bodyBytesMax } from "../app.ts";

/** The paths that return the account's own data and require an API key. */
const owned = ["/addresses", "/events", "/events/{id}", "/address/{address}/mine"];
let world: World;
let service: TestApp;
let answers: ReturnType<typeof checkAnswers>;

before(async () => {
  world = await startWorld(1);
  service = await startApp({ chains: { ...testChains, rpcOf: () => world.chain.rpc } });
  answers = checkAnswers(service);
});
after(async () => {
  await service.close();
  await world.stop();
});

describe("the responses of an account's routes match spec/openapi.json", () => {
  test("for each status of the routes for the account's addresses and events", async () => {
    const { accountId, apiKey } = await service.newKey();
    const authorization = `Bearer ${apiKey}`;
    const payload = JSON.stringify(newIntent());
    const headers = { "content-type": "application/json", authorization };
    const url = "/v1/address/create?reference=order-42";
    const post = { method: "POST", url, headers, payload } as const;
    const created = await answers.expect(200, "/address/create", post);
    await saveEvent(accountId);
    const clientId = await newClientId(service);
    answers.subject.address = created.json().address;
    const unmade = `/v1/address/${strange}/mine`;
    await answers.expect(404, "/address/{address}/mine", {
      url: unmade,
      headers: { authorization },
    });
    const unsaid = `/v1/events/evt_${"1".repeat(32)}`;
    await answers.expect(404, "/events/{id}", { url: unsaid, headers: { authorization } });
    for (const path of owned) {
      const isPage = !path.includes("{");
      const answer = (await answers.expect(200, path, { headers: { authorization } })).json();
      if (isPage) assert.equal(answer.items.length, 1);
      const wrong = path.includes("{address}")
        ? "/address/0x12/mine"
        : `${path.replace("{id}", eventId)}?limit=0`;
      await answers.expect(400, path, { url: `/v1${wrong}`, headers: { authorization } });
      await answers.expect(401, path, {});
      await answers.expect(403, path, { headers: { "x-client-id": clientId, origin } });
      await answers.expect(431, path, { headers: { ...manyHeaders, authorization } });
    }
    const { accounts } = service.parts;
    const { take } = accounts.limiter;
    const { findApiKey } = accounts.holders;
    for (const path of owned) {
      accounts.limiter.take = () => Promise.reject(new Error("lost"));
      await answers.expect(500, path, { headers: { authorization } });
      accounts.limiter.take = take;
      accounts.holders.findApiKey = () => Promise.reject(new Error("away"));
      await answers.expect(503, path, { headers: { authorization } });
      accounts.holders.findApiKey = findApiKey;
    }
    accounts.limiter.take = async () => overLimit;
    for (const path of owned) {
      await answers.expect(429, path, { headers: { authorization } });
    }
    accounts.limiter.take = take;
  });

  test("for each status of the routes for webhook endpoints", async () => {
    const { accountId, apiKey } = await service.newKey();
    const headers = { authorization: `Bearer ${apiKey}` };
    const clientId = await newClientId(service);
    const json = { ...headers, "content-type": "application/json" };
    const hook = JSON.stringify({ url: "https://shop.example.com/hook" });
    const add = { method: "POST", headers: json, payload: hook } as const;
    const { id } = (await answers.expect(200, "/webhooks", add)).json();
    await answers.expect(400, "/webhooks", add);
    const span = { from: "2026-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z" };
    const one = "/webhooks/{id}";
    const routes = [
      ["GET", "/webhooks"],
      ["POST", "/webhooks", hook],
      ["GET", one],
      ["POST", `${one}/rotate`],
      ["POST", `${one}/replay`, JSON.stringify(span)],
      ["POST", `${one}/test`],
      ["POST", `${one}/pause`],
      ["POST", `${one}/resume`],
      ["GET", `${one}/deliveries`],
      ["DELETE", one],
    ] as const;
    const ask = (
      [method, path, payload]: readonly [string, string, string?],
      status: number,
      more: Record<string, string> = json,
      of: string = id,
    ) =>
      answers.expect(status, path, {
        method: method as "GET",
        url: `/v1${path.replace("{id}", of)}`,
        headers: payload === undefined && more === json ? headers : more,
        ...(payload !== undefined && { payload }),
      });
    for (const route of routes) {
      const [method, path, payload] = route;
      const at = `/v1${path.replace("{id}", id)}`;
      const field = JSON.stringify({ ...JSON.parse(payload ?? "{}"), reason: "repaired" });
      const refuses = async (request: InjectOptions & { url?: string }) => {
        const { error } = (await answers.expect(400, path, { method, ...request })).json();
        assert.equal(error.issues[0].code, "unrecognized_keys");
      };
      await refuses({ url: `${at}?reason=repaired`, headers });
      if (method !== "GET") await refuses({ url: at, headers: json, payload: field });
      if (route[1].includes("{id}")) await ask(route, 404, json, "whe_0");
      await ask(route, 401, {});
      await ask(route, 403, { "x-client-id": clientId, origin });
      await ask(route, 431, { ...manyHeaders, ...headers });
      if (!route[2]) continue;
      await ask(route, 415, { ...headers, "content-type": "text/plain" });
      const large = { method, url: at, headers: json, payload: Buffer.alloc(bodyBytesMax + 1) };
      await answers.expect(413, path, large);
    }
    await ask(["POST", `${one}/replay`, "{}"], 400);
    for (const until of [span.from, "2025-12-31T23:59:59Z"]) {
      const backwards = JSON.stringify({ from: span.from, until });
      const { error } = (await ask(["POST", `${one}/replay`, backwards], 400)).json();
      assert.match(error.message, /until: expected a time after `from`/);
    }
    const { accounts } = service.parts;
    const { take } = accounts.limiter;
    const { findApiKey } = accounts.holders;
    for (const route of routes) {
      accounts.limiter.take = () => Promise.reject(new Error("lost"));
      await ask(route, 500);
      accounts.limiter.take = async () => overLimit;
      await ask(route, 429);
      accounts.limiter.take = take;
      accounts.holders.findApiKey = () => Promise.reject(new Error("away"));
      await ask(route, 503);
      accounts.holders.findApiKey = findApiKey;
    }
    await removeEndpoint(service.parts.store.db, accountId, id, { atMs: Date.now() });
    const made = (await ask(routes[1], 200)).json().id;
    for (const route of routes.slice(2)) await ask(route, 200, json, made);
    await ask(routes[0], 200);
    const paused = (await ask(routes[1], 200)).json().id;
    await ask(["POST", `${one}/pause`], 200, json, paused);
    await ask(["POST", `${one}/test`], 409, json, paused);
  });

  test("in tests that cover every documented status", () => {
    answers.assertAllSeen(["account", "webhooks"]);
  });
});

async function saveEvent(accountId: string) {
  const body = await writeEvent(world, "address.payment");
  const row = { id: eventId, type: "address.payment", created_at: 1, position: 1, sequence: 1 };
  const key = { account_id: accountId, address: Buffer.alloc(20) };
  await service.parts.store.db
    .insertInto("events")
    .values({ ...row, ...key, body })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
