// The SDK against a server of node:http that speaks the spec, and then against one that lies.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, test } from "node:test";
import { factoryAddress, makeRecord } from "../index.ts";
import { sample, shop } from "../test/samples.ts";
import { createClient, InvalidError, ServiceError, UnprovenError } from "./client.ts";

type Answer = { status?: number; headers?: Record<string, string>; body: unknown };
type Seen = { method: string; url: string; headers: IncomingMessage["headers"]; body: string };

let server: Server;
let baseUrl: string;
let seen: Seen[] = [];
let answers: ((request: Seen) => Answer | undefined)[] = [];

const refusal = (status: number, code: string, headers = {}): Answer => ({
  status,
  headers,
  body: { error: { code, message: "why", issues: [{ path: ["token"], code: "x", message: "y" }] } },
});

/** What an honest service answers. */
function honest({ method, url, body }: Seen): Answer {
  const record = makeRecord(sample);
  if (method === "POST" && url === "/v1/address/create")
    return { body: makeRecord(JSON.parse(body)) };
  if (url === `/v1/address/${record.address}`) return { body: record };
  if (url === `/v1/address/${record.address}/status`)
    return { body: { address: record.address, state: "funded" } };
  if (url === `/v1/address/${record.address}/simulation`)
    return { body: { address: record.address, outcome: "succeeds", changes: [] } };
  if (url === "/v1/chains") return { body: { factory: factoryAddress, chains: [] } };
  return refusal(404, "not_found");
}

before(async () => {
  server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body };
    seen.push(one);
    const answer = answers.shift()?.(one) ?? honest(one);
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
after(() => server.close());
beforeEach(() => {
  seen = [];
  answers = [];
});

const record = makeRecord(sample);
const once = (answer: Answer) => answers.push(() => answer);
const isService = (status: number, code: string) => (error: unknown) =>
  error instanceof ServiceError && error.status === status && error.code === code;

describe("createClient refuses", () => {
  test("both credentials, and a base URL that is none", () => {
    const both = { baseUrl, apiKey: "svc_sk_x", clientId: "svc_client_x" };
    assert.throws(() => createClient(both), TypeError);
    for (const url of [
      "",
      "pay.example",
      "ftp://pay.example",
      "https://u:p@x/v1",
      "https://x/?a=1",
    ])
      assert.throws(() => createClient({ baseUrl: url }), TypeError);
  });

  test("an API key in a page", () => {
    Object.assign(globalThis, { document: {} });
    try {
      assert.throws(() => createClient({ baseUrl, apiKey: "svc_sk_x" }), TypeError);
      assert.doesNotThrow(() => createClient({ baseUrl, clientId: "svc_client_x" }));
    } finally {
      Reflect.deleteProperty(globalThis, "document");
    }
  });
});

describe("create", () => {
  test("InvalidError before anything is sent, for an intent at fault", async () => {
    const client = createClient({ baseUrl, apiKey: "svc_sk_x" });
    await assert.rejects(client.create({ ...sample, amount: "0" }), InvalidError);
    assert.equal(seen.length, 0);
  });

  test("ServiceError with code and issues, for a refusal", async () => {
    const client = createClient({ baseUrl });
    once(refusal(401, "unauthorized"));
    const error = await client.create(sample).catch((error) => error);
    assert.ok(isService(401, "unauthorized")(error));
    assert.deepEqual(error.issues, [{ path: ["token"], code: "x", message: "y" }]);
  });

  test("UnprovenError for another intent's true record", async () => {
    const client = createClient({ baseUrl, apiKey: "svc_sk_x" });
    once({ body: makeRecord({ ...sample, recovery: shop }) });
    await assert.rejects(client.create(sample), UnprovenError);
  });

  test("sends the intent with one credential, and gives its record", async () => {
    const byKey = createClient({ baseUrl, apiKey: "svc_sk_x" });
    assert.deepEqual(await byKey.create(sample), record);
    const byId = createClient({ baseUrl: `${baseUrl}/`, clientId: "svc_client_x" });
    assert.deepEqual(await byId.create(sample), record);
    const [first, second] = seen;
    assert.deepEqual(JSON.parse(first!.body), sample);
    assert.equal(first?.headers.authorization, "Bearer svc_sk_x");
    assert.equal(first?.headers["x-client-id"], undefined);
    assert.equal(second?.headers["x-client-id"], "svc_client_x");
    assert.equal(second?.headers.authorization, undefined);
  });

  test("draws a salt where there is none, the same for every attempt", async () => {
    const { salt, ...rest } = sample;
    const client = createClient({ baseUrl, apiKey: "svc_sk_x" });
    once(refusal(429, "rate_limited", { "Retry-After": "0" }));
    const made = await client.create(rest);
    const sent = seen.map(({ body }) => JSON.parse(body).salt);
    assert.deepEqual(sent, [made.intent.salt, made.intent.salt]);
    assert.notEqual((await client.create(rest)).address, made.address);
  });
});

describe("lookup", () => {
  const client = () => createClient({ baseUrl });

  test("UnprovenError for a record that does not recompute, or is of another address", async () => {
    const forged = { ...record, intent: { ...sample, recovery: shop } };
    const other = makeRecord({ ...sample, recovery: shop });
    const theirs = makeRecord(sample, { factory: shop });
    for (const body of [forged, other, theirs, {}, null, [], { ...record, terms: "0x" }]) {
      once({ body });
      await assert.rejects(client().lookup(record.address), UnprovenError);
    }
  });

  test("InvalidError for what is no address, with nothing sent", async () => {
    await assert.rejects(client().lookup("0x12"), InvalidError);
    assert.equal(seen.length, 0);
  });

  test("ServiceError unexpected_answer for no JSON, too much of it or a redirect", async () => {
    once({ body: "<html>" });
    await assert.rejects(client().lookup(record.address), isService(200, "unexpected_answer"));
    once({ body: `"${"x".repeat(5 * 1024 * 1024)}"` });
    await assert.rejects(client().lookup(record.address), isService(200, "unexpected_answer"));
    once({ status: 502, body: "bad gateway" });
    await assert.rejects(client().lookup(record.address), isService(502, "unexpected_answer"));
    once({ status: 302, headers: { Location: "/v1/chains" }, body: "" });
    await assert.rejects(client().lookup(record.address));
  });

  test("undefined where the service has no intent", async () => {
    assert.equal(await client().lookup(shop), undefined);
  });

  test("gives the record, for any letter case", async () => {
    const lower = record.address.toLowerCase() as typeof record.address;
    assert.deepEqual(await client().lookup(lower), record);
  });
});

describe("chains, status and simulation", () => {
  test("UnprovenError for another factory's list, or another address's status or run", async () => {
    const client = createClient({ baseUrl });
    for (const body of [{ factory: shop, chains: [] }, { chains: [] }, null]) {
      once({ body });
      await assert.rejects(client.chains(), UnprovenError);
    }
    once({ body: { address: shop, state: "funded" } });
    await assert.rejects(client.status(record.address), UnprovenError);
    for (const body of [{ address: shop, changes: [] }, { address: record.address }, null]) {
      once({ body });
      await assert.rejects(client.simulation(record.address), UnprovenError);
    }
  });

  test("give what the service says", async () => {
    const client = createClient({ baseUrl });
    assert.deepEqual(await client.chains(), { factory: factoryAddress, chains: [] });
    assert.equal((await client.status(record.address))?.state, "funded");
    assert.equal(await client.status(shop), undefined);
    assert.equal((await client.simulation(record.address))?.outcome, "succeeds");
    assert.equal(await client.simulation(shop), undefined);
  });
});

describe("a refusal with Retry-After", () => {
  test("rate_limited is thrown at once when the wait is too long or is not told", async () => {
    const client = createClient({ baseUrl, waitSecondsMax: 5 });
    once(refusal(429, "rate_limited", { "Retry-After": "6" }));
    const error = await client.chains().catch((error) => error);
    assert.equal(error.retryAfterSeconds, 6);
    once(refusal(429, "rate_limited"));
    await assert.rejects(client.chains(), isService(429, "rate_limited"));
    assert.equal(seen.length, 2);
  });

  test("rate_limited is thrown after as many retries as were allowed", async () => {
    const client = createClient({ baseUrl, retriesMax: 2 });
    for (let i = 0; i < 3; i++) once(refusal(429, "rate_limited", { "Retry-After": "0" }));
    await assert.rejects(client.chains(), isService(429, "rate_limited"));
    assert.equal(seen.length, 3);
  });

  test("an abort ends the waiting with the signal's reason", async () => {
    const client = createClient({ baseUrl });
    once(refusal(429, "rate_limited", { "Retry-After": "20" }));
    const signal = AbortSignal.timeout(100);
    await assert.rejects(client.chains({ signal }), { name: "TimeoutError" });
  });

  test("is waited for and tried again, 429 and 503 alike", async () => {
    const client = createClient({ baseUrl });
    once(refusal(429, "rate_limited", { "Retry-After": "1" }));
    once(refusal(503, "service_unavailable", { "Retry-After": "0" }));
    const start = Date.now();
    await client.chains();
    assert.ok(Date.now() - start >= 990);
    assert.equal(seen.length, 3);
  });
});
