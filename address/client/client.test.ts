// Tests the client with a server that follows the spec, and then with one that lies.

import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { after, before, beforeEach, describe, type TestContext, test } from "node:test";
import { factoryAddress, makeRecord } from "../index.ts";
import {
  chainListOf,
  checkOf,
  credentials,
  eventPageOf,
  simulationOf,
  statusOf,
} from "../test/answers.ts";
import { sample, shop } from "../test/samples.ts";
import { type Served, serve } from "../test/serve.ts";
import {
  ClientError,
  type ClientOptions,
  createClient,
  type Endpoint,
  InvalidError,
  type ListedAddress,
  NetworkError,
  readRetryAfterSeconds,
  ServiceError,
} from "./client.ts";

type Answer = { status?: number; headers?: Record<string, string>; body: unknown };
type Seen = { method: string; url: string; headers: IncomingMessage["headers"]; body: string };

let server: Served;
let baseUrl: string;
let seen: Seen[] = [];
let answers: ((request: Seen) => Answer | undefined)[] = [];

/** Ends the connection without a response, instead of sending a body. */
const hangUp = Symbol();

const refusal = (status: number, code: string, headers = {}): Answer => ({
  status,
  headers,
  body: { error: { code, message: "why", issues: [{ path: ["token"], code: "x", message: "y" }] } },
});

/** The response of an honest service. */
function honest({ method, url, body }: Seen): Answer {
  const record = makeRecord(sample);
  if (method === "POST" && url === "/v1/address/create")
    return { body: makeRecord(JSON.parse(body)) };
  if (method === "POST" && url === "/v1/address/check")
    return { body: checkOf(makeRecord(JSON.parse(body))) };
  if (url === `/v1/address/${record.address}`) return { body: record };
  if (url === `/v1/address/${record.address}/status`)
    return { body: statusOf(record.address, "funded") };
  if (url === `/v1/address/${record.address}/simulation`)
    return { body: simulationOf(record.address) };
  if (url === "/v1/chains") return { body: chainListOf(factoryAddress) };
  return refusal(404, "not_found");
}

before(async () => {
  server = await serve(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body };
    seen.push(one);
    const answer = answers.shift()?.(one) ?? honest(one);
    if (answer.body === hangUp) return void request.socket.destroy();
    response.writeHead(answer.status ?? 200, answer.headers);
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  baseUrl = `${server.origin}/v1`;
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
  const wrong = (options: object, sentence: string): void => {
    const run = () => createClient({ baseUrl, ...options } as ClientOptions);
    assert.throws(run, (error: Error) => {
      assert.ok(error instanceof TypeError || error instanceof InvalidError, String(error));
      assert.equal(error.message, sentence);
      for (const secret of Object.values(options)) {
        if (typeof secret === "string" && secret.startsWith("svc_"))
          assert.ok(!error.message.includes(secret), "a secret is not repeated");
      }
      return true;
    });
  };

  const lengthOf = (value: unknown) => {
    if (typeof value === "string") return `${value.length} characters`;
    return value === null ? "null" : "a number";
  };

  test("both credentials, and an invalid base URL", () => {
    wrong(credentials, "expected an API key or a client ID, found both");
    for (const url of ["", "pay.example", "ftp://x/v1", "https://u:p@x/v1", "https://x/?a=1", 5])
      wrong(
        { baseUrl: url },
        `baseUrl: expected a URL such as "https://pay.example/v1", found ${lengthOf(url)}`,
      );
    wrong({ mirrors: baseUrl }, "mirrors: expected a list, found a string");
  });

  test("a malformed credential", () => {
    const { apiKey, clientId } = credentials;
    for (const key of ["", "x", apiKey.slice(1), `${apiKey}0`, apiKey.toUpperCase(), clientId, 7])
      wrong(
        { apiKey: key },
        `apiKey: expected svc_sk_ and 64 lowercase hex digits, found ${lengthOf(key)}`,
      );
    for (const id of ["", `${clientId}\n`, clientId.slice(0, -1), apiKey, null])
      wrong(
        { clientId: id },
        `clientId: expected svc_client_ and 32 lowercase hex digits, found ${lengthOf(id)}`,
      );
  });

  test("an API key over HTTP, except to this machine", () => {
    const { apiKey, clientId } = credentials;
    const sentence = "baseUrl: expected https for an API key, found http";
    for (const host of ["pay.example", "10.0.0.1", "127.0.0.1.example", "localhost.example"])
      wrong({ baseUrl: `http://${host}/v1`, apiKey }, sentence);
    for (const url of ["https://pay.example/v1", "http://localhost:1/v1", "http://[::1]:1/v1"])
      assert.doesNotThrow(() => createClient({ baseUrl: url, apiKey }));
    assert.doesNotThrow(() => createClient({ baseUrl: "http://pay.example/v1", clientId }));
  });

  test("invalid counts and times, another factory's text, and invalid functions", () => {
    for (const [value, found] of [
      [Number.NaN, "NaN"],
      [-1, "-1"],
      [1.5, "1.5"],
      [Number.POSITIVE_INFINITY, "Infinity"],
      ["3", "a string"],
      [{}, "an object"],
    ]) {
      const refuses = (name: string, range: string) =>
        wrong({ [name]: value }, `${name}: expected an integer from ${range}, found ${found}`);
      refuses("retriesMax", "0 to 100");
      refuses("waitSecondsMax", "0 to 86400");
      refuses("timeoutMs", "1 to 86400000");
    }
    wrong({ timeoutMs: 0 }, "timeoutMs: expected an integer from 1 to 86400000, found 0");
    wrong({ factory: "0x12" }, 'factory: expected an address: 0x and 40 hex digits, found "0x12"');
    wrong({ keccak: "keccak" }, "keccak: expected a function");
    wrong({ fetch: "fetch" }, "fetch: expected a function, found a string");
  });

  test("an API key in a page", () => {
    Object.assign(globalThis, { document: {} });
    try {
      wrong(
        { apiKey: credentials.apiKey },
        "expected a client ID, because API keys are only for servers",
      );
      assert.doesNotThrow(() => createClient({ baseUrl, clientId: credentials.clientId }));
    } finally {
      Reflect.deleteProperty(globalThis, "document");
    }
  });
});

describe("create", () => {
  test("throws InvalidError before it sends an invalid intent", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    await assert.rejects(client.create({ ...sample, amount: "0" }), InvalidError);
    assert.equal(seen.length, 0);
  });

  test("throws ServiceError with code and issues for a refusal", async () => {
    const client = createClient({ baseUrl });
    once(refusal(401, "unauthorized"));
    const error = await client.create(sample).catch((error) => error);
    assert.ok(isService(401, "unauthorized")(error));
    assert.deepEqual(error.issues, [{ path: ["token"], code: "x", message: "y" }]);
  });

  test("throws UnprovenError for a true record of another intent", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    once({ body: makeRecord({ ...sample, recovery: shop }) });
    const message = `expected a record of ${record.address}, found another record`;
    await assert.rejects(client.create(sample), { name: "UnprovenError", message });
  });

  test("every ClientError contains the intent that was sent, so you can repeat it", async () => {
    const { salt, ...rest } = sample;
    const client = createClient({ baseUrl, apiKey: credentials.apiKey, retriesMax: 0 });
    for (const answer of [refusal(500, "internal_error"), { body: {} }, { body: hangUp }]) {
      once(answer);
      const error = await client.create(rest).catch((error) => error);
      assert.ok(error instanceof ClientError, String(error));
      assert.deepEqual(error.intent, JSON.parse(seen.at(-1)!.body));
      const again = await client.create(error.intent!);
      assert.deepEqual(again, makeRecord(error.intent!));
    }
  });

  test("sends the intent with one credential and returns its record", async () => {
    const byKey = createClient({ baseUrl, apiKey: credentials.apiKey });
    assert.deepEqual(await byKey.create(sample), record);
    const byId = createClient({ baseUrl: `${baseUrl}/`, clientId: credentials.clientId });
    assert.deepEqual(await byId.create(sample), record);
    const [first, second] = seen;
    assert.deepEqual(JSON.parse(first!.body), sample);
    assert.equal(first?.headers.authorization, `Bearer ${credentials.apiKey}`);
    assert.equal(first?.headers["x-client-id"], undefined);
    assert.equal(second?.headers["x-client-id"], credentials.clientId);
    assert.equal(second?.headers.authorization, undefined);
  });

  test("generates a salt if there is none, the same one for every attempt", async () => {
    const { salt, ...rest } = sample;
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    once(refusal(429, "rate_limited", { "Retry-After": "0" }));
    const made = await client.create(rest);
    const sent = seen.map(({ body }) => JSON.parse(body).salt);
    assert.deepEqual(sent, [made.intent.salt, made.intent.salt]);
    assert.notEqual((await client.create(rest)).address, made.address);
  });
});

describe("lookup", () => {
  const client = () => createClient({ baseUrl });

  test("throws UnprovenError for a record that does not match, or of another address", async () => {
    const forged = { ...record, intent: { ...sample, recovery: shop } };
    const other = makeRecord({ ...sample, recovery: shop });
    const theirs = makeRecord(sample, { factory: shop });
    const message = `expected a record of ${record.address}, found another record`;
    for (const body of [forged, other, theirs, {}, null, [], { ...record, terms: "0x" }]) {
      once({ body });
      await assert.rejects(client().lookup(record.address), { name: "UnprovenError", message });
    }
  });

  test("throws InvalidError for an invalid address and sends nothing", async () => {
    await assert.rejects(client().lookup("0x12"), InvalidError);
    assert.equal(seen.length, 0);
  });

  test("throws ServiceError unexpected_answer if the body is too long or not JSON", async () => {
    once({ body: "<html>" });
    await assert.rejects(client().lookup(record.address), isService(200, "unexpected_answer"));
    once({ body: `"${"x".repeat(5 * 1024 * 1024)}"` });
    await assert.rejects(client().lookup(record.address), isService(200, "unexpected_answer"));
  });

  test("throws ServiceError unknown_path for a base URL without /v1", async () => {
    const { origin } = new URL(baseUrl);
    once(refusal(404, "unknown_path"));
    await assert.rejects(
      createClient({ baseUrl: origin }).lookup(shop),
      isService(404, "unknown_path"),
    );
    once({ status: 404, body: "<html>not found</html>" });
    await assert.rejects(client().lookup(shop), {
      message: "unexpected_answer: HTTP 404: unknown response; check that baseUrl ends in /v1",
    });
  });

  test("returns undefined if the service has no intent, and prove throws", async () => {
    assert.equal(await client().lookup(shop), undefined);
    await assert.rejects(client().prove(shop, { rpcs: [baseUrl] }), {
      ...{ name: "UnprovenError", message: `the service has no record of ${shop}` },
    });
  });

  test("returns the record for an address in any letter case", async () => {
    const lower = record.address.toLowerCase() as typeof record.address;
    assert.deepEqual(await client().lookup(lower), record);
  });
});

describe("lists and references", () => {
  const { apiKey } = credentials;

  test("throws ServiceError for a refusal and for a response that is not a page", async () => {
    const client = createClient({ baseUrl, apiKey });
    once(refusal(403, "forbidden"));
    await assert.rejects(client.events(), isService(403, "forbidden"));
    once({ body: { items: 7 } });
    const message = "the response is not a valid page of addresses";
    await assert.rejects(client.addresses(), { name: "UnprovenError", message });
  });

  test("sends the key and the query, and returns the page", async () => {
    const client = createClient({ baseUrl, apiKey });
    once({ body: { items: [], next: null } });
    const query = { reference: "order 42/ä", state: "executed", limit: 5 } as const;
    assert.deepEqual(await client.addresses(query), { items: [], next: null });
    once({ body: { items: [], next: "7", hasMore: false } });
    assert.equal((await client.events({ cursor: "7" })).next, "7");
    const asked = new URL(seen[0]!.url, baseUrl).searchParams;
    assert.deepEqual(Object.fromEntries(asked), { ...query, limit: "5" });
    assert.equal(seen[1]?.url, "/v1/events?cursor=7");
    assert.ok(seen.every(({ headers }) => headers.authorization === `Bearer ${apiKey}`));
  });

  test("returns events of some types and one event, or undefined if there is none", async () => {
    const client = createClient({ baseUrl, apiKey });
    once({ body: { items: [], next: "7", hasMore: false } });
    await client.events({ types: ["address.executed", "address.surplus"] });
    assert.equal(seen[0]?.url, "/v1/events?types=address.executed%2Caddress.surplus");
    const [event] = eventPageOf(record.address).items;
    once({ body: event });
    assert.deepEqual(await client.event("e1"), event);
    assert.equal(seen[1]?.url, "/v1/events/e1");
    once({ body: event });
    await assert.rejects(client.event("e2"), {
      ...{ name: "UnprovenError", message: 'expected event e2, found "e1"' },
    });
    once({ status: 404, body: { error: { code: "not_found", message: "none", issues: [] } } });
    assert.equal(await client.event("e3"), undefined);
  });

  test("throws UnprovenError for another endpoint or another address of the account", async () => {
    const client = createClient({ baseUrl, apiKey });
    const createdAt = "2026-11-01T10:00:00.000Z";
    const endpoint: Endpoint = {
      ...{ id: "we_1", url: `${shop}/hook`, types: [], state: "active", createdAt },
      ...{ reason: null, failingSince: null, oldSecretUntil: null },
    };
    once({ body: endpoint });
    assert.deepEqual(await client.webhooks.get("we_1"), endpoint);
    once({ body: endpoint });
    await assert.rejects(client.webhooks.get("we_2"), {
      ...{ name: "UnprovenError", message: 'expected endpoint we_2, found "we_1"' },
    });
    const { chainId, token, amount, expirationTimestamp } = record.intent;
    const row: ListedAddress = {
      ...{
        address: record.address,
        recordUrl: baseUrl,
        reference: null,
        claimedReference: null,
        createdBy: "api_key",
      },
      ...{ createdAt, chainId, token, amount, expirationTimestamp, state: "unfunded" },
      askedAmount: amount,
      ...{ block: null, transactionHash: null, settledAt: null },
    };
    once({ body: row });
    assert.deepEqual(await client.mine(record.address), row);
    const address = `0x${"3".repeat(40)}`;
    once({ body: { ...row, address } });
    await assert.rejects(client.mine(record.address), {
      ...{ name: "UnprovenError", message: `expected address ${record.address}, found ${address}` },
    });
  });

  test("throws UnprovenError if the service makes the salt and does not return it", async () => {
    const client = createClient({ baseUrl, apiKey });
    const { salt, ...rest } = sample;
    const ofSalt = (seen: unknown) => ({ ...record, intent: { ...rest, salt: seen } });
    for (const [body, found] of [
      ...[null, {}, { ...record, intent: rest }, record.intent].map((each) => [each, "nothing"]),
      [ofSalt(7), "7"],
      [ofSalt([salt]), "an array"],
      [ofSalt("0x12"), '"0x12"'],
      [ofSalt(salt.toUpperCase()), `"${salt.toUpperCase()}"`],
    ]) {
      once({ body });
      await assert.rejects(client.create(rest, { reference: "order-42" }), {
        ...{ name: "UnprovenError", message: `salt: expected 32 bytes of hex, found ${found}` },
      });
    }
    once({ body: record });
    assert.deepEqual(await client.create(rest, { reference: "order-42" }), record);
    assert.deepEqual(JSON.parse(seen.at(-1)!.body), rest);
  });

  test("create sends its reference beside the intent, not in it", async () => {
    const client = createClient({ baseUrl, apiKey });
    once({ body: record });
    await client.create(sample, { reference: "order-42" });
    assert.equal(seen[0]?.url, "/v1/address/create?reference=order-42");
    assert.deepEqual(JSON.parse(seen[0]!.body), sample);
  });
});

describe("check", () => {
  test("throws UnprovenError with the intent for another record or simulation", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    const other = makeRecord({ ...sample, amount: "7" });
    const honest = checkOf(record);
    const { address } = record;
    for (const [body, message] of [
      [checkOf(other), `expected a record of ${address}, found another record`],
      [{ ...honest, simulation: simulationOf(shop) }, `expected address ${address}, found ${shop}`],
      [{ ...honest, findings: [{}] }, "the response is not a valid check"],
      [record, "the response is not a valid check"],
    ] as const) {
      once({ body });
      const refused = { name: "UnprovenError", message, intent: sample };
      await assert.rejects(client.check(sample), refused);
    }
  });

  test("sends the same intent as create, generates the salt, and returns a record", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    const { salt: _, ...rest } = sample;
    const { record: checked, findings } = await client.check(rest);
    assert.match(checked.intent.salt, /^0x[0-9a-f]{64}$/);
    assert.deepEqual(await client.create(checked.intent), checked);
    assert.equal(findings[0]?.code, "allowance_left");
    const [asked, created] = seen.slice(-2);
    assert.deepEqual(
      [asked?.body, asked?.headers.authorization],
      [created?.body, created?.headers.authorization],
    );
  });
});

describe("chains, status, and simulation", () => {
  test("throws UnprovenError for another factory's list, or another address's result", async () => {
    const client = createClient({ baseUrl });
    const list = chainListOf(factoryAddress);
    const lists: [unknown, RegExp][] = [
      [
        { ...list, factory: shop },
        new RegExp(`^expected factory ${factoryAddress}, found "${shop}"$`),
      ],
      [{ chains: [] }, /^expected factory \w+, found nothing$/],
      [null, /^expected factory \w+, found nothing$/],
      [{ chains: [], factory: { toString: 1 } }, /^expected factory \w+, found an object$/],
      [{ ...list, chains: [{}] }, /chain list/],
    ];
    for (const [body, message] of lists) {
      once({ body });
      await assert.rejects(client.chains(), { name: "UnprovenError", message });
    }
    const status = statusOf(record.address, "funded");
    const other = `expected address ${record.address}, found ${shop}`;
    const noStatus = `the response is not a valid status of ${record.address}`;
    for (const [body, message] of [
      [statusOf(shop, "funded"), other],
      [{ ...status, balance: 5 }, noStatus],
      [{ ...status, state: "" }, noStatus],
    ] as const) {
      once({ body });
      await assert.rejects(client.status(record.address), { name: "UnprovenError", message });
    }
    const noSimulation = `the response is not a valid simulation of ${record.address}`;
    for (const [body, message] of [
      [simulationOf(shop), other],
      [{ address: record.address }, noSimulation],
      [null, noSimulation],
    ] as const) {
      once({ body });
      await assert.rejects(client.simulation(record.address), { name: "UnprovenError", message });
    }
  });

  test("return the response of the service", async () => {
    const client = createClient({ baseUrl });
    assert.deepEqual(await client.chains(), chainListOf(factoryAddress));
    assert.equal((await client.status(record.address))?.state, "funded");
    assert.equal(await client.status(shop), undefined);
    assert.equal((await client.simulation(record.address))?.outcome, "succeeds");
    assert.equal(await client.simulation(shop), undefined);
  });
});

/** Waits of `waitMs` are counted in this test, and end immediately. */
function hasten({ mock }: TestContext, waitMs: number) {
  const waits = { count: 0 };
  const { setTimeout: wait } = globalThis;
  const hastened = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    if (ms === waitMs) waits.count++;
    return wait(run, ms === waitMs ? 0 : ms, ...args);
  };
  mock.method(globalThis, "setTimeout", hastened as typeof wait);
  return waits;
}

describe("a refusal with Retry-After", () => {
  test("throws rate_limited immediately if the wait is too long or not specified", async () => {
    const client = createClient({ baseUrl, waitSecondsMax: 5 });
    once(refusal(429, "rate_limited", { "Retry-After": "6" }));
    const error = await client.chains().catch((error) => error);
    assert.equal(error.retryAfterSeconds, 6);
    once(refusal(429, "rate_limited"));
    await assert.rejects(client.chains(), isService(429, "rate_limited"));
    assert.equal(seen.length, 2);
  });

  test("throws rate_limited after the allowed number of retries", async () => {
    const client = createClient({ baseUrl, retriesMax: 2 });
    for (let i = 0; i < 3; i++) once(refusal(429, "rate_limited", { "Retry-After": "0" }));
    await assert.rejects(client.chains(), isService(429, "rate_limited"));
    assert.equal(seen.length, 3);
  });

  test("an abort ends the wait with the signal's reason", async () => {
    const client = createClient({ baseUrl });
    once(refusal(429, "rate_limited", { "Retry-After": "20" }));
    const signal = AbortSignal.timeout(100);
    await assert.rejects(client.chains({ signal }), { name: "TimeoutError" });
  });

  test("waits and retries for 429 and for 503", async (context) => {
    const client = createClient({ baseUrl });
    once(refusal(429, "rate_limited", { "Retry-After": "7" }));
    once(refusal(503, "service_unavailable", { "Retry-After": "0" }));
    const waits = hasten(context, 7000);
    await client.chains();
    assert.equal(waits.count, 1);
    assert.equal(seen.length, 3);
  });

  test("accepts a date, compared with the clock of the response", async () => {
    const client = createClient({ baseUrl, waitSecondsMax: 5 });
    const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000).toUTCString();
    once(refusal(503, "service_unavailable", { Date: at(0), "Retry-After": at(60) }));
    const error = await client.chains().catch((error) => error);
    assert.equal(error.retryAfterSeconds, 60);
    once(refusal(503, "service_unavailable", { Date: at(9), "Retry-After": at(0) }));
    await client.chains();
    assert.equal(seen.length, 3);
  });
});

describe("transient failures", () => {
  test("throws NetworkError unreachable with its cause if nothing listens", async () => {
    const gone = await serve(() => {});
    await gone.close();
    const client = createClient({ baseUrl: `${gone.origin}/v1`, retriesMax: 1 });
    const error = await client.chains().catch((error) => error);
    assert.ok(error instanceof NetworkError);
    assert.equal(error.kind, "unreachable");
    assert.ok(error.cause instanceof Error);
  });

  test("throws NetworkError redirected immediately and resends no credential", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    for (const status of [301, 302, 303, 307, 308]) {
      once({ status, headers: { Location: "/v1/chains" }, body: "" });
      const error = await client.create(sample).catch((error) => error);
      assert.ok(error instanceof NetworkError && error.kind === "redirected", String(error));
    }
    assert.equal(seen.length, 5);
  });

  test("an error contains the X-Request-Id of the response", async () => {
    once(refusal(400, "invalid_request", { "X-Request-Id": "req-7" }));
    const error = await createClient({ baseUrl })
      .chains()
      .catch((error) => error);
    assert.equal(error.requestId, "req-7");
  });

  test("throws the signal's reason if the caller aborts", async () => {
    const reason = new Error("enough");
    const before = AbortSignal.abort(reason);
    await assert.rejects(createClient({ baseUrl }).chains({ signal: before }), reason);
    const controller = new AbortController();
    answers.push(() => {
      controller.abort(reason);
      return { body: hangUp };
    });
    await assert.rejects(createClient({ baseUrl }).chains({ signal: controller.signal }), reason);
  });

  test("retries a broken connection, 502, 503, and 504, also for a create", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey, retriesMax: 4 });
    once({ body: hangUp });
    once({ status: 502, body: "bad gateway" });
    once(refusal(503, "service_unavailable"));
    once({ status: 504, body: "" });
    assert.deepEqual(await client.create(sample), record);
    assert.equal(seen.length, 5);
  });
});

describe("options", () => {
  const { apiKey } = credentials;
  const open = (more: Partial<ClientOptions> = {}) => createClient({ baseUrl, apiKey, ...more });

  test("throws TypeError with the valid names for an unknown option or field", async () => {
    const unknown = (name: string, what: string, known: string) => ({
      name: "TypeError",
      message: `${name}: unknown ${what}, expected one of ${known}`,
    });
    assert.throws(
      () => open({ timeout: 5 } as object),
      unknown(
        ...(["timeout", "option"] as const),
        "baseUrl, mirrors, apiKey, clientId, factory, keccak, fetch, retriesMax, waitSecondsMax, " +
          "timeoutMs, deadlineMs, headers, onRequest, onResponse",
      ),
    );
    const client = open();
    const fields =
      "order, limit, cursor, state, token, chainId, reference, claimedReference, createdBy, " +
      "referenceContains, createdFrom, createdUntil, settledFrom, settledUntil";
    const options = "signal, timeoutMs, deadlineMs, headers, retries";
    const rpcs = [baseUrl];
    for (const [attempt, error] of [
      [() => client.addresses({ stat: "open" } as object), unknown("stat", "field", fields)],
      [
        () => client.events({ type: "x" } as object),
        unknown("type", "field", "cursor, limit, types"),
      ],
      [() => client.chains({ timeout: 5 } as object), unknown("timeout", "option", options)],
      [
        () => client.create(sample, { ref: "x" } as object),
        unknown("ref", "option", `${options}, reference, again, signature`),
      ],
      [
        () => client.webhooks.rotate("w", { retries: 1 } as object),
        unknown("retries", "option", "signal, timeoutMs, deadlineMs, headers"),
      ],
      [
        () => client.prove(record.address, { rpcs, depth: 5 } as { rpcs: string[] }),
        unknown("depth", "option", "rpcs, quorum, confirmations"),
      ],
      [
        () => client.waitFor(record.address, "executed", { timeout: 5 } as object),
        unknown("timeout", "option", "signal, pollMs, timeoutMs, proof"),
      ],
      [
        () => client.watch(record.address, { poll: 5 } as object).next(),
        unknown("poll", "option", "signal, pollMs"),
      ],
    ] as const)
      await assert.rejects(async () => void (await attempt()), error);
    assert.equal(seen.length, 0);
  });

  test("throws TypeError for a header that the client sets, or one with a line break", async () => {
    const message = (name: string) =>
      `headers.${name}: expected printable ASCII, and a name that the client does not set`;
    const refused = {
      Authorization: "secret",
      "content-type": "x",
      "a b": "x",
      Ok: "a\r\nb",
      N: 5,
    };
    for (const [name, value] of Object.entries(refused)) {
      const headers = { [name]: value } as Record<string, string>;
      assert.throws(() => open({ headers }), { name: "TypeError", message: message(name) });
      await assert.rejects(open().chains({ headers }), { message: message(name) });
    }
  });

  test("sends the headers of the client and of the call, and identifies the library", async () => {
    const client = open({ headers: { "X-Shop": "one", Traceparent: "00" } });
    await client.chains({ headers: { "x-shop": "two" } });
    const { headers } = seen[0]!;
    assert.deepEqual([headers["x-shop"], headers.traceparent], ["two", "00"]);
    assert.match(String(headers["user-agent"]), /^executable-address\/\d+\.\d+\.\d+$/);
  });

  test("does not set User-Agent in a browser, where CORS would require a preflight", async () => {
    const before = Object.getOwnPropertyDescriptor(globalThis, "navigator");
    const value = { userAgent: "Mozilla/5.0 (X11; Linux x86_64)" };
    Object.defineProperty(globalThis, "navigator", { value, configurable: true });
    try {
      await createClient({ baseUrl }).chains();
    } finally {
      if (before) Object.defineProperty(globalThis, "navigator", before);
      else Reflect.deleteProperty(globalThis, "navigator");
    }
    assert.doesNotMatch(String(seen[0]?.headers["user-agent"]), /executable-address/);
  });

  test("a call accepts its own retries, timeout, and signal", async () => {
    const client = open({ retriesMax: 3 });
    once(refusal(503, "service_unavailable", { "Retry-After": "0" }));
    await assert.rejects(client.chains({ retries: 0 }), isService(503, "service_unavailable"));
    assert.equal(seen.length, 1);
    const slow = open({ fetch: (_, init) => aborted(init?.signal) });
    await assert.rejects(slow.chains({ retries: 0, timeoutMs: 5 }), {
      message: "no complete response within 5 ms",
    });
    const reason = new Error("enough");
    await assert.rejects(slow.chains({ signal: AbortSignal.abort(reason) }), reason);
  });

  test("throws NetworkError timeout after deadlineMs, including attempts and waits", async () => {
    const slow = open({ fetch: (_, init) => aborted(init?.signal), retriesMax: 100 });
    const message = "no answer within 30 ms";
    const timeout = { name: "NetworkError", kind: "timeout", message };
    await assert.rejects(slow.chains({ deadlineMs: 30 }), timeout);
    await assert.rejects(
      open({
        fetch: (_, init) => aborted(init?.signal),
        mirrors: [baseUrl],
        deadlineMs: 30,
      }).lookup(record.address),
      timeout,
    );
    once(refusal(429, "rate_limited", { "Retry-After": "20" }));
    const limited = open().chains({ deadlineMs: 10_000 });
    await assert.rejects(limited, isService(429, "rate_limited"));
    assert.equal(seen.length, 1, "no wait that would end after the deadline");
  });

  test("withResponse returns the request ID for a success and for a missing record", async () => {
    once({ headers: { "X-Request-Id": "req-1" }, body: chainListOf(factoryAddress) });
    const { data, response } = await open().chains().withResponse();
    assert.equal(data.factory, factoryAddress);
    assert.deepEqual(
      [response.status, response.requestId, response.attempt, response.method],
      [200, "req-1", 1, "GET"],
    );
    once({ ...refusal(404, "not_found"), headers: { "X-Request-Id": "req-2" } });
    const nothing = await open().lookup(shop).withResponse();
    assert.deepEqual([nothing.data, nothing.response.requestId], [undefined, "req-2"]);
    once({ headers: { "X-Request-Id": "req-3" }, body: { items: [] } });
    const deliveries = await open().webhooks.deliveries("w").withResponse();
    assert.deepEqual([deliveries.data, deliveries.response.requestId], [[], "req-3"]);
    once(refusal(403, "forbidden"));
    await assert.rejects(
      open().webhooks.deliveries("w").withResponse(),
      isService(403, "forbidden"),
    );
  });

  test("hooks see every attempt but no credential, and cannot fail a call", async () => {
    const seen: unknown[] = [];
    const client = open({
      onRequest: (request) => {
        seen.push(request);
        throw new Error("of a hook");
      },
      onResponse: ({ status, attempt, elapsedMs }) => {
        assert.ok(elapsedMs >= 0);
        seen.push([status, attempt]);
        throw new Error("of a hook");
      },
    });
    once(refusal(503, "service_unavailable", { "Retry-After": "0" }));
    await client.chains();
    const asked = { method: "GET", url: `${baseUrl}/chains` };
    assert.deepEqual(seen, [
      { ...asked, attempt: 1 },
      [503, 1],
      { ...asked, attempt: 2 },
      [200, 2],
    ]);
    assert.ok(!JSON.stringify(seen).includes(apiKey));
  });

  test("for await reads every page of a list once, one page at a time", async () => {
    const [event] = eventPageOf(record.address).items;
    const page = (at: number) => {
      const items = [{ ...event, id: `e${at}` }];
      return { items, next: String(at + 1), hasMore: at < 3 };
    };
    answers = [1, 2, 3].map((at) => () => ({ body: page(at) }));
    const found: string[] = [];
    for await (const { id } of open().events({ limit: 1 })) {
      found.push(id);
      assert.equal(seen.length, found.length, "the next page is not read early");
    }
    assert.deepEqual(found, ["e1", "e2", "e3"]);
    assert.deepEqual(
      seen.map(({ url }) => url),
      ["", "&cursor=2", "&cursor=3"].map((cursor) => `/v1/events?limit=1${cursor}`),
    );
  });

  test("for await ends at the last page, even if a list always names a next page", async () => {
    const body = (next: string | null) => ({ body: { items: [], next } });
    once(body("9"));
    for await (const _ of open().addresses({ order: "oldest" })) assert.fail("no item");
    once(body(null));
    for await (const _ of open().addresses()) assert.fail("no item");
    once({ body: { items: [], next: "7", hasMore: true } });
    const endless = open().events({ cursor: "7" })[Symbol.asyncIterator]();
    const message = "next: expected another cursor, found the same one";
    await assert.rejects(endless.next(), { name: "UnprovenError", message });
    once({ body: { items: [] } });
    for await (const _ of open().webhooks.deliveries("w")) assert.fail("no item");
  });

  test("accepts a Date and a bigint in a query, and explains the spelling in intents", async () => {
    once({ body: { items: [], next: null } });
    const createdFrom = new Date("2026-01-02T03:04:05Z");
    await open().addresses({ createdFrom, chainId: 8453n });
    assert.equal(
      seen[0]?.url,
      "/v1/addresses?createdFrom=2026-01-02T03%3A04%3A05.000Z&chainId=8453",
    );
    const wrong = {
      amount: 25n,
      expirationTimestamp: new Date(1_900_000_000_500),
      chainId: 1n,
      calls: [{ ...sample.calls[0], args: [sample.calls[0]!.args[0], 5n] }],
    };
    const error = await open()
      .create({ ...sample, ...wrong } as object as typeof sample)
      .catch((error) => error);
    assert.ok(error instanceof InvalidError);
    const said = error.issues.map(({ message }) => message.replace(/.*found/, "found"));
    assert.deepEqual(said.sort(), [
      'found a bigint: write "25"',
      'found a bigint: write "5"',
      "found a bigint: write 1",
      "found an object: write 1900000000",
    ]);
  });
});

/** The result of a `fetch` that gets no response until it is stopped. */
const aborted = (signal: AbortSignal | null | undefined) =>
  new Promise<Response>((_, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });

test("readRetryAfterSeconds returns seconds for a number or a date, else undefined", () => {
  const date = "Mon, 23 Nov 2026 05:00:00 GMT";
  for (const [retryAfter, wanted] of [
    ["", undefined],
    ["soon", undefined],
    ["-5", undefined],
    ["120", 120],
    ["Mon, 23 Nov 2026 05:02:00 GMT", 120],
    ["Mon, 23 Nov 2026 04:00:00 GMT", 0],
  ] as const) {
    assert.equal(readRetryAfterSeconds(retryAfter, date), wanted, retryAfter);
  }
});
