// Tests the client's methods with a server that follows the spec, and with wrong answers.

import assert from "node:assert/strict";
import { after, beforeEach, describe, test } from "node:test";
import { factoryAddress, makeRecord } from "../index.ts";
import { uint256 } from "../shape.ts";
import { addressStates } from "../status/shape.ts";
import {
  chainListOf,
  checkOf,
  credentials,
  eventPageOf,
  simulationOf,
  statusOf,
} from "../test/answers.ts";
import { sample, shop } from "../test/samples.ts";
import { hangUp, refusal, startScripted } from "../test/scripted-service.ts";
import {
  ClientError,
  type ClientOptions,
  createClient,
  type Endpoint,
  InvalidError,
  type ListedAddress,
  ServiceError,
} from "./client.ts";

const { baseUrl, seen, once, reset, close } = await startScripted();
after(close);
beforeEach(reset);

const record = makeRecord(sample);
const isService = (status: number, code: string) => (error: unknown) =>
  error instanceof ServiceError && error.status === status && error.code === code;

describe("createClient", () => {
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

  const lengthOf = (value: unknown) =>
    typeof value === "string" ? `${value.length} characters` : String(value);

  test("createClient refuses a second credential or an invalid base URL", () => {
    wrong(credentials, "expected an API key or a client ID, found both");
    for (const url of ["", "pay.example", "ftp://x/v1", "https://u:p@x/v1", "https://x/?a=1", 5])
      wrong(
        { baseUrl: url },
        `baseUrl: expected a URL such as "https://pay.example/v1", found ${lengthOf(url)}`,
      );
    wrong({ mirrors: baseUrl }, "mirrors: expected a list, found a string");
  });

  test("createClient refuses a malformed credential", () => {
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

  test("createClient refuses an API key if `baseUrl` is an HTTP URL of another machine", () => {
    const { apiKey, clientId } = credentials;
    const sentence = "baseUrl: expected https for an API key, found http";
    for (const host of ["pay.example", "10.0.0.1", "127.0.0.1.example", "localhost.example"])
      wrong({ baseUrl: `http://${host}/v1`, apiKey }, sentence);
    for (const url of ["https://pay.example/v1", "http://localhost:1/v1", "http://[::1]:1/v1"])
      assert.doesNotThrow(() => createClient({ baseUrl: url, apiKey }));
    assert.doesNotThrow(() => createClient({ baseUrl: "http://pay.example/v1", clientId }));
  });

  test("createClient refuses invalid option values", () => {
    for (const [value, found] of [
      [Number.NaN, "NaN"],
      [-1, "-1"],
      [1.5, "1.5"],
      [Number.POSITIVE_INFINITY, "Infinity"],
      ["3", "1 characters"],
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
    wrong({ keccak: "keccak" }, "keccak: expected a function, found string");
    wrong({ fetch: "fetch" }, "fetch: expected a function, found a string");
  });

  test("createClient throws if a web page passes an API key", () => {
    Object.assign(globalThis, { document: {} });
    const forServers = ", which is only for servers";
    try {
      wrong({ apiKey: credentials.apiKey }, `expected a client ID, found an API key${forServers}`);
      assert.doesNotThrow(() => createClient({ baseUrl, clientId: credentials.clientId }));
    } finally {
      Reflect.deleteProperty(globalThis, "document");
    }
  });
});

describe("client.create", () => {
  test("`create` throws `InvalidError` before it sends an invalid intent", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    await assert.rejects(client.create({ ...sample, amount: "0" }), InvalidError);
    assert.equal(seen.length, 0);
  });

  test("`create` throws a `ServiceError` if the service refuses the intent", async () => {
    const client = createClient({ baseUrl });
    once(refusal(401, "unauthorized"));
    const error = await client.create(sample).catch((error) => error);
    assert.ok(isService(401, "unauthorized")(error));
    assert.deepEqual(error.issues, [{ path: ["token"], code: "x", message: "y" }]);
  });

  test("`create` throws `UnprovenError` if the record is for another intent", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    once({ body: makeRecord({ ...sample, recovery: shop }) });
    const message = /^expected a valid record of (\w+): address: expected \1, found 0x\w+$/;
    await assert.rejects(client.create(sample), { name: "UnprovenError", message });
  });

  test("every error of `create` contains the intent and the generated salt", async () => {
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

  test("`create` sends the intent and returns its record", async () => {
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

  test("`create` generates a missing salt, and sends the same salt in a retry", async () => {
    const { salt, ...rest } = sample;
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    once(refusal(429, "rate_limited", { "Retry-After": "0" }));
    const made = await client.create(rest);
    const sent = seen.map(({ body }) => JSON.parse(body).salt);
    assert.deepEqual(sent, [made.intent.salt, made.intent.salt]);
    assert.notEqual((await client.create(rest)).address, made.address);
  });
});

describe("client.lookup", () => {
  const client = () => createClient({ baseUrl });

  test("`lookup` throws `UnprovenError` if the record does not match the address", async () => {
    const forged = { ...record, intent: { ...sample, recovery: shop } };
    const other = makeRecord({ ...sample, recovery: shop });
    const theirs = makeRecord(sample, { factory: shop });
    const { address } = record;
    for (const [body, fault] of [
      [forged, 'terms: expected "[0-9a-f]{64}", found "[0-9a-f]{64}" at character \\d+'],
      [other, `address: expected ${address}, found ${other.address}`],
      [theirs, `factory: expected ${factoryAddress}, found ${shop}`],
      [{}, "address: this field is required"],
      [null, "expected an object, found null"],
      [[], "expected an object, found an array"],
      [{ ...record, terms: "0x" }, 'terms: expected "[0-9a-f]{64}", found "" at character 3'],
    ] as const) {
      once({ body });
      await assert.rejects(client().lookup(address), {
        name: "UnprovenError",
        message: new RegExp(`^expected a valid record of ${address}: ${fault}$`),
      });
    }
  });

  test("`lookup` throws `InvalidError` for an invalid address and sends no request", async () => {
    await assert.rejects(client().lookup("0x12"), InvalidError);
    assert.equal(seen.length, 0);
  });

  test("`lookup` throws `unexpected_answer` if the body is too long or not JSON", async () => {
    once({ body: "<html>" });
    await assert.rejects(client().lookup(record.address), isService(200, "unexpected_answer"));
    once({ body: `"${"x".repeat(5 * 1024 * 1024)}"` });
    await assert.rejects(client().lookup(record.address), isService(200, "unexpected_answer"));
  });

  test("`lookup` throws `unknown_path` if the base URL lacks /v1", async () => {
    const { origin } = new URL(baseUrl);
    once(refusal(404, "unknown_path"));
    await assert.rejects(
      createClient({ baseUrl: origin }).lookup(shop),
      isService(404, "unknown_path"),
    );
    once({ status: 404, body: "<html>not found</html>" });
    await assert.rejects(client().lookup(shop), {
      message:
        /: GET \/address\/0x\w{40}: unknown response with status 404; .*baseUrl ends in \/v1$/,
    });
  });

  test("if the service has no record, `lookup` returns undefined and `prove` throws", async () => {
    assert.equal(await client().lookup(shop), undefined);
    await assert.rejects(client().prove(shop, { rpcs: [baseUrl] }), {
      ...{ name: "UnprovenError", message: `the service has no record of ${shop}` },
    });
  });

  test("`lookup` returns the record for an address in any letter case", async () => {
    const lower = record.address.toLowerCase() as typeof record.address;
    assert.deepEqual(await client().lookup(lower), record);
  });
});

describe("a client with an API key", () => {
  const { apiKey } = credentials;

  test("`addresses` throws `UnprovenError` if the response is not a valid page", async () => {
    const client = createClient({ baseUrl, apiKey });
    once(refusal(403, "forbidden"));
    await assert.rejects(client.events(), isService(403, "forbidden"));
    once({ body: { items: 7 } });
    const message = /is not a valid page of addresses: \$\.items: expected array, found 7$/;
    await assert.rejects(client.addresses(), { name: "UnprovenError", message });
  });

  test("`addresses` and `events` send the query and return the page", async () => {
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

  test("`event` returns undefined for an unknown ID", async () => {
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

  test("`events` accepts events from earlier and later versions of the service", async () => {
    const client = createClient({ baseUrl, apiKey });
    const page = eventPageOf(record.address);
    const [{ data, ...event }] = page.items as [(typeof page.items)[0]];
    const { chainId: _, returned: __, ...stored } = data;
    once({ body: { ...page, items: [{ ...event, data: stored }] } });
    const [found] = (await client.events()).items;
    assert.deepEqual([found?.data.chainId, found?.data.returned], [undefined, undefined]);
    const payment = { ...data.payments[0], kind: "later_kind", isLate: false, isLast: false };
    once({ body: { ...page, items: [{ ...event, data: { ...data, payment } }] } });
    assert.equal(`${(await client.events()).items[0]?.data.payment?.kind}`, "later_kind");
  });

  test("a method throws `UnprovenError` if it receives a wrong endpoint or address", async () => {
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
      requestedAmount: amount,
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

  test("`create` throws `UnprovenError` if the service returns no valid salt", async () => {
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

  test("`create` sends the reference in the query, not in the body", async () => {
    const client = createClient({ baseUrl, apiKey });
    once({ body: record });
    await client.create(sample, { reference: "order-42" });
    assert.equal(seen[0]?.url, "/v1/address/create?reference=order-42");
    assert.deepEqual(JSON.parse(seen[0]!.body), sample);
  });
});

describe("client.check", () => {
  test("`check` throws `UnprovenError` if the response is for another address", async () => {
    const client = createClient({ baseUrl, apiKey: credentials.apiKey });
    const other = makeRecord({ ...sample, amount: "7" });
    const honest = checkOf(record);
    const { address } = record;
    const mixedUp = `expected ${address}, found ${other.address}`;
    const noCheck = "the response is not a valid check";
    for (const [body, message] of [
      [checkOf(other), `expected a valid record of ${address}: address: ${mixedUp}`],
      [{ ...honest, simulation: simulationOf(shop) }, `expected address ${address}, found ${shop}`],
      [
        { ...honest, findings: [{}] },
        `${noCheck}: $.findings.0.path: expected array, found nothing`,
      ],
      [record, `${noCheck}: $.record: expected object, found nothing`],
    ] as const) {
      once({ body });
      const refused = { name: "UnprovenError", message, intent: sample };
      await assert.rejects(client.check(sample), refused);
    }
  });

  test("`check` generates a missing salt, and `create` accepts the returned intent", async () => {
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

describe("a client without credentials", () => {
  test("a method throws `UnprovenError` if it receives a wrong factory or address", async () => {
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
    const noStatus = `the response is not a valid status of ${record.address}: $.`;
    const states = addressStates.join(" or ");
    for (const [body, message] of [
      [statusOf(shop, "funded"), other],
      [{ ...status, balance: 5 }, `${noStatus}balance: expected ${uint256.pattern}, found 5`],
      [{ ...status, state: "" }, `${noStatus}state: expected ${states}, found 0 characters`],
    ] as const) {
      once({ body });
      await assert.rejects(client.status(record.address), { name: "UnprovenError", message });
    }
    const noSimulation = `the response is not a valid simulation of ${record.address}: $`;
    for (const [body, message] of [
      [simulationOf(shop), other],
      [{ address: record.address }, `${noSimulation}.chainId: expected integer, found nothing`],
      [null, `${noSimulation}: expected object, found null`],
    ] as const) {
      once({ body });
      await assert.rejects(client.simulation(record.address), { name: "UnprovenError", message });
    }
  });

  test("`chains`, `status`, and `simulation` return the service's response", async () => {
    const client = createClient({ baseUrl });
    assert.deepEqual(await client.chains(), chainListOf(factoryAddress));
    assert.equal((await client.status(record.address))?.state, "funded");
    assert.equal(await client.status(shop), undefined);
    assert.equal((await client.simulation(record.address))?.outcome, "succeeds");
    assert.equal(await client.simulation(shop), undefined);
  });
});
