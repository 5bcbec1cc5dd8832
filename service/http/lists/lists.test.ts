// Tests GET /v1/addresses, GET /v1/events, and references, on SQLite and PostgreSQL.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { payWithTolerance } from "executable-address";
import type { ListedAddress } from "executable-address/client";
import { findCredentials } from "../../accounts/account.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { newIntent, startApp, type TestApp } from "../../testing/app.ts";
import { openBrowser } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

type Page = { items: { address: string; reference: string | null }[]; next: string | null };
const origin = "https://shop.example.com";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`GET /v1/addresses and GET /v1/events on ${dialect}`, () => {
    let service: TestApp;
    let nowMs = Date.now();
    before(async () => {
      const databaseUrl = dialect === "postgres" ? postgres.url : undefined;
      service = await startApp({ now: () => nowMs, ...(databaseUrl && { databaseUrl }) });
    });
    after(() => service.close());

    const create = async (apiKey: string, reference?: string, intent: object = newIntent()) => {
      nowMs += 1;
      const query = reference === undefined ? "" : `?reference=${encodeURIComponent(reference)}`;
      return service.app.inject({
        method: "POST",
        url: `/v1/address/create${query}`,
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        payload: JSON.stringify(intent),
      });
    };
    const get = (apiKey: string, path: string) =>
      service.app.inject({ url: `/v1/${path}`, headers: { authorization: `Bearer ${apiKey}` } });
    const list = async (apiKey: string, query = ""): Promise<Page> => {
      const response = await get(apiKey, `addresses?${query}`);
      assert.equal(response.statusCode, 200, response.body);
      return response.json();
    };
    /**
     * Reads all pages.
     *
     * @param meanwhile called after each page
     */
    async function walk(apiKey: string, query: string, meanwhile = async () => {}) {
      const found: string[] = [];
      for (let cursor = ""; ; ) {
        const page = await list(apiKey, `${query}${cursor && `&cursor=${cursor}`}`);
        found.push(...page.items.map(({ address }) => address));
        if (page.next === null || (query.includes("oldest") && page.items.length === 0)) break;
        cursor = page.next;
        await meanwhile();
      }
      return found;
    }

    test("return 401 without a credential and 403 for a client ID", async () => {
      const { accountId, apiKey } = await service.newKey();
      await addOrigin(service.parts.store.db, accountId, origin, { atMs: nowMs });
      const { clientId } = await findCredentials(service.parts.store.db, accountId);
      const id = { "x-client-id": clientId.client_id, origin };
      for (const path of ["/v1/addresses", "/v1/events", "/v1/events/evt_1"]) {
        const code = async (headers: Record<string, string>) =>
          (await service.app.inject({ url: path, headers })).json().error?.code;
        assert.equal(await code({}), "unauthorized");
        assert.equal(
          await code({ authorization: `Bearer ${apiKey}`, origin }),
          "api_key_in_browser",
        );
        assert.equal(await code(id), "forbidden");
      }
    });

    test("return 400 with the path of each error in a query", async () => {
      const { apiKey } = await service.newKey();
      for (const [query, path] of [
        ["limit=0", "limit"],
        ["limit=101", "limit"],
        ...["1e1", "10.0", "0x10", "%2010", "%2B5", "05", "-0", ""].flatMap((number) => [
          [`limit=${number}`, "limit"],
          [`chainId=${number}`, "chainId"],
        ]),
        ["reference=a%00b", "reference"],
        ["order=best", "order"],
        ["state=paid", "state"],
        ["token=0x12", "token"],
        ["cursor=1", "cursor"],
        ["createdFrom=yesterday", "createdFrom"],
        ["chainId=x", "chainId"],
        ["states=funded", ""],
      ]) {
        const response = await get(apiKey, `addresses?${query}`);
        assert.equal(response.statusCode, 400, query);
        assert.equal(response.json().error.issues[0].path.join("."), path);
      }
      assert.equal((await get(apiKey, "events?cursor=-1")).statusCode, 400);
      assert.equal((await get(apiKey, "events?limit=1e1")).statusCode, 400);
    });

    test("do not list an address if its create request had an invalid reference", async () => {
      const { apiKey } = await service.newKey();
      for (const reference of ["", "x".repeat(129), "a\nb", "a\u202eb", "\u200b"]) {
        const response = await create(apiKey, reference);
        assert.equal(response.statusCode, 400, JSON.stringify(reference));
        assert.equal(response.json().error.issues[0].code, "malformed_reference");
      }
      const twice = await service.app.inject({
        method: "POST",
        url: "/v1/address/create?reference=a&reference=b",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        payload: JSON.stringify(newIntent()),
      });
      assert.equal(twice.statusCode, 400);
      assert.deepEqual((await list(apiKey)).items, []);
    });

    test("show and find each account's own reference for a shared address", async () => {
      const [a, b] = [await service.newKey(), await service.newKey()];
      const intent = newIntent();
      const plain = await create(a.apiKey, undefined, intent);
      const named = await create(a.apiKey, "order-42", intent);
      await create(b.apiKey, "Bestellung Nr. 7 – Ä", intent);
      assert.equal(named.body, plain.body);
      const referenceOf = async (apiKey: string) => (await list(apiKey)).items[0]?.reference;
      assert.equal(await referenceOf(a.apiKey), "order-42");
      assert.equal(await referenceOf(b.apiKey), "Bestellung Nr. 7 – Ä");
      await create(a.apiKey, "order-43", intent);
      await create(a.apiKey, undefined, intent);
      assert.equal(await referenceOf(a.apiKey), "order-43");
      const { address } = plain.json();
      assert.equal((await service.app.inject(`/v1/address/${address}`)).body, plain.body);
      assert.deepEqual((await list(a.apiKey, "reference=order-42")).items, []);
      const foundBy = async (apiKey: string, part: string) =>
        (await list(apiKey, `referenceContains=${encodeURIComponent(part)}`)).items.length;
      for (const part of ["order-42", "order%", "o_der", "order-433"]) {
        assert.equal(await foundBy(a.apiKey, part), 0, part);
      }
      assert.equal(await foundBy(b.apiKey, "order-4"), 0, "another account's");
      for (const part of ["order-43", "ORDER", "-4", " der-43 "]) {
        assert.equal(await foundBy(a.apiKey, part), 1, part);
      }
      assert.equal(await foundBy(b.apiKey, "NR. 7 – ä"), 1, "letters beyond ASCII");
      assert.equal(await foundBy(b.apiKey, "A\u0308"), 1, "one spelling of a letter");
      assert.equal((await list(a.apiKey, "reference=order-43")).items[0]?.address, address);
      assert.deepEqual((await list(b.apiKey, "reference=order-43")).items, []);
    });

    test("list each address once even if addresses are added between two pages", async () => {
      const { apiKey } = await service.newKey();
      const other = await service.newKey();
      const made: string[] = [];
      for (let i = 0; i < 23; i++) {
        // Some addresses have equal creation times. For some addresses, another account was the
        // first creator.
        if (i % 3 === 0) nowMs -= 1;
        const intent = newIntent();
        if (i % 4 === 0) await create(other.apiKey, undefined, intent);
        made.push((await create(apiKey, undefined, intent)).json().address);
      }
      const add = async () => {
        await create(apiKey);
      };
      const newest = await walk(apiKey, "limit=5", add);
      assert.deepEqual(newest.toSorted(), made.toSorted());
      assert.deepEqual(await walk(apiKey, "limit=100&order=oldest"), []);
      nowMs += 15_001;
      let added = 0;
      const oldest = await walk(apiKey, "limit=4&order=oldest", async () => {
        if (added++ < 3) await add();
        nowMs += 15_001;
      });
      assert.equal(new Set(oldest).size, oldest.length);
      const all = await walk(apiKey, "limit=100");
      assert.deepEqual(oldest.toSorted(), all.toSorted());
    });

    test("filter addresses by state, token, chain, and time", async () => {
      const { accountId, apiKey } = await service.newKey();
      const start = new Date(nowMs).toISOString();
      const records: { address: string }[] = [];
      for (let i = 0; i < 4; i++) records.push((await create(apiKey)).json());
      const [first, second] = records.map(({ address }) => Buffer.from(address.slice(2), "hex"));
      const token = Buffer.from(newIntent().token.slice(2), "hex");
      const row = { account_id: accountId, chain_id: 1, token, marked_block: 1, readings: 0 };
      const seen = { version: 1, sequence: 1, block_number: 7, block_time: 700 };
      const found = { ...row, ...seen, block_hash: `0x${"7".repeat(64)}` };
      const hash = `0x${"a".repeat(64)}`;
      await service.parts.store.db
        .insertInto("watches")
        .values([
          {
            ...found,
            address: first!,
            created_at: nowMs - 3,
            state: "executed",
            transaction_hash: hash,
            settled_at: nowMs + 5,
          },
          { ...found, address: second!, created_at: nowMs - 2, state: "funded" },
        ])
        .execute();
      const addresses = async (query: string) =>
        (await list(apiKey, query)).items.map(({ address }) => address);
      assert.deepEqual(await addresses("state=executed"), [records[0]?.address]);
      assert.deepEqual(await addresses("state=funded&chainId=1"), [records[1]?.address]);
      assert.deepEqual(await addresses("state=funded&chainId=10"), []);
      assert.equal((await addresses("state=unfunded")).length, 2);
      assert.equal((await addresses("state=expired")).length, 0);
      const before = nowMs;
      nowMs = newIntent().expirationTimestamp * 1000 + 1;
      assert.equal((await addresses("state=unfunded")).length, 0);
      assert.deepEqual(await addresses("state=expired"), [
        records[3]?.address,
        records[2]?.address,
      ]);
      nowMs = before;
      assert.equal((await addresses(`token=${newIntent().token}`)).length, 4);
      assert.deepEqual(await addresses(`token=0x${"3".repeat(40)}`), []);
      assert.equal((await addresses(`createdFrom=${start}`)).length, 4);
      assert.deepEqual(await addresses(`createdUntil=${start}`), []);
      assert.deepEqual(await addresses(`settledFrom=${start}`), [records[0]?.address]);
      assert.deepEqual(await addresses(`settledUntil=${start}`), []);
      const [item] = (await list(apiKey, "state=executed")).items as never[];
      const { state, block, transactionHash, settledAt, amount } = item!;
      assert.deepEqual(
        { state, block, transactionHash, settledAt, amount },
        {
          state: "executed",
          block: { number: 7, hash: found.block_hash, timestamp: 700 },
          transactionHash: hash,
          settledAt: new Date(nowMs + 5).toISOString(),
          amount: "25000000",
        },
      );
    });

    test("show, as `requestedAmount`, the largest amount that the calls can collect", async () => {
      const { apiKey } = await service.newKey();
      const { token } = newIntent();
      const collect = (least: bigint, most: bigint) =>
        payWithTolerance({ token, recipient: token, least, most }).calls;
      const calls = [...collect(20n, 22n), ...collect(4n, 5n)];
      const both = { ...newIntent(), amount: "24", calls };
      assert.equal((await create(apiKey, undefined, both)).statusCode, 200);
      const [row] = (await list(apiKey)).items as never as ListedAddress[];
      assert.deepEqual([row!.amount, row!.requestedAmount], ["24", "27"]);
    });

    test("the route `mine` shows an address only to its own account", async () => {
      const [mine, other] = [await service.newKey(), await service.newKey()];
      const { address } = (await create(mine.apiKey)).json();
      const path = `address/${address}/mine`;
      assert.equal((await get(other.apiKey, path)).statusCode, 404);
      const [row] = (await list(mine.apiKey, "")).items;
      assert.deepEqual((await get(mine.apiKey, path)).json(), row);
    });

    test("return 404 `not_found` for an unknown event", async () => {
      const { apiKey } = await service.newKey();
      for (const [id, found] of [
        ["evt_9", '"evt_9"'],
        [encodeURIComponent("ä"), "1 characters"],
      ]) {
        const missing = await get(apiKey, `events/${id}`);
        const { code, message } = missing.json().error;
        assert.deepEqual([missing.statusCode, code], [404, "not_found"]);
        assert.equal(message, `the account has no event ${found} in the last 30 days`);
      }
    });

    test("list only the account's events after the cursor, in order", async () => {
      const [mine, other] = [await service.newKey(), await service.newKey()];
      const rows = [mine, other].flatMap(({ accountId }) =>
        Array.from({ length: 5 }, (_, i) => ({
          account_id: accountId,
          position: i + 1,
          id: `evt_${accountId}_${i}`,
          type: "address.funded",
          address: Buffer.alloc(20),
          sequence: i + 1,
          created_at: nowMs,
          body: JSON.stringify({ id: `${accountId} ${i}` }),
        })),
      );
      await service.parts.store.db.insertInto("events").values(rows).execute();
      const read = async (query: string) => (await get(mine.apiKey, `events?${query}`)).json();
      const first = await read("limit=3");
      assert.equal(first.items[0].id, `${mine.accountId} 0`);
      assert.deepEqual([first.items.length, first.next, first.hasMore], [3, "3", true]);
      const second = await read(`limit=3&cursor=${first.next}`);
      assert.deepEqual([second.items.length, second.next, second.hasMore], [2, "5", false]);
      const third = await read(`cursor=${second.next}`);
      assert.deepEqual(third, { items: [], next: "5", hasMore: false });
      const theirs = await get(mine.apiKey, `events/evt_${other.accountId}_0`);
      assert.equal(theirs.statusCode, 404);
      const one = await get(mine.apiKey, `events/evt_${mine.accountId}_1`);
      assert.deepEqual([one.statusCode, one.body], [200, rows[1]!.body]);
    });

    test("list full pages of events of the requested types", async () => {
      const { accountId, apiKey } = await service.newKey();
      const rows = Array.from({ length: 1_205 }, (_, i) => ({
        ...{ account_id: accountId, position: i + 1, id: `evt_${accountId}_${i}` },
        type: [3, 1_100, 1_200].includes(i) ? "address.reverted" : "address.funded",
        ...{ address: Buffer.alloc(20), sequence: i + 1, created_at: nowMs, body: `{"id":"${i}"}` },
      }));
      for (let at = 0; at < rows.length; at += 100)
        await service.parts.store.db
          .insertInto("events")
          .values(rows.slice(at, at + 100))
          .execute();
      const read = async (query: string) => {
        const { items, next, hasMore } = (await get(apiKey, `events?${query}`)).json();
        return [items.map(({ id }: { id: string }) => id), next, hasMore];
      };
      const types = "types=address.reverted,address.expired";
      assert.deepEqual(await read(types), [["3", "1100", "1200"], "1201", false]);
      assert.deepEqual(await read(`${types}&limit=1`), [["3"], "4", true]);
      assert.deepEqual(await read(`${types}&limit=2`), [["3", "1100"], "1101", true]);
      assert.deepEqual(await read(`${types}&cursor=4&limit=2`), [["1100", "1200"], "1201", false]);
      assert.deepEqual(await read("types=address.expired"), [[], "1000", false]);
      for (const wrong of ["types=", "types=address.paid", "types=address.funded,"])
        assert.equal((await get(apiKey, `events?${wrong}`)).statusCode, 400, wrong);
    });

    test("find addresses by reference, also in the dashboard", async () => {
      const browser = openBrowser(service);
      await browser.signUp(`${Math.random()}@example.com`);
      const keys = "/dashboard/api/credentials/api-key";
      const { apiKey } = (await browser.post(keys, {})).json();
      const { address } = (await create(apiKey, "order-1")).json();
      await create(apiKey);
      const find = async (query: string) =>
        (await browser.get(`/dashboard/api/addresses?${query}`)).json().items;
      const references = (await find("")).map((item: { reference: string }) => item.reference);
      assert.deepEqual(references, [null, "order-1"]);
      assert.deepEqual(
        (await find("reference=order-1")).map((each: { address: string }) => each.address),
        [address],
      );
      assert.deepEqual(await find("reference=order-2"), []);
    });

    test("have a rate limit that is separate from the limit on create requests", async () => {
      const { apiKey } = await service.newKey();
      const reads = () => Promise.all(Array.from({ length: 200 }, () => get(apiKey, "events")));
      // The limit refills while the test sends requests. On a slow machine, 200 requests may not
      // exhaust the limit. The test therefore sends more requests until one is refused.
      while (!(await reads()).some(({ statusCode }) => statusCode === 429));
      const made = await create(apiKey);
      assert.equal(made.statusCode, 200);
      assert.match(String(made.headers.ratelimit), /^"api-key";r=99;/);
    });

    test("update the key's last use, but do not count as create requests", async () => {
      const { accountId, apiKey } = await service.newKey();
      await get(apiKey, "events");
      await service.parts.accounts.usage.flush();
      const { db } = service.parts.store;
      const found = await findCredentials(db, accountId);
      assert.ok(found.apiKeys[0]?.last_used_at);
      const usage = db.selectFrom("usage").selectAll().where("account_id", "=", accountId);
      assert.deepEqual(await usage.execute(), []);
    });
  });
}
