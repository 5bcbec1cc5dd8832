// Tests the client's requests: retries, time limits, headers, hooks, and pages.

import assert from "node:assert/strict";
import { after, beforeEach, describe, type TestContext, test } from "node:test";
import { factoryAddress, makeRecord } from "../index.ts";
import { chainListOf, credentials, eventPageOf } from "../test/answers.ts";
import { sample, shop } from "../test/samples.ts";
import { hangUp, refusal, startScripted } from "../test/scripted-service.ts";
import { serve } from "../test/serve.ts";
import {
  type ClientOptions,
  createClient,
  InvalidError,
  NetworkError,
  readRetryAfterSeconds,
  ServiceError,
} from "./client.ts";
import { loadCode } from "./request.ts";

const { baseUrl, seen, answers, once, reset, close } = await startScripted();
after(close);
beforeEach(reset);

const record = makeRecord(sample);
const isService = (status: number, code: string) => (error: unknown) =>
  error instanceof ServiceError && error.status === status && error.code === code;

/** During the test, fires timers of exactly `waitMs` milliseconds immediately, and counts them. */
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

describe("a call that the service refuses with 429 or 503", () => {
  test("a call throws immediately if Retry-After is too long or missing", async () => {
    const client = createClient({ baseUrl, waitSecondsMax: 5 });
    once(refusal(429, "rate_limited", { "Retry-After": "6" }));
    const error = await client.chains().catch((error) => error);
    assert.equal(error.retryAfterSeconds, 6);
    once(refusal(429, "rate_limited"));
    await assert.rejects(client.chains(), isService(429, "rate_limited"));
    assert.equal(seen.length, 2);
  });

  test("a call throws if the last retry is refused too", async () => {
    const client = createClient({ baseUrl, retriesMax: 2 });
    for (let i = 0; i < 3; i++) once(refusal(429, "rate_limited", { "Retry-After": "0" }));
    await assert.rejects(client.chains(), isService(429, "rate_limited"));
    assert.equal(seen.length, 3);
  });

  test("an abort ends the wait for a retry", async () => {
    const client = createClient({ baseUrl });
    once(refusal(429, "rate_limited", { "Retry-After": "20" }));
    const signal = AbortSignal.timeout(100);
    await assert.rejects(client.chains({ signal }), { name: "TimeoutError" });
  });

  test("a call is retried after the time in Retry-After", async (context) => {
    const client = createClient({ baseUrl });
    once(refusal(429, "rate_limited", { "Retry-After": "7" }));
    once(refusal(503, "service_unavailable", { "Retry-After": "0" }));
    const waits = hasten(context, 7000);
    await client.chains();
    assert.equal(waits.count, 1);
    assert.equal(seen.length, 3);
  });

  test("a date in `Retry-After` is compared with the response's `Date`", async () => {
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

describe("a call that fails", () => {
  test("a call throws an `unreachable` error if no server is listening", async () => {
    const gone = await serve(() => {});
    await gone.close();
    const client = createClient({ baseUrl: `${gone.origin}/v1`, retriesMax: 1 });
    const error = await client.chains().catch((error) => error);
    assert.ok(error instanceof NetworkError);
    assert.equal(error.kind, "unreachable");
    assert.equal(error.message, "GET /chains: no response arrived from the service");
    assert.ok(error.cause instanceof Error);
  });

  test("a call throws an `interrupted` error if the body ends with an error", async () => {
    const cause = new Error("reset");
    const body = () => new ReadableStream({ start: (stream) => stream.error(cause) });
    const fetch = async () => new Response(body());
    const client = createClient({ baseUrl, fetch, retriesMax: 0 });
    const message = "GET /chains: the response was interrupted";
    await assert.rejects(client.chains(), { kind: "interrupted", message, cause });
  });

  test("a call throws an `unreachable` error if library code cannot be loaded", async () => {
    const cause = new TypeError("Failed to fetch dynamically imported module");
    await assert.rejects(loadCode(Promise.reject(cause)), {
      ...{ name: "NetworkError", kind: "unreachable", cause },
      message: "a part of the library cannot be loaded",
    });
  });

  test("a call throws a `redirected` error instead of following a redirect", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    for (const status of [301, 302, 303, 307, 308]) {
      once({ status, headers: { Location: "/v1/chains" }, body: "" });
      const error = await client.create(sample).catch((error) => error);
      assert.ok(error instanceof NetworkError && error.kind === "redirected", String(error));
      assert.equal(error.message, "POST /address/create: the service redirects this request");
    }
    assert.equal(seen.length, 5);
  });

  test("an error contains the response's request ID", async () => {
    once(refusal(400, "invalid_request", { "X-Request-Id": "req-7" }));
    const error = await createClient({ baseUrl })
      .chains()
      .catch((error) => error);
    assert.equal(error.requestId, "req-7");
  });

  test("a call throws the abort reason if the caller aborts", async () => {
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

  test("`create` is retried after a lost connection or a 502, 503, or 504", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey, retriesMax: 4 });
    once({ body: hangUp });
    once({ status: 502, body: "bad gateway" });
    once(refusal(503, "service_unavailable"));
    once({ status: 504, body: "" });
    assert.deepEqual(await client.create(sample), record);
    assert.equal(seen.length, 5);
  });
});

describe("the options of a client and of its calls", () => {
  const { apiKey } = credentials;
  const open = (more: Partial<ClientOptions> = {}) => createClient({ baseUrl, apiKey, ...more });

  test("an unknown option throws a `TypeError` that lists the valid names", async () => {
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

  test("a reserved or malformed header throws `TypeError`", async () => {
    const message = (name: string) =>
      `headers.${name}: expected a name that the client does not set, and a printable ASCII ` +
      "value, found";
    const refused = {
      Authorization: "secret",
      "content-type": "x",
      "a b": "x",
      Ok: "a\r\nb",
      N: 5,
    };
    for (const [name, value] of Object.entries(refused)) {
      const headers = { [name]: value } as Record<string, string>;
      const found = typeof value === "string" ? `${value.length} characters` : value;
      const refused = { name: "TypeError", message: `${message(name)} ${found}` };
      assert.throws(() => open({ headers }), refused);
      await assert.rejects(open().chains({ headers }), refused);
    }
  });

  test("a call sends the client's headers, except headers that the call replaces", async () => {
    const client = open({ headers: { "X-Shop": "one", Traceparent: "00" } });
    await client.chains({ headers: { "x-shop": "two" } });
    const { headers } = seen[0]!;
    assert.deepEqual([headers["x-shop"], headers.traceparent], ["two", "00"]);
    assert.match(String(headers["user-agent"]), /^executable-address\/\d+\.\d+\.\d+$/);
  });

  test("the client sends no `User-Agent` in a browser", async () => {
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

  test("a call can override `retries`, `timeoutMs`, and `signal`", async () => {
    const client = open({ retriesMax: 3 });
    once(refusal(503, "service_unavailable", { "Retry-After": "0" }));
    await assert.rejects(client.chains({ retries: 0 }), isService(503, "service_unavailable"));
    assert.equal(seen.length, 1);
    const slow = open({ fetch: (_, init) => aborted(init?.signal) });
    await assert.rejects(slow.chains({ retries: 0, timeoutMs: 5 }), {
      message: "GET /chains: no complete response within 5 ms",
    });
    const reason = new Error("enough");
    await assert.rejects(slow.chains({ signal: AbortSignal.abort(reason) }), reason);
  });

  test("a call throws if its attempts and waits take longer than `deadlineMs`", async () => {
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

  test("`withResponse` returns the request ID with the data", async () => {
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

  test("hooks are called for every attempt, and receive no credential", async () => {
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

  test("`for await` requests each page only when it is needed", async () => {
    const [event] = eventPageOf(record.address).items;
    const page = (at: number) => {
      const items = [{ ...event, id: `e${at}` }];
      return { items, next: String(at + 1), hasMore: at < 3 };
    };
    answers.push(...[1, 2, 3].map((at) => () => ({ body: page(at) })));
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

  test("`for await` ends at an empty page, even if the page has a cursor", async () => {
    const body = (next: string | null) => ({ body: { items: [], next } });
    once(body("9"));
    for await (const _ of open().addresses({ order: "oldest" })) assert.fail("no item");
    once(body(null));
    for await (const _ of open().addresses()) assert.fail("no item");
    once({ body: { items: [], next: "7", hasMore: true } });
    const endless = open().events({ cursor: "7" })[Symbol.asyncIterator]();
    const message = "next: expected a new cursor, found the old one";
    await assert.rejects(endless.next(), { name: "UnprovenError", message });
    once({ body: { items: [] } });
    for await (const _ of open().webhooks.deliveries("w")) assert.fail("no item");
  });

  test("a query can contain a `Date` or a `bigint`, but an intent cannot", async () => {
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

/** Returns a promise that never resolves, and rejects when `signal` aborts. */
const aborted = (signal: AbortSignal | null | undefined) =>
  new Promise<Response>((_, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    signal?.addEventListener("abort", () => reject(signal.reason));
  });

test("readRetryAfterSeconds reads a number or a date as seconds", () => {
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
