import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { formatAddress, type Hex } from "executable-address";
import { newIntent, startApp, type TestApp, token } from "../../testing/app.ts";

let service: TestApp;
before(async () => {
  service = await startApp();
});
after(() => service.close());

async function created(
  to = service,
  payload: object = newIntent(),
): Promise<{ address: Hex; body: string }> {
  const { apiKey } = await to.newKey();
  const response = await to.app.inject({
    method: "POST",
    url: "/v1/address/create",
    headers: { authorization: `Bearer ${apiKey}` },
    payload,
  });
  return { address: response.json().address, body: response.body };
}

const look = (text: string, headers: Record<string, string> = {}, method: "GET" | "HEAD" = "GET") =>
  service.app.inject({ method, url: `/v1/address/${text}`, headers });

const bytesOf = (address: Hex) => Buffer.from(address.slice(2), "hex");

describe("GET /v1/address/{address}", () => {
  test("returns 400 `invalid_request` for anything but an address", async () => {
    const digits = "11".repeat(20);
    const notAddresses = [
      "0x",
      "",
      digits,
      `0X${digits}`,
      `0x${digits}0`,
      `0x${digits.slice(1)}`,
      `0x${digits.slice(1)}g`,
      `0x${digits}%20`,
      `0x${digits}%00`,
      `0x${digits}.json`,
      "%F0%9F%98%80",
      "a".repeat(101),
      "a".repeat(8000),
    ];
    for (const text of notAddresses) {
      const response = await look(text);
      const { error } = response.json();
      assert.equal(response.statusCode, 400, text);
      assert.equal(error.code, "invalid_request");
      assert.deepEqual(error.issues[0].path, ["address"]);
      assert.match(error.message, /0x and 40 hex digits, found (".*"|nothing|\d+ characters)$/);
      assert.equal(response.headers["access-control-allow-origin"], "*");
      assert.equal(response.headers["cache-control"], "no-store");
    }
  });

  test("returns 400 that names POST for the paths `create` and `check`", async () => {
    for (const name of ["create", "check"]) {
      const response = await look(name);
      const { code, message, issues } = response.json().error;
      assert.deepEqual([response.statusCode, code], [400, "invalid_request"]);
      const wanted = `0x and 40 hex digits, found "${name}"; /v1/address/${name} accepts only POST`;
      assert.equal(message, `expected an address: ${wanted}`);
      assert.deepEqual(issues, [{ path: ["address"], code: "malformed_address", message }]);
      assert.equal(response.headers["access-control-allow-origin"], "*");
      assert.equal(response.headers["cache-control"], "no-store");
    }
  });

  test("returns 404 `not_found` without caching for an unknown address", async () => {
    for (const method of ["GET", "HEAD"] as const) {
      const response = await look(`0x${"11".repeat(20)}`, {}, method);
      assert.equal(response.statusCode, 404);
      assert.equal(response.headers["cache-control"], "no-store");
      assert.equal(response.headers["access-control-allow-origin"], "*");
      if (method === "HEAD") assert.equal(response.body, "");
      else {
        assert.equal(response.json().error.code, "not_found");
        assert.deepEqual(response.json().error.issues, []);
      }
    }
  });

  test("returns 500 for a corrupt record", async () => {
    const { address } = await created();
    const other = await created();
    const { store, metrics } = service.parts;
    const terms = Buffer.from((await store.findTerms(bytesOf(other.address)))!);
    const flipped = Buffer.from(terms);
    flipped[40] = flipped[40]! ^ 1;
    const corruptions = [
      terms,
      flipped,
      terms.subarray(0, -32),
      Buffer.alloc(0),
      Buffer.alloc(25_000),
    ];
    for (const corrupt of corruptions) {
      await store.db
        .updateTable("records")
        .set({ terms: corrupt })
        .where("address", "=", bytesOf(address))
        .execute();
      const response = await look(address);
      assert.equal(response.statusCode, 500);
      assert.equal(response.json().error.code, "internal_error");
      assert.equal(response.headers["cache-control"], "no-store");
    }
    const counted = await metrics.registry.getSingleMetricAsString("corrupt_records_total");
    assert.match(counted, new RegExp(`corrupt_records_total ${corruptions.length}$`));
    // A corrupt record is logged at most once a minute.
    const lines = service.logged.filter((line) => line.includes(address.toLowerCase()));
    assert.equal(lines.length, 1, lines.join("\n"));
  });

  test("returns 503 `service_unavailable` if too many lookups are pending", async () => {
    const busy = await startApp({ limits: { lookupsInFlightMax: 1 } });
    const { address, body } = await created(busy);
    const get = () => busy.app.inject({ url: `/v1/address/${address}` });
    const [first, refused] = await Promise.all([get(), get()]);
    assert.equal(first.body, body);
    assert.equal(refused.statusCode, 503);
    const { code, message } = refused.json().error;
    assert.equal(code, "service_unavailable");
    const full = 'expected at most 1 simultaneous requests for "lookup", found 2';
    assert.equal(message, `${full}: try again in a second`);
    assert.equal(refused.headers["retry-after"], "1");
    assert.equal((await get()).statusCode, 200);
    await busy.close();
  });

  test("returns the same bytes as the create response, and allows caching forever", async () => {
    const { address, body } = await created();
    for (const times of [1, 2]) {
      const response = await look(address);
      assert.equal(response.statusCode, 200, `time ${times}`);
      assert.equal(response.body, body);
      assert.equal(response.headers["cache-control"], "public, max-age=31536000, immutable");
      assert.equal(response.headers["access-control-allow-origin"], "*");
      assert.equal(response.headers["content-type"], "application/json; charset=utf-8");
      assert.match(String(response.headers.etag), /^"[0-9a-f]{40}"$/);
    }
  });

  test("returns non-ASCII text unchanged", async () => {
    for (const text of ["Grüße", "支払い", "🪙".repeat(3)]) {
      const calls = [{ target: token, function: "note(string text)", args: [text] }];
      const { address, body } = await created(service, { ...newIntent(), calls });
      for (let time = 0; time < 2; time++) {
        const response = await look(address);
        assert.equal(response.body, body);
        assert.equal(Number(response.headers["content-length"]), Buffer.byteLength(body));
      }
    }
  });

  test("accepts an address in any letter case, even with a wrong checksum", async () => {
    const { address, body } = await created();
    const digits = address.slice(2);
    const flipped = [...digits].map((each) =>
      each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase(),
    );
    for (const text of [digits.toLowerCase(), digits.toUpperCase(), flipped.join("")]) {
      const response = await look(`0x${text}`);
      assert.equal(response.body, body);
    }
    assert.equal(formatAddress(bytesOf(address)), address);
  });

  test("returns 304 without a body if `If-None-Match` contains the `ETag`", async () => {
    const { address } = await created();
    const { etag } = (await look(address)).headers;
    for (const tags of [`${etag}`, `W/${etag}`, `"x", ${etag}`, "*"]) {
      const response = await look(address, { "if-none-match": tags });
      assert.equal(response.statusCode, 304, tags);
      assert.equal(response.body, "");
      assert.equal(response.headers.etag, etag);
      assert.equal(response.headers["cache-control"], "public, max-age=31536000, immutable");
    }
    for (const tags of ['"x"', '"x", *'])
      assert.equal((await look(address, { "if-none-match": tags })).statusCode, 200, tags);
  });

  test("answers HEAD like GET, without the body", async () => {
    const { address, body } = await created();
    const response = await look(address, {}, "HEAD");
    assert.equal(response.statusCode, 200);
    assert.equal(response.body, "");
    assert.equal(response.headers["content-length"], String(Buffer.byteLength(body)));
    assert.equal(response.headers.etag, (await look(address)).headers.etag);
  });

  test("ignores credentials", async () => {
    const { address, body } = await created();
    const response = await look(address, {
      authorization: "Bearer svc_sk_wrong",
      "x-client-id": "svc_client_wrong",
      origin: "https://anywhere.example",
    });
    assert.equal(response.body, body);
  });

  test("reads a record from the database again if it is no longer in the cache", async () => {
    const small = await startApp({ limits: { lookupCacheBytesMax: 3000 } });
    const records = [];
    for (let i = 0; i < 5; i++) records.push(await created(small));
    for (const { address, body } of [...records, ...records]) {
      const response = await small.app.inject({ url: `/v1/address/${address}` });
      assert.equal(response.body, body);
    }
    await small.close();
  });
});

describe("GET /v1/chains", () => {
  test("returns the factory and only the listed chains", async () => {
    const response = await service.app.inject({ url: "/v1/chains" });
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers["access-control-allow-origin"], "*");
    const tokens = [{ symbol: "USDC", address: token, decimals: 6 }];
    assert.deepEqual(response.json(), {
      factory: service.parts.factory,
      chains: [{ chainId: 1, name: "Ethereum", tokens }],
    });
  });
});
