import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { rotateApiKey } from "../../accounts/api-keys.ts";
import { digestCredential, newApiKey, newClientId } from "../../accounts/credentials.ts";
import { memoryLimiter } from "../../accounts/limits.ts";
import { addOrigin, removeOrigin } from "../../accounts/origins/origin-list.ts";
import { type Policy, policies } from "../../accounts/policies.ts";
import { exchange, newIntent, startApp, type TestApp } from "../../testing/app.ts";

let service: TestApp;
before(async () => {
  service = await startApp();
});
after(() => service.close());

type Headers = [name: string, value: string][];
type Answer = { status: number; headers: Map<string, string>; body: string };
const codeOf = (answer: Answer) => JSON.parse(answer.body).error.code as string;

/**
 * Sends a request over a raw socket. The tests need repeated and empty headers, and headers in any
 * order.
 */
async function send(headers: Headers, to = service): Promise<Answer> {
  if (!to.app.server.listening) await to.app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = to.app.server.address() as { port: number };
  const payload = JSON.stringify(newIntent());
  const all: Headers = [
    ["Host", "127.0.0.1"],
    ["Connection", "close"],
    ["Content-Type", "application/json"],
    ["Content-Length", String(Buffer.byteLength(payload))],
    ...headers,
  ];
  const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const request = `POST /v1/address/create HTTP/1.1\r\n${head}\r\n${payload}`;
  const text = await exchange(port, request);
  const [top = "", body = ""] = text.split("\r\n\r\n");
  const [statusLine = "", ...lines] = top.split("\r\n");
  const pairs = lines.map((line) => line.split(/: (.*)/s) as [string, string]);
  const answer = {
    status: Number(statusLine.split(" ")[1]),
    headers: new Map(pairs.map(([name, value]) => [name.toLowerCase(), value])),
    body,
  };
  assert.equal(answer.headers.get("access-control-allow-origin"), "*", "every answer is readable");
  return answer;
}

const origin = "https://shop.example.com";

/**
 * Creates an account that allows `origin`. Each test needs its own account, so that tests do not
 * share rate limits.
 */
async function newAccount(to = service) {
  const { accountId, apiKey } = await to.newKey();
  const { db } = to.parts.store;
  await addOrigin(db, accountId, origin, { atMs: Date.now() });
  const { client_id: clientId } = await db
    .selectFrom("client_ids")
    .select("client_id")
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return { accountId, apiKey, clientId, bearer: `Bearer ${apiKey}` };
}

async function refuses(status: number, code: string, headers: Headers): Promise<Answer> {
  const answer = await send(headers);
  assert.equal(answer.status, status, answer.body);
  assert.equal(codeOf(answer), code);
  assert.equal(answer.headers.has("www-authenticate"), status === 401);
  return answer;
}

describe("POST /v1/address/create with a credential", () => {
  test("returns 400 `invalid_request` if there are two credentials", async () => {
    const { bearer, clientId } = await newAccount();
    for (const authorization of [bearer, "Bearer nonsense", "Basic eDp5", ""]) {
      for (const id of [clientId, "nonsense", ""]) {
        const both: Headers = [
          ["Authorization", authorization],
          ["X-Client-Id", id],
        ];
        const answer = await refuses(400, "invalid_request", both);
        assert.match(answer.body, /expected one credential .*, found 2"/);
        await refuses(400, "invalid_request", [...both, ["Origin", origin]]);
      }
    }
  });

  test("returns 400 `invalid_request` if the credential's header is repeated", async () => {
    const { bearer, clientId } = await newAccount();
    const values = { Authorization: [bearer, "Bearer x", ""], "X-Client-Id": [clientId, "x", ""] };
    for (const [name, [good = "", ...others]] of Object.entries(values)) {
      for (const other of [good, ...others]) {
        const twice = [good, other];
        for (const pair of [twice, twice.toReversed()]) {
          const headers = pair.map((value) => [name, value] as [string, string]);
          await refuses(400, "invalid_request", [...headers, ["Origin", origin]]);
          await refuses(400, "invalid_request", headers);
        }
      }
    }
    await refuses(400, "invalid_request", [
      ["authorization", bearer],
      ["AUTHORIZATION", bearer],
    ]);
  });

  test("returns 401 `unauthorized` if the credential is missing or in a wrong header", async () => {
    const { apiKey, clientId } = await newAccount();
    const missing = await refuses(401, "unauthorized", []);
    assert.match(missing.body, /a credential is required, found none: /);
    await refuses(401, "unauthorized", [["Origin", origin]]);
    await refuses(401, "unauthorized", [["X-Api-Key", apiKey]]);
    await refuses(401, "unauthorized", [["Cookie", `session=${apiKey}; client=${clientId}`]]);
    await refuses(401, "unauthorized", [["Proxy-Authorization", `Bearer ${apiKey}`]]);
  });

  test("returns 403 `api_key_in_browser` if a request has an API key and an `Origin`", async () => {
    const { bearer } = await newAccount();
    for (const value of [origin, "https://evil.example", "null", "", "*", "x", origin.repeat(9)]) {
      const withOrigin: Headers = [["Origin", value]];
      const refused = [["Authorization", bearer], ...withOrigin] as Headers;
      const { body } = await refuses(403, "api_key_in_browser", refused);
      assert.match(body, /found (\\".*\\"|\d+ characters): API keys are only for servers/);
      const unknown = `Bearer ${newApiKey()}`;
      await refuses(403, "api_key_in_browser", [["Authorization", unknown], ...withOrigin]);
      await refuses(403, "api_key_in_browser", [["Authorization", "bearer x"], ...withOrigin]);
    }
    await refuses(403, "api_key_in_browser", [
      ["Authorization", bearer],
      ["origin", ""],
      ["ORIGIN", ""],
    ]);
  });

  test("does not show whether an API key exists if a request has an `Origin`", async () => {
    const { bearer } = await newAccount();
    const [known, unknown] = await Promise.all(
      [bearer, `Bearer ${newApiKey()}`].map((value) =>
        send([
          ["Authorization", value],
          ["Origin", origin],
        ]),
      ),
    );
    assert.equal(known!.body, unknown!.body);
    const names = (answer: Answer) => [...answer.headers.keys()].sort();
    assert.deepEqual(names(known!), names(unknown!));
  });

  test("returns 401 `unauthorized` if the credential is wrong or malformed", async () => {
    const { apiKey, clientId, bearer } = await newAccount();
    const authorizations = [
      "",
      apiKey,
      "Bearer",
      `Basic ${Buffer.from(`x:${apiKey}`).toString("base64")}`,
      `Token ${apiKey}`,
      `Bearer${apiKey}`,
      `Bearer ${apiKey}0`,
      `Bearer ${apiKey.slice(0, -1)}`,
      `Bearer ${apiKey.toUpperCase()}`,
      `Bearer ${apiKey},${apiKey}`,
      `Bearer ${apiKey} ${apiKey}`,
      `Bearer "${apiKey}"`,
      `Bearer\t${apiKey}`,
      `Bearer ${clientId}`,
      `Bearer ${newApiKey()}`,
      `${bearer}, Basic eDp5`,
    ];
    for (const value of authorizations) {
      const { body } = await refuses(401, "unauthorized", [["Authorization", value]]);
      assert.match(body, /found \d+ characters|unknown API key/);
      assert.ok(!body.includes(apiKey));
    }
    const ids = ["", apiKey, `${clientId}0`, clientId.slice(0, -1), clientId.toUpperCase()];
    for (const value of [...ids, `${clientId},${clientId}`, newClientId()]) {
      await refuses(401, "unauthorized", [["X-Client-Id", value]]);
      await refuses(401, "unauthorized", [
        ["X-Client-Id", value],
        ["Origin", origin],
      ]);
    }
    await refuses(401, "unauthorized", [
      ["Authorization", "Basic eDp5"],
      ["Origin", origin],
    ]);
  });

  test("returns 401 for a wrong checksum without a database query", async () => {
    const { apiKey, clientId } = await newAccount();
    const { holders } = service.parts.accounts;
    const { findApiKey, findClientId } = holders;
    let asked = 0;
    holders.findApiKey = holders.findClientId = async () => {
      asked += 1;
      return undefined;
    };
    const typo = (text: string) =>
      text.slice(0, -9) + (text.at(-9) === "0" ? "1" : "0") + text.slice(-8);
    try {
      for (const header of [
        ["Authorization", `Bearer ${typo(apiKey)}`],
        ["Authorization", `Bearer svc_sk_${"0".repeat(64)}`],
        ["X-Client-Id", typo(clientId)],
      ] as Headers) {
        const answer = await refuses(401, "unauthorized", [header]);
        assert.match(answer.body, /found a wrong checksum .*rotate/);
      }
      assert.equal(asked, 0);
    } finally {
      Object.assign(holders, { findApiKey, findClientId });
    }
  });

  test("returns 403 `origin_required` if a request has a client ID but no `Origin`", async () => {
    const { clientId } = await newAccount();
    const { body } = await refuses(403, "origin_required", [["X-Client-Id", clientId]]);
    assert.match(body, /requires an Origin header, found none: /);
    await refuses(403, "origin_required", [
      ["X-Client-Id", clientId],
      ["Referer", `${origin}/page`],
    ]);
  });

  test("returns 403 `origin_not_allowed` for a wrong or repeated `Origin`", async () => {
    const { clientId } = await newAccount();
    for (const value of ["https://evil.example", "null", "", "*", `${origin}/`, `${origin}:443`]) {
      const answer = await refuses(403, "origin_not_allowed", [
        ["X-Client-Id", clientId],
        ["Origin", value],
      ]);
      const { message } = JSON.parse(answer.body).error;
      assert.ok(message.includes(`that the account allows, found "${value}": `), message);
    }
    const long = await refuses(403, "origin_not_allowed", [
      ["X-Client-Id", clientId],
      ["Origin", "x".repeat(201)],
    ]);
    assert.match(long.body, /found 201 characters: /);
    for (const second of [origin, "https://evil.example", ""]) {
      const answer = await refuses(403, "origin_not_allowed", [
        ["X-Client-Id", clientId],
        ["Origin", origin],
        ["Origin", second],
      ]);
      assert.match(answer.body, /found 2 Origin headers: /);
    }
    const joined = `${origin}, ${origin}`;
    await refuses(403, "origin_not_allowed", [
      ["X-Client-Id", clientId],
      ["Origin", joined],
    ]);
  });

  test("returns 429 with `Retry-After` if the rate limit is exceeded", async () => {
    for (const kind of ["apiKey", "clientId"] as const) {
      const slow = await startApp();
      try {
        const { bearer, clientId } = await newAccount(slow);
        let now = 1000;
        slow.parts.accounts.limiter = memoryLimiter(() => now);
        const headers: Headers =
          kind === "apiKey"
            ? [["Authorization", bearer]]
            : [
                ["X-Client-Id", clientId],
                ["Origin", origin],
              ];
        const policy: Policy = policies[kind];
        for (let spent = 1; spent <= policy.burst; spent++) {
          const answer = await send(headers, slow);
          assert.equal(answer.status, 200, answer.body);
          assert.match(answer.headers.get("ratelimit")!, new RegExp(`r=${policy.burst - spent};`));
        }
        const refused = await send(headers, slow);
        assert.equal(refused.status, 429);
        assert.equal(codeOf(refused), "rate_limited");
        assert.equal(refused.headers.get("retry-after"), "1");
        const name = kind === "apiKey" ? "api-key" : "client-id";
        const policyHeader = `"${name}";q=${policy.burst};w=2`;
        assert.equal(refused.headers.get("ratelimit-policy"), policyHeader);
        assert.equal(refused.headers.get("ratelimit"), `"${name}";r=0;t=1`);
        assert.match(refused.headers.get("access-control-expose-headers")!, /Retry-After/);
        now += policy.intervalMs;
        assert.equal((await send(headers, slow)).status, 200);
      } finally {
        await slow.close();
      }
    }
  });

  test("returns 200 for an API key, with `Bearer` in uppercase or lowercase", async () => {
    const { apiKey } = await newAccount();
    for (const scheme of ["Bearer", "bearer", "BEARER"]) {
      const answer = await send([["Authorization", `${scheme} ${apiKey}`]]);
      assert.equal(answer.status, 200, answer.body);
    }
  });

  test("returns 200 for a client ID from an allowed origin", async () => {
    const { clientId } = await newAccount();
    const answer = await send([
      ["X-Client-Id", clientId],
      ["Origin", origin],
    ]);
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.headers.get("ratelimit"), '"client-id";r=19;t=1');
  });
});

describe("an account's credentials", () => {
  test("an API key is rejected immediately after its rotation", async () => {
    const { accountId, apiKey, bearer } = await newAccount();
    assert.equal((await send([["Authorization", bearer]])).status, 200);
    const { db } = service.parts.store;
    const actor = { atMs: Date.now() };
    const rotated = await rotateApiKey(db, accountId, apiKey.slice(0, 15), actor);
    await refuses(401, "unauthorized", [["Authorization", bearer]]);
    assert.equal((await send([["Authorization", `Bearer ${rotated!.apiKey}`]])).status, 200);
  });

  test("an origin is rejected immediately after its removal", async () => {
    const { accountId, clientId } = await newAccount();
    const headers: Headers = [
      ["X-Client-Id", clientId],
      ["Origin", origin],
    ];
    assert.equal((await send(headers)).status, 200);
    await removeOrigin(service.parts.store.db, accountId, origin, { atMs: Date.now() });
    await refuses(403, "origin_not_allowed", headers);
  });

  test("a rejected request does not count toward the rate limit", async () => {
    const { bearer, clientId } = await newAccount();
    for (let i = 0; i < 30; i++) {
      await refuses(403, "origin_required", [["X-Client-Id", clientId]]);
      await refuses(403, "api_key_in_browser", [
        ["Authorization", bearer],
        ["Origin", origin],
      ]);
    }
    const page = await send([
      ["X-Client-Id", clientId],
      ["Origin", origin],
    ]);
    assert.match(page.headers.get("ratelimit")!, /r=19;/);
    const server = await send([["Authorization", bearer]]);
    assert.match(server.headers.get("ratelimit")!, /r=99;/);
  });

  test("an API key that is sent with an `Origin` is recorded as used in a browser", async () => {
    const { accountId, bearer } = await newAccount();
    const { accounts, store } = service.parts;
    await refuses(403, "api_key_in_browser", [
      ["Authorization", `Bearer ${newApiKey()}`],
      ["Origin", origin],
    ]);
    await refuses(403, "api_key_in_browser", [
      ["Authorization", bearer],
      ["Origin", "null"],
    ]);
    await accounts.usage.flush();
    const seen = await store.db
      .selectFrom("api_keys")
      .select("account_id")
      .where("seen_in_browser_at", "is not", null)
      .where("account_id", "=", accountId)
      .execute();
    assert.equal(seen.length, 1);
  });

  test("the service stores a key's last use and the account's requests per hour", async () => {
    const { accountId, apiKey, bearer, clientId } = await newAccount();
    await send([["Authorization", bearer]]);
    const firstAnsweredAt = Date.now();
    await send([["Authorization", bearer]]);
    await send([["X-Client-Id", clientId]]);
    const { accounts, store } = service.parts;
    const held = () =>
      store.db
        .selectFrom("usage")
        .select(["kind", "created", "refused"])
        .where("account_id", "=", accountId)
        .orderBy("kind")
        .execute();
    await accounts.usage.flush();
    assert.deepEqual(await held(), [
      { kind: "apiKey", created: 2, refused: 0 },
      { kind: "clientId", created: 0, refused: 1 },
    ]);
    const { last_used_at: lastUsedAt } = await store.db
      .selectFrom("api_keys")
      .select("last_used_at")
      .where("digest", "=", digestCredential(apiKey))
      .executeTakeFirstOrThrow();
    assert.ok(lastUsedAt! >= firstAnsweredAt && lastUsedAt! <= Date.now());
  });

  test("no log and no error contains a credential", async () => {
    const { apiKey, bearer, clientId } = await newAccount();
    const answers = [
      await send([["Authorization", `${bearer}x`]]),
      await send([
        ["Authorization", bearer],
        ["Origin", origin],
      ]),
      await send([["X-Client-Id", `${clientId}x`]]),
    ];
    const text = [...service.logged, ...answers.map((answer) => answer.body)].join("\n");
    assert.ok(!text.includes(apiKey.slice(15)));
    assert.ok(!text.includes(clientId));
  });
});

describe("the public GET routes", () => {
  test("ignore credentials and `Origin`", async () => {
    const { bearer, clientId } = await newAccount();
    const credentials = [
      {},
      { authorization: bearer, origin },
      { authorization: "Bearer nonsense" },
      { authorization: bearer, "x-client-id": clientId, origin: "null" },
      { "x-client-id": clientId },
    ];
    for (const headers of credentials) {
      const listed = await service.app.inject({ url: "/v1/chains", headers });
      assert.equal(listed.statusCode, 200);
      const absent = await service.app.inject({ url: `/v1/address/0x${"1".repeat(40)}`, headers });
      assert.equal(absent.statusCode, 404);
    }
  });
});
