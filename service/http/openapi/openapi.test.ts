// spec/openapi.json and the API say the same: routes, answers, error codes.

import assert from "node:assert/strict";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { AddressRecord, Hex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import { type EventType, eventTypes } from "executable-address/webhook";
import type { InjectOptions } from "fastify";
import { findCredentials } from "../../accounts/account.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { headMsMax } from "../../chain/rpc/heads.ts";
import { type Change, writeEventBody } from "../../events/changes.ts";
import { CorruptError, UnavailableError } from "../../store/store.ts";
import { exchange, newIntent, startApp, type TestApp, testChains } from "../../testing/app.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import {
  codesOf,
  document,
  documentedCodes,
  judge,
  judgeAs,
  judgeEvent,
  judgeStatus,
} from "../../testing/openapi.ts";
import { sendTest } from "../../webhooks/deliveries/enqueue.ts";
import { addEndpoint, removeEndpoint } from "../../webhooks/endpoints.ts";
import { bodyBytesMax, buildApp } from "../app.ts";
import { statuses } from "../errors.ts";
import { createMetrics } from "../metrics.ts";

const origin = "https://shop.example.com";
const strange = `0x${"1".repeat(40)}`;
const call = { function: "visit()", args: [] };
const intentPaths = ["/address/create", "/address/check"];
const constant = ["/chains", "/openapi.json"];
const answered = new Set<string>();
let world: World;
let service: TestApp;
let address = strange;
const eventId = `evt_${"0".repeat(32)}`;

before(async () => {
  world = await startWorld(1);
  service = await startApp({ chains: { ...testChains, rpcOf: () => world.chain.rpc } });
});
after(async () => {
  await service.close();
  await world.stop();
});

/** These paths take an API key and read the account's own. */
const owned = ["/addresses", "/events", "/events/{id}", "/address/{address}/mine"];

/** Judges the answer to `request`, which must have `status`. */
async function expect(
  status: number,
  path: string,
  request: InjectOptions & { url?: string },
  to = service,
) {
  const method = { POST: "post", DELETE: "delete" }[request.method as string] ?? "get";
  const response = await to.app.inject({
    url: `/v1${path.replace("{address}", address).replace("{id}", eventId)}`,
    ...request,
  });
  assert.equal(response.statusCode, status, response.body);
  judge(response, path, method as "get");
  answered.add(`${method} ${path} ${status}`);
  return response;
}

/** Judges an answer that is 429. A slow machine needs more requests, as the limit fills again. */
async function refused(path: string, request: InjectOptions & { method: "POST" }) {
  for (let time = 0; time < 50; time++) {
    const many = Array.from({ length: 100 }, () => service.app.inject(request));
    const response = (await Promise.all(many)).find(({ statusCode }) => statusCode === 429);
    if (!response) continue;
    judge(response, path, "post");
    answered.add(`post ${path} 429`);
    return;
  }
  assert.fail(`${path}: nothing was refused of 5,000 requests`);
}

/** A create, or a check, with a key of its own: nobody's limit is in the way. */
async function create(
  status: number,
  more: { headers?: Record<string, string>; payload?: string | Buffer } = {},
  to = service,
  path = "/address/create",
) {
  const { apiKey } = await to.newKey();
  const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
  return expect(
    status,
    path,
    {
      method: "POST",
      headers: { ...headers, ...more.headers },
      payload: more.payload ?? JSON.stringify(newIntent()),
    },
    to,
  );
}

test("every route under /v1 is in the document with its methods, and nothing else is", async () => {
  const mounted = new Set<string>();
  const app = buildApp({ ...service.parts, metrics: createMetrics() });
  app.addHook("onRoute", ({ url }) => {
    if (url.startsWith("/v1")) mounted.add(url.slice(3).replace(/:(\w+)/g, "{$1}"));
  });
  await app.ready();
  assert.deepEqual(mounted, new Set(Object.keys(document.paths)));
  for (const [path, operations] of Object.entries(document.paths)) {
    const response = await app.inject({ method: "OPTIONS", url: `/v1${path}` });
    judgeAs(response, "Preflight");
    const named = (["get", "post", "delete"] as const).filter((method) => operations[method]);
    const own = named.map((method) => method.toUpperCase());
    // What is no address is looked up as one, and refused as such.
    if (intentPaths.includes(path)) own.push("GET");
    if (own.includes("GET")) own.push("HEAD");
    assert.deepEqual(
      String(response.headers.allow).split(", ").sort(),
      [...own, "OPTIONS"].sort(),
      path,
    );
  }
  await app.close();
});

describe("answers are as described, no header and no field besides", () => {
  test("403 and 401 without a credential that may be used here", async () => {
    const { apiKey } = await service.newKey();
    const { clientId } = await newClientId(service);
    const authorization = `Bearer ${apiKey}`;
    const refused: [number, string, Record<string, string>][] = [
      [401, "unauthorized", {}],
      [401, "unauthorized", { authorization: `Bearer svc_sk_${"0".repeat(64)}` }],
      [400, "invalid_request", { authorization, "x-client-id": clientId }],
      [403, "api_key_in_browser", { authorization, origin }],
      [403, "origin_required", { "x-client-id": clientId }],
      [403, "origin_not_allowed", { "x-client-id": clientId, origin: "https://evil.example.com" }],
    ];
    for (const [status, code, headers] of refused) {
      const request = { method: "POST", headers, payload: "{}" } as const;
      for (const path of intentPaths) {
        const response = await expect(status, path, request);
        assert.equal(response.json().error.code, code);
      }
    }
  });

  test("400, 413, 415, 429 and 431 to a create that may not be", async () => {
    const fields = Object.keys(newIntent());
    const wrong = JSON.stringify(Object.fromEntries(fields.map((field) => [field, 0])));
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, "1"]));
    for (const path of intentPaths) {
      const post = (status: number, more: Parameters<typeof create>[1]) =>
        create(status, more, service, path);
      await post(400, { payload: "{" });
      await post(400, { payload: wrong });
      const { apiKey } = await service.newKey();
      await expect(400, path, {
        method: "POST",
        url: `/v1${path}?refrence=order-42`,
        headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
        payload: JSON.stringify(newIntent()),
      });
      await post(413, { payload: Buffer.alloc(bodyBytesMax + 1) });
      await post(415, { headers: { "content-type": "text/plain" } });
      await post(431, { headers: many });
    }
    const { clientId } = await newClientId(service);
    const headers = { "x-client-id": clientId, origin, "content-type": "application/json" };
    const request = { method: "POST", url: "/v1/address/create", headers, payload: "{}" } as const;
    for (const path of intentPaths) {
      await refused(path, { ...request, url: `/v1${path}` });
    }
  });

  test("200 to a create by either credential, and 200, 304 and 404 on look-up", async () => {
    const created = await create(200);
    const { clientId } = await newClientId(service);
    const headers = { "x-client-id": clientId, origin };
    await expect(200, "/address/create", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      payload: JSON.stringify(newIntent()),
    });
    address = created.json().address;
    const { etag } = (await expect(200, "/address/{address}", {})).headers;
    await expect(304, "/address/{address}", { headers: { "if-none-match": String(etag) } });
    await expect(200, "/address/{address}", { method: "HEAD" });
    await expect(200, "/chains", {});
    assert.deepEqual((await expect(200, "/openapi.json", {})).json(), document);
  });

  test("200 to a check, whatever it finds, 503 where the chain is away, and 500", async () => {
    const check = (status: number, to = service) =>
      create(status, { payload: JSON.stringify(intent) }, to, "/address/check");
    const { intent } = await world.newRecord({ token: newIntent().token });
    // The chain's own token stands at another address than the one that is listed.
    await world.client.setCode({
      address: intent.token,
      bytecode: (await world.client.getCode({ address: world.token }))!,
    });
    const { findings } = (await check(200)).json();
    assert.ok(findings.length > 0);
    const cut = await startApp();
    await check(503, cut);
    cut.parts.accounts.limiter.take = () => Promise.reject(new Error("lost"));
    await check(500, cut);
    await cut.close();
  });

  test("200 and every refusal to the account's lists", async () => {
    const { accountId, apiKey } = await service.newKey();
    const authorization = `Bearer ${apiKey}`;
    const payload = JSON.stringify(newIntent());
    const headers = { "content-type": "application/json", authorization };
    const url = "/v1/address/create?reference=order-42";
    const post = { method: "POST", url, headers, payload } as const;
    const created = await expect(200, "/address/create", post);
    await withEvent(accountId);
    const { clientId } = await newClientId(service);
    const other = JSON.stringify(newIntent());
    await expect(409, "/address/create", { method: "POST", url, headers, payload: other });
    address = created.json().address;
    const unmade = `/v1/address/${strange}/mine`;
    await expect(404, "/address/{address}/mine", { url: unmade, headers: { authorization } });
    const unsaid = `/v1/events/evt_${"1".repeat(32)}`;
    await expect(404, "/events/{id}", { url: unsaid, headers: { authorization } });
    for (const path of owned) {
      const isPage = !path.includes("{");
      const answer = (await expect(200, path, { headers: { authorization } })).json();
      if (isPage) assert.equal(answer.items.length, 1);
      const wrong = path.includes("{address}")
        ? "/address/0x12/mine"
        : `${path.replace("{id}", eventId)}?limit=0`;
      await expect(400, path, { url: `/v1${wrong}`, headers: { authorization } });
      await expect(401, path, {});
      await expect(403, path, { headers: { "x-client-id": clientId, origin } });
      const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, "1"]));
      await expect(431, path, { headers: { ...many, authorization } });
    }
    const { accounts } = service.parts;
    const { take } = accounts.limiter;
    const { findApiKey } = accounts.holders;
    for (const path of owned) {
      accounts.limiter.take = () => Promise.reject(new Error("lost"));
      await expect(500, path, { headers: { authorization } });
      accounts.limiter.take = take;
      accounts.holders.findApiKey = () => Promise.reject(new Error("away"));
      await expect(503, path, { headers: { authorization } });
      accounts.holders.findApiKey = findApiKey;
    }
    const verdict = { admitted: false, remaining: 0, resetMs: 2000, retryMs: 20 };
    accounts.limiter.take = async () => verdict;
    for (const path of owned) {
      await expect(429, path, { headers: { authorization } });
    }
    accounts.limiter.take = take;
  });

  test("200 and every refusal to the account's webhook endpoints", async () => {
    const { accountId, apiKey } = await service.newKey();
    const headers = { authorization: `Bearer ${apiKey}` };
    const { clientId } = await newClientId(service);
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, "1"]));
    const json = { ...headers, "content-type": "application/json" };
    const hook = JSON.stringify({ url: "https://shop.example.com/hook" });
    const add = { method: "POST", headers: json, payload: hook } as const;
    const { id } = (await expect(200, "/webhooks", add)).json();
    await expect(400, "/webhooks", add);
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
      expect(status, path, {
        method: method as "GET",
        url: `/v1${path.replace("{id}", of)}`,
        headers: payload === undefined && more === json ? headers : more,
        ...(payload !== undefined && { payload }),
      });
    for (const route of routes) {
      const [method, path, payload] = route;
      const at = `/v1${path.replace("{id}", id)}`;
      const field = JSON.stringify({ ...JSON.parse(payload ?? "{}"), reason: "mended" });
      const refuses = async (request: InjectOptions & { url?: string }) => {
        const { error } = (await expect(400, path, { method, ...request })).json();
        assert.equal(error.issues[0].code, "unrecognized_keys");
      };
      await refuses({ url: `${at}?reason=mended`, headers });
      if (method !== "GET") await refuses({ url: at, headers: json, payload: field });
      if (route[1].includes("{id}")) await ask(route, 404, json, "whe_0");
      await ask(route, 401, {});
      await ask(route, 403, { "x-client-id": clientId, origin });
      await ask(route, 431, { ...many, ...headers });
      if (!route[2]) continue;
      await ask(route, 415, { ...headers, "content-type": "text/plain" });
      const large = { method, url: at, headers: json, payload: Buffer.alloc(bodyBytesMax + 1) };
      await expect(413, path, large);
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
    const verdict = { admitted: false, remaining: 0, resetMs: 2000, retryMs: 20 };
    for (const route of routes) {
      accounts.limiter.take = () => Promise.reject(new Error("lost"));
      await ask(route, 500);
      accounts.limiter.take = async () => verdict;
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

  test("each type of event is in the document's webhooks, by the body that is posted", async () => {
    const { accountId } = await service.newKey();
    assert.deepEqual(Object.keys(document.webhooks), [...eventTypes, "webhook.test"]);
    const [first] = eventTypes;
    for (const type of eventTypes) {
      const body = JSON.parse(await bodyOf(type));
      judgeEvent(type, body);
      assert.equal(body.version, 1);
      assert.equal(body.data.payment !== null, type === "address.payment");
      if (type !== first) assert.throws(() => judgeEvent(first, body), /must be equal to constant/);
    }
    const { db } = service.parts.store;
    const input = { url: "https://a.example", types: [], targets: "public" } as const;
    const { id } = await addEndpoint(db, accountId, input, { atMs: 1 });
    await sendTest(db, id, Date.now());
    const sent = await db
      .selectFrom("webhook_deliveries")
      .select("body")
      .where("endpoint_id", "=", id)
      .executeTakeFirstOrThrow();
    judgeEvent("webhook.test", JSON.parse(sent.body!));
  });

  test("200 to a status through the life of an address, 503 where its chain is away", async () => {
    const record = await held(await world.newRecord());
    const until = async (isThere: (status: AddressStatus) => boolean) => {
      // A reading is shared for as long as the head is taken to be the same.
      for (;;) {
        const status = (await expect(200, "/address/{address}/status", {})).json();
        if (isThere(status)) return;
      }
    };
    await until(({ state }) => state === "unfunded");
    await world.pay(record.address, 100n);
    await until(({ state }) => state === "funded");
    await world.execute(record);
    await world.pay(record.address, 5n);
    await until(({ execution, recoverable }) => execution !== null && recoverable.length > 0);
    await world.recover(record, [world.token]);
    await until(({ recoveries }) => recoveries.length > 0);
    const cut = await startApp();
    await held(await world.newRecord(), cut);
    await expect(503, "/address/{address}/status", {}, cut);
    await cut.close();
  });

  test("200 to a simulation, whatever its outcome, and 503 where its chain is away", async () => {
    const simulated = async () =>
      (await expect(200, "/address/{address}/simulation", {})).json().outcome;
    await held(await world.newRecord());
    assert.equal(await simulated(), "succeeds");
    await held(await world.newRecord({ calls: [{ ...call, target: strange as Hex }] }));
    assert.equal(await simulated(), "fails");
    const done = await held(await world.newRecord());
    await world.pay(done.address, 100n);
    await world.execute(done);
    // A client may ask thirty times at once, and the head is the same for so long.
    while ((await simulated()) !== "impossible") await setTimeout(headMsMax);
    const cut = await startApp();
    await held(await world.newRecord(), cut);
    await expect(503, "/address/{address}/simulation", {}, cut);
    await cut.close();
  });

  test("200 and 304 to a proof, 400 of no block, and 503 where there is none", async () => {
    const { address: its } = await held(await world.newRecord());
    await expect(200, "/address/{address}/proof", {});
    await world.pay(its, 100n);
    const at = (block: unknown) => ({ url: `/v1/address/${its}/proof?block=${block}` });
    const last = at((await world.client.getBlock()).number);
    const { etag } = (await expect(200, "/address/{address}/proof", last)).headers;
    const headers = { "if-none-match": String(etag) };
    await expect(304, "/address/{address}/proof", { ...last, headers });
    const refused = (await expect(400, "/address/{address}/proof", at("safe"))).json();
    assert.match(refused.error.message, /^block: expected "latest".* found "safe"$/);
    const unknown = { url: `/v1/address/${its}/proof?blok=finalized` };
    const { issues } = (await expect(400, "/address/{address}/proof", unknown)).json().error;
    assert.equal(issues[0].code, "unrecognized_keys");
    await expect(503, "/address/{address}/proof", at(999_999));
  });

  test("200 to a stream of events, the first of which is the present status", async () => {
    await held(await world.newRecord());
    const base = await service.app.listen({ host: "127.0.0.1", port: 0 });
    const response = await fetch(`${base}/v1/address/${address}/events`);
    const headers = Object.fromEntries(response.headers);
    judge({ statusCode: response.status, headers, body: "" }, "/address/{address}/events", "get");
    answered.add("get /address/{address}/events 200");
    let text = "";
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes("event: status") && text.endsWith("\n\n")) break;
    }
    judgeStatus(JSON.parse(/^data: (.*)$/m.exec(text)![1]!));
  });

  test("400, 404 and 431 of whatever is asked about an address", async () => {
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`x-${i}`, "1"]));
    for (const path of Object.keys(document.paths)) {
      if (!path.includes("{address}") || owned.includes(path)) continue;
      await expect(400, path, { url: `/v1${path.replace("{address}", "0x12")}` });
      await expect(404, path, { url: `/v1${path.replace("{address}", strange)}` });
      await expect(431, path, { headers: many });
    }
    for (const path of constant) await expect(431, path, { headers: many });
  });

  test("500 where a record is not what it was, 503 where the store does not answer", async () => {
    const failing = await startApp();
    const { store } = failing.parts;
    const paths = Object.keys(document.paths).filter(
      (path) => path.includes("{address}") && !owned.includes(path),
    );
    store.findTerms = async () => new Uint8Array(32);
    store.findRecord = () => Promise.reject(new CorruptError("not served"));
    store.saveRecord = () => Promise.reject(new Error("a fault"));
    for (const path of paths) await expect(500, path, {}, failing);
    await create(500, {}, failing);
    store.findTerms = () => Promise.reject(new UnavailableError("away"));
    store.findRecord = store.findTerms as never;
    store.saveRecord = store.findTerms as never;
    for (const path of paths) await expect(503, path, {}, failing);
    await create(503, {}, failing);
    await failing.close();
  });

  test("404 of an unknown path, 405 with what the path takes", async () => {
    judgeAs(await service.app.inject({ url: "/v1/nothing" }), "UnknownPath");
    judgeAs(await service.app.inject({ method: "PUT", url: "/v1/chains" }), "MethodNotAllowed");
  });

  test("400, 417 and 431 of what never becomes a request", async () => {
    const long = `GET /v1/chains HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(20_000)}\r\n\r\n`;
    const expecting = "GET /v1/chains HTTP/1.1\r\nHost: a\r\nExpect: more\r\n\r\n";
    judgeAs(await raw(service, "NONSENSE\r\n\r\n"), "NotHttp");
    judgeAs(await raw(service, long), "HeadersOverflow");
    judgeAs(await raw(service, expecting), "ExpectationFailed");
  });

  test("each status that the document gives an operation was seen above", () => {
    // What is in memory does not fail.
    for (const path of constant) answered.add(`get ${path} 500`);
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const method of ["get", "post", "delete"] as const) {
        for (const status of Object.keys(operations[method]?.responses ?? {})) {
          assert.ok(answered.has(`${method} ${path} ${status}`), `${method} ${path} ${status}`);
        }
      }
    }
  });
});

test("every error code of the API is in the document, with the status the table gives it", () => {
  const dashboardOnly = new Set(
    `invalid_email invalid_password password_too_short password_too_long password_guessable
    invalid_token invalid_email_or_password signup_closed user_already_exists`.split(/\s+/),
  );
  const unowned = {
    UnknownPath: 404,
    MethodNotAllowed: 405,
    RequestTimeout: 408,
    ExpectationFailed: 417,
  };
  const found = documentedCodes();
  for (const [name, status] of Object.entries(unowned)) {
    for (const code of codesOf(document["x-responses"][name]!)) found.add(`${status} ${code}`);
  }
  const table = Object.entries(statuses).filter(([code]) => !dashboardOnly.has(code));
  assert.deepEqual([...found].sort(), table.map(([code, status]) => `${status} ${code}`).sort());
});

/** Makes `held` the record that is asked about. */
async function held(record: AddressRecord, { parts }: TestApp = service) {
  const [key, terms] = [record.address, record.terms].map((hex) =>
    Buffer.from(hex.slice(2), "hex"),
  );
  const owner = { accountId: "acc_0123456789abcdef01234567", createdAtMs: Date.now() };
  await parts.store.saveRecord({ address: key!, terms: terms!, ...owner });
  address = record.address;
  return record;
}

/** One event of an account, as the observer keeps it. */
/** The body of an event of a type, about an address that nobody paid. */
async function bodyOf(type: EventType): Promise<string> {
  const { address, intent } = await world.newRecord();
  const block = { number: 1, hash: `0x${"1".repeat(64)}`, timestamp: 1 } as const;
  const status: AddressStatus = {
    ...{ address, state: "funded", chainId: 1, block, token: intent.token, balance: "100" },
    ...{ amount: "100", expirationTimestamp: intent.expirationTimestamp, recoverable: [] },
    ...{ execution: null, recoveries: [] },
  };
  const kept = {
    ...{ transactionHash: block.hash, logIndex: 3, blockNumber: 1, payer: address },
    ...{ blockHash: block.hash, token: intent.token as Hex, amount: "100", isSmall: false },
  };
  const { isSmall: _, ...place } = kept;
  const payment = { ...place, kind: "asked", isLate: false, isLast: false } as const;
  const change: Change = type === "address.payment" ? { type, payment } : { type };
  const named = { reference: null, claimedReference: null, createdBy: "api_key" } as const;
  const of = { named, sequence: 1 };
  const told = { ...of, id: eventId, change, atMs: 1, publicUrl: "https://pay.example" };
  return writeEventBody(told, status, { payments: [kept], isSwept: true, lateBlocks: new Set() });
}

async function withEvent(accountId: string) {
  const body = await bodyOf("address.payment");
  const row = { id: eventId, type: "address.payment", created_at: 1, position: 1, sequence: 1 };
  const key = { account_id: accountId, address: Buffer.alloc(20) };
  await service.parts.store.db
    .insertInto("events")
    .values({ ...row, ...key, body })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function newClientId({ newKey, parts: { store } }: TestApp) {
  const { accountId } = await newKey();
  await addOrigin(store.db, accountId, origin, { atMs: Date.now() });
  const { clientId } = await findCredentials(store.db, accountId);
  return { clientId: clientId.client_id };
}

/** The answer to bytes that no HTTP client would send. */
async function raw({ app }: TestApp, bytes: string) {
  const { port } = app.addresses()[0] as AddressInfo;
  const text = await exchange(port, bytes);
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const [first = "", ...lines] = head.split("\r\n");
  const headers = lines.map((line) => {
    const [name = "", value] = line.split(": ");
    return [name.toLowerCase(), value];
  });
  return { statusCode: Number(first.split(" ")[1]), headers: Object.fromEntries(headers), body };
}
