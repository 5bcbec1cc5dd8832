import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { InvalidError, verifyRecord } from "executable-address";
import { UnavailableError } from "../../store/store.ts";
import { lookalike, newIntent, startApp, type TestApp, token } from "../../testing/app.ts";
import { bodyBytesMax } from "../app.ts";

let service: TestApp;
let apiKey: string;
before(async () => {
  service = await startApp();
});
after(() => service.close());

/** Sends a create request with a new API key. Each key has its own rate limit. */
async function post(body: unknown, headers: Record<string, string> = {}, to = service) {
  ({ apiKey } = await to.newKey());
  return to.app.inject({
    method: "POST",
    url: "/v1/address/create",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${apiKey}`,
      ...headers,
    },
    payload: typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  });
}

type Issue = { path: (string | number)[]; code: string; message: string };
async function issuesOf(body: unknown): Promise<Issue[]> {
  const response = await post(body);
  const { error } = response.json();
  assert.equal(response.statusCode, 400);
  assert.equal(error.code, "invalid_request");
  assert.ok(error.message.length > 0);
  assert.equal(response.headers["access-control-allow-origin"], "*");
  return error.issues;
}
const summary = (issues: Issue[]) => issues.map(({ path, code }) => `${path.join(".")} ${code}`);

describe("POST /v1/address/create", () => {
  test("returns 401 `unauthorized` before it reads the body", async () => {
    const bodies = ["{", "x".repeat(bodyBytesMax + 1), JSON.stringify(newIntent())];
    for (const payload of bodies) {
      for (const type of ["application/json", "text/plain", ""]) {
        const response = await service.app.inject({
          method: "POST",
          url: "/v1/address/create",
          headers: type ? { "content-type": type } : {},
          payload,
        });
        assert.equal(response.statusCode, 401);
        assert.equal(response.json().error.code, "unauthorized");
        assert.ok(response.headers["www-authenticate"]);
      }
    }
  });

  test("returns 415 for a wrong content type, charset, or content encoding", async () => {
    const intent = newIntent();
    const refused: [Record<string, string>, RegExp][] = [
      [{ "content-type": "text/plain" }, /^expected .* application\/json, found "text\/plain"$/],
      [{ "content-type": "application/jsonp" }, /application\/json/],
      [{ "content-type": "application/x-www-form-urlencoded" }, /application\/json/],
      [{ "content-type": "multipart/form-data; boundary=x" }, /application\/json/],
      [{ "content-type": "application/json; charset=latin1" }, /UTF-8, .* charset "latin1"$/],
      [{ "content-encoding": "gzip" }, /^expected no Content-Encoding, found "gzip"$/],
    ];
    for (const [headers, message] of refused) {
      const response = await post(intent, headers);
      assert.equal(response.statusCode, 415, JSON.stringify(headers));
      assert.equal(response.json().error.code, "unsupported_media_type");
      assert.match(response.json().error.message, message);
      assert.deepEqual(response.json().error.issues, []);
    }
    const { apiKey } = await service.newKey();
    const bare = await service.app.inject({
      method: "POST",
      url: "/v1/address/create",
      headers: { authorization: `Bearer ${apiKey}` },
    });
    assert.equal(bare.statusCode, 415);
    assert.match(bare.json().error.message, /an intent as the body, found neither$/);
  });

  test("returns 413 for a body that is one byte too long", async () => {
    const above = await post(Buffer.alloc(bodyBytesMax + 1, " "));
    assert.equal(above.statusCode, 413);
    const { code, message } = above.json().error;
    const found = `found ${bodyBytesMax + 1}`;
    const wanted = `the body: expected at most ${bodyBytesMax} bytes, ${found}`;
    assert.deepEqual({ code, message }, { code: "body_too_large", message: wanted });
    assert.deepEqual(summary(await issuesOf(Buffer.alloc(bodyBytesMax, " "))), [" not_json"]);
  });

  test("returns 400 for a body that is not JSON in UTF-8", async () => {
    for (const text of ["", "{", "{'a':1}", "\ufeff{}", "[1,]", "NaN", "{}{}"]) {
      assert.deepEqual(summary(await issuesOf(text)), [" not_json"], text);
    }
    const latin1 = Buffer.from(JSON.stringify({ ...newIntent(), amount: "é" }), "latin1");
    assert.deepEqual(summary(await issuesOf(latin1)), [" not_utf8"]);
  });

  test("returns 400 `wrong_type` for JSON that is not an object", async () => {
    for (const value of [null, [], [newIntent()], "intent", 1, true]) {
      assert.equal((await issuesOf(JSON.stringify(value)))[0]?.code, "wrong_type");
    }
  });

  test("returns 400 `repeated_field` for a repeated field, even with an escaped name", async () => {
    const text = JSON.stringify(newIntent());
    const twice = [
      text.replace("{", '{"amount":"1",'),
      text.replace("{", '{"\\u0061mount":"1",'),
      text.replace('{"target"', '{"target":"0x","target"'),
      text.replace("{", '{"__proto__":1,"__proto__":2,'),
    ];
    for (const body of twice) {
      const issues = await issuesOf(body);
      assert.deepEqual(summary(issues), [" repeated_field"], body);
    }
  });

  test("returns 400 `unknown_field` for a field such as `__proto__`", async () => {
    const text = JSON.stringify(newIntent());
    for (const name of ["__proto__", "constructor", "Amount", "intent", "toString"]) {
      const body = text.replace("{", `{${JSON.stringify(name)}:{"amount":"1"},`);
      assert.deepEqual(summary(await issuesOf(body)), [`${name} unknown_field`]);
    }
    assert.equal(({} as { amount?: string }).amount, undefined);
  });

  test("returns 400 with up to 20 errors", async () => {
    const issues = await issuesOf({
      ...newIntent(),
      amount: "01",
      chainId: 5,
      expirationTimestamp: 12,
      extra: 1,
    });
    assert.deepEqual(summary(issues).toSorted(), [
      "amount not_canonical",
      "chainId chain_not_listed",
      "expirationTimestamp expires_too_soon",
      "extra unknown_field",
    ]);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`x${i}`, i]));
    assert.equal((await issuesOf({ ...newIntent(), ...many })).length, 20);
  });

  test("returns 400 `chain_not_listed` with the list of chains", async () => {
    for (const chainId of [10, 2]) {
      const [issue] = await issuesOf({ ...newIntent(), chainId });
      assert.equal(issue?.code, "chain_not_listed");
      assert.match(issue?.message ?? "", /expected one of: 1$/);
    }
  });

  test("returns 400 `token_not_listed` with the list of the chain's tokens", async () => {
    const other = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
    const [issue] = await issuesOf({ ...newIntent(), token: other });
    assert.equal(issue?.code, "token_not_listed");
    const wrong = `token ${other} is not listed for chain 1 (Ethereum)`;
    assert.equal(issue?.message, `${wrong}; expected one of: USDC ${token}`);
  });

  test("returns 400 for a look-alike token, with the address of the right token", async () => {
    for (const spelling of [lookalike, lookalike.toLowerCase()]) {
      const [issue, ...others] = await issuesOf({ ...newIntent(), token: spelling });
      assert.deepEqual(others, []);
      assert.equal(issue?.code, "token_not_listed");
      assert.equal(
        issue.message,
        `Bridged USDC (USDC.e ${lookalike}) is not accepted on chain 1 (Ethereum); ` +
          `did you mean USDC ${token}?`,
      );
    }
  });

  test("returns 400 for an expiration in less than 5 minutes or more than 366 days", async () => {
    const nowMs = 1_800_000_000_000;
    const fixed = await startApp({ now: () => nowMs });
    const now = nowMs / 1000;
    const at = async (expirationTimestamp: number) => {
      const response = await post({ ...newIntent(), expirationTimestamp }, {}, fixed);
      return response.json().error?.issues[0] ?? response.statusCode;
    };
    assert.equal((await at(now + 299)).code, "expires_too_soon");
    assert.equal(await at(now + 300), 200);
    assert.equal(await at(now + 366 * 86_400), 200);
    assert.equal((await at(now + 366 * 86_400 + 1)).code, "expires_too_late");
    assert.match((await at(nowMs + 3_600_000)).message, /milliseconds: write 1800003600$/);
    await fixed.close();
  });

  test("returns 503 if the database cannot save the record", async () => {
    const down = await startApp();
    const { store } = down.parts;
    store.saveRecord = async () => {
      throw new UnavailableError("not committed");
    };
    const intent = newIntent();
    const response = await post(intent, {}, down);
    assert.equal(response.statusCode, 503);
    assert.equal(response.json().error.code, "service_unavailable");
    assert.ok(Number(response.headers["retry-after"]) >= 1);
    await down.close();
  });

  test("returns 429 above the account's daily limit", async () => {
    const bounded = await startApp({ limits: { addressesPerAccountDay: 2 } });
    const [mine, others] = [await bounded.newKey(), await bounded.newKey()];
    const post = ({ apiKey }: { apiKey: string }) =>
      bounded.app.inject({
        method: "POST",
        url: "/v1/address/create",
        headers: { authorization: `Bearer ${apiKey}` },
        payload: newIntent(),
      });
    for (let i = 0; i < 2; i++) assert.equal((await post(mine)).statusCode, 200);
    const refused = await post(mine);
    assert.equal(refused.statusCode, 429);
    assert.equal(refused.json().error.code, "rate_limited");
    assert.ok(Number(refused.headers["retry-after"]) > 40_000);
    assert.equal((await post(others)).statusCode, 200);
    await bounded.close();
  });
});

describe("POST /v1/address/create", () => {
  test("returns 200 with a record that matches its address and the intent", async () => {
    const intent = newIntent();
    const response = await post(intent);
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers["content-type"], "application/json; charset=utf-8");
    assert.equal(response.headers["access-control-allow-origin"], "*");
    const record = response.json();
    assert.deepEqual(Object.keys(record), ["address", "factory", "intent", "terms"]);
    assert.deepEqual(record.intent, intent);
    const { factory } = service.parts;
    assert.doesNotThrow(() => verifyRecord(record, { factory }));
    assert.throws(
      () => verifyRecord({ ...record, intent: { ...intent, amount: "1" } }, { factory }),
      InvalidError,
    );
  });

  test("returns the same bytes as a lookup and as an earlier create request", async () => {
    const intent = newIntent();
    const shuffled = Object.fromEntries(Object.entries(intent).reverse());
    const lower = { ...shuffled, token: token.toLowerCase() };
    const bodies = [];
    for (const body of [intent, intent, lower]) {
      const response = await post(body);
      assert.equal(response.statusCode, 200);
      bodies.push(response.body);
    }
    const { address } = JSON.parse(bodies[0]!);
    const lookedUp = await service.app.inject({ url: `/v1/address/${address}` });
    assert.deepEqual(new Set([...bodies, lookedUp.body]).size, 1);
    const owners = await service.parts.store.db
      .selectFrom("owners")
      .select("account_id")
      .where("address", "=", Buffer.from(address.slice(2), "hex"))
      .execute();
    assert.equal(owners.length, 3);
  });

  test("returns a new address for each request with neither a salt nor a reference", async () => {
    const { salt: _, ...intent } = newIntent();
    const [first, second] = [(await post(intent)).json(), (await post(intent)).json()];
    assert.notEqual(first.address, second.address);
    assert.match(first.intent.salt, /^0x[0-9a-f]{64}$/);
  });

  test("accepts `application/json` in uppercase or lowercase, with a UTF-8 charset", async () => {
    for (const type of [
      "APPLICATION/JSON",
      "application/json;charset=UTF-8",
      'application/json; charset="utf-8"',
    ]) {
      assert.equal((await post(newIntent(), { "content-type": type })).statusCode, 200, type);
    }
  });

  test("does not log the API key after a failure", async () => {
    const failing = await startApp();
    failing.parts.store.saveRecord = async () => {
      throw new Error("disk");
    };
    const response = await post(newIntent(), {}, failing);
    assert.equal(response.statusCode, 500);
    assert.equal(response.json().error.code, "internal_error");
    assert.ok(!response.body.includes("disk"));
    assert.ok(failing.logged.some((line) => line.includes("disk")));
    assert.ok(!failing.logged.join().includes(apiKey.slice(0, 20)));
    await failing.close();
  });
});
