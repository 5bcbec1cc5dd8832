import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { rounds } from "../../../scripts/long.ts";
import { rotateApiKey } from "../../accounts/api-keys.ts";
import { newClientId } from "../../accounts/credentials.ts";
import { openAccounts } from "../../accounts/open.ts";
import { addOrigin, removeOrigin } from "../../accounts/origins/origin-list.ts";
import { policies } from "../../accounts/policies.ts";
import { newIntent, startApp, type TestApp } from "../../testing/app.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const count = rounds(20, 100);
const actor = { atMs: Date.now() };
const origin = "https://shop.example.com";

let postgres: TestPostgres;
let a: TestApp;
let b: TestApp;
before(async () => {
  postgres = await startPostgres();
  a = await startApp({ databaseUrl: postgres.url });
  b = await startApp({ databaseUrl: postgres.url });
});
after(async () => {
  await b?.close();
  await a?.close();
  await postgres.stop();
});

async function create(on: TestApp, headers: Record<string, string>): Promise<number> {
  const payload = newIntent();
  const url = "/v1/address/create";
  return (await on.app.inject({ method: "POST", url, headers, payload })).statusCode;
}
const createWith = (on: TestApp, apiKey: string) =>
  create(on, { authorization: `Bearer ${apiKey}` });

describe("two servers that share one PostgreSQL", () => {
  test("reject an API key immediately after one server has rotated it", async () => {
    const { accountId, apiKey } = await a.newKey();
    let held = apiKey;
    for (let round = 0; round < count; round++) {
      assert.equal(await createWith(b, held), 200);
      const { db } = a.parts.store;
      const rotated = await rotateApiKey(db, accountId, held.slice(0, 15), actor);
      const asked = Array.from({ length: 100 }, () => createWith(b, held));
      const statuses = new Set(await Promise.all(asked));
      assert.deepEqual([...statuses], [401]);
      held = rotated!.apiKey;
    }
  });

  test("reject an origin immediately after one server has removed it", async () => {
    const { accountId } = await a.newKey();
    const { db } = a.parts.store;
    const { client_id: clientId } = await db
      .selectFrom("client_ids")
      .select("client_id")
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow();
    const headers = { "x-client-id": clientId, origin };
    assert.equal(await create(b, headers), 403);
    await addOrigin(db, accountId, origin, actor);
    assert.equal(await create(b, headers), 200);
    await removeOrigin(db, accountId, origin, actor);
    assert.equal(await create(b, headers), 403);
  });

  test("share one rate limit", async () => {
    const { apiKey } = await a.newKey();
    const began = performance.now();
    const asked = Array.from({ length: 300 }, (_, i) => createWith(i % 2 ? a : b, apiKey));
    const passed = (await Promise.all(asked)).filter((status) => status === 200).length;
    const { burst, intervalMs } = policies.apiKey;
    assert.ok(passed >= burst, `${passed} passed`);
    assert.ok(passed <= burst + (performance.now() - began) / intervalMs + 1, `${passed} passed`);
  });

  test("share each account's daily limit of create requests", async () => {
    const limits = { addressesPerAccountDay: 7 };
    const bounded = await Promise.all(
      [1, 2].map(() => startApp({ databaseUrl: postgres.url, limits })),
    );
    const { apiKey } = await a.newKey();
    const asked = Array.from({ length: 20 }, (_, i) => createWith(bounded[i % 2]!, apiKey));
    const statuses = (await Promise.all(asked)).sort();
    assert.deepEqual(statuses, [...Array(7).fill(200), ...Array(13).fill(429)]);
    for (const each of bounded) await each.close();
  });

  test("share the limits on sign-in attempts and new accounts", async () => {
    const config = {
      publicUrl: a.parts.publicUrl,
      signup: "open",
      accountsPerNetworkDay: 3,
    } as const;
    const faults = { onLimiterFault: () => {}, onUsageFault: () => {} };
    const servers = await Promise.all(
      [a, b].map(({ parts }) => openAccounts(parts.store, config, faults)),
    );
    const admitted = async (attempt: (server: number) => Promise<number>) => {
      const waits = [];
      for (let at = 0; at < 30; at++) waits.push(await attempt(at % 2));
      return waits.filter((wait) => wait === 0).length;
    };
    const guess = { email: "ada@example.com", ip: "192.0.2.1", deviceCookie: undefined };
    const trySignIn = async (at: number, attempt: typeof guess | typeof known) =>
      (await servers[at]!.attempts.trySignIn(attempt)).waitMs;
    const known = { ...guess, deviceCookie: servers[0]!.attempts.deviceCookieFor(guess) };
    assert.equal(await admitted((at) => trySignIn(at, guess)), 10);
    const account = (at: number) => servers[at]!.attempts.tryNewAccount("198.51.100.1");
    assert.equal(await admitted(account), 3);
    assert.equal(await trySignIn(1, known), 0, "the control: a known browser");
    for (const server of servers) await server.close();
  });

  test("apply the rate limit in memory if the table `limits` is missing", async () => {
    const faults: unknown[] = [];
    const { store, publicUrl } = a.parts;
    const accounts = await openAccounts(
      store,
      { publicUrl, signup: "open" },
      { onLimiterFault: (error) => faults.push(error), onUsageFault: () => {} },
    );
    const alone = await startApp({ store, accounts });
    const { apiKey } = await a.newKey();
    await sql`alter table limits rename to limits_away`.execute(store.db);
    const asked = Array.from({ length: 250 }, () => createWith(alone, apiKey));
    const statuses = await Promise.all(asked);
    await sql`alter table limits_away rename to limits`.execute(store.db);
    const passed = statuses.filter((status) => status === 200).length;
    assert.ok(passed >= policies.apiKey.burst && passed < 250, `${passed} passed`);
    assert.equal(statuses.filter((status) => status === 429).length, 250 - passed);
    assert.equal(faults.length, 250);
    await alone.app.close();
    await accounts.close();
  });
});

describe("a server whose database does not respond", () => {
  const down = () => Promise.reject(new Error("connection refused"));

  test("returns 503 with `Retry-After` if it cannot read credentials", async (t) => {
    const broken = await startApp();
    t.after(() => broken.close());
    const { apiKey } = await broken.newKey();
    broken.parts.accounts.holders.findApiKey = down;
    broken.parts.accounts.holders.findClientId = down;
    const createWith = (headers: Record<string, string>) =>
      broken.app.inject({
        ...{ method: "POST", url: "/v1/address/create", payload: newIntent(), headers },
      });
    const bearer = { authorization: `Bearer ${apiKey}` };
    for (const headers of [bearer, { "x-client-id": newClientId() }]) {
      const answer = await createWith(headers);
      assert.equal(answer.statusCode, 503);
      assert.equal(answer.json().error.code, "service_unavailable");
      assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/);
    }
    assert.equal((await createWith({ ...bearer, origin })).statusCode, 403);
  });
});
