// Tests the dashboard's list of addresses, its filters, and its statuses on SQLite and PostgreSQL.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { newIntent, startApp, type TestApp, token } from "../../testing/app.ts";
import { type Browser, openBrowser } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const api = "/dashboard/api";
const other = `0x${"ab".repeat(20)}`;
const settledAtMs = 1_795_255_786_000;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the dashboard's list of addresses on ${dialect}`, () => {
    let service: TestApp;
    let browser: Browser;
    let accountId: string;
    let nowMs = Date.now();
    const created: string[] = [];

    before(async () => {
      const databaseUrl = dialect === "postgres" ? { databaseUrl: postgres.url } : {};
      service = await startApp({ ...databaseUrl, now: () => nowMs });
      browser = openBrowser(service);
      accountId = (await browser.signUp("ada@example.com")).json().accountId;
      const key = await browser.post(`${api}/credentials/api-key`, {});
      for (const reference of ["order 1", "order 2", undefined]) {
        nowMs += 60_000;
        const { body } = await service.app.inject({
          method: "POST",
          url: `/v1/address/create${reference ? `?reference=${reference}` : ""}`,
          headers: { authorization: `Bearer ${key.json().apiKey}` },
          payload: newIntent(),
        });
        created.push(JSON.parse(body).address);
      }
      await service.parts.store.db
        .insertInto("watches")
        .values({
          account_id: accountId,
          address: Buffer.from(created[0]!.slice(2), "hex"),
          chain_id: 1,
          token: Buffer.from(token.slice(2), "hex"),
          created_at: nowMs - 120_000,
          ...{ marked_block: 7, readings: 0, version: 1, sequence: 2, state: "executed" },
          ...{ block_number: 9, block_hash: `0x${"0".repeat(64)}`, block_time: 1 },
          transaction_hash: `0x${"1".repeat(64)}`,
          settled_at: settledAtMs,
        })
        .execute();
    });
    after(() => service.close());

    const list = async (query: string): Promise<string[]> => {
      const answer = await browser.get(`${api}/addresses?${query}`);
      assert.equal(answer.statusCode, 200, answer.body);
      return answer.json().items.map(({ address }: { address: string }) => address);
    };

    test("returns 400 for an invalid address, state, or time", async () => {
      for (const [query, path] of [
        ["address=12", "address"],
        ["state=paid", "state"],
        ["createdFrom=yesterday", "createdFrom"],
      ]) {
        const answer = await browser.get(`${api}/addresses?${query}`);
        assert.equal(answer.statusCode, 400, query);
        assert.equal(answer.json().error.issues[0].path.join("."), path);
      }
    });

    test("filters by state, time, reference, and token", async () => {
      const [first, second, third] = created;
      const at = (ms: number) => encodeURIComponent(new Date(ms).toISOString());
      assert.deepEqual(await list(""), [third, second, first]);
      assert.deepEqual(await list("state=executed"), [first]);
      assert.deepEqual(await list("state=unfunded"), [third, second]);
      assert.deepEqual(await list("reference=order%202"), [second]);
      assert.deepEqual(await list("reference=order%202&state=executed"), []);
      assert.deepEqual(await list(`createdFrom=${at(nowMs - 60_000)}`), [third, second]);
      assert.deepEqual(await list(`createdUntil=${at(nowMs)}&token=${token}`), [second, first]);
      assert.deepEqual(await list(`state=unfunded&token=${other}`), []);
      assert.deepEqual(await list("state=expired"), []);
      assert.deepEqual(await list(`address=${first!.slice(0, 10)}&state=executed`), [first]);
      assert.deepEqual(await list(`address=${first}&state=unfunded`), []);
      assert.deepEqual(await list(`address=${first!.toLowerCase()}&token=${token}`), [first]);
    });

    test("has full pages except for the last page", async () => {
      const { db } = service.parts.store;
      const isOther = { chain_id: 1, token: Buffer.alloc(20, 7), amount: "1", expires_at: 1 };
      const rows = Array.from({ length: 450 }, (_, at) => ({
        address: randomBytes(20),
        terms: Buffer.alloc(256),
        account_id: accountId,
        created_at: nowMs + at,
        ...isOther,
      }));
      await db.insertInto("records").values(rows).execute();
      const page = async (query: string) => {
        const { items, next } = (await browser.get(`${api}/addresses?${query}`)).json();
        return [items.map(({ address }: { address: string }) => address), next === null];
      };
      const [first, second, third] = created;
      assert.deepEqual(await page(`token=${token}&limit=2`), [[third, second], false]);
      assert.deepEqual(await page(`token=${token}&limit=3`), [[third, second, first], true]);
      assert.deepEqual(await page(`token=0x${"11".repeat(20)}`), [[], true]);
      assert.deepEqual(await page("referenceContains=R"), [[second, first], true]);
      assert.deepEqual(await page("referenceContains=er%201&state=executed"), [[first], true]);
      await db.deleteFrom("records").where("expires_at", "=", 1).execute();
    });

    test("contains addresses with corrupt records, although a lookup returns 500", async () => {
      const { db } = service.parts.store;
      const [first, second, third] = created;
      const change = (address: string) => {
        const digits = Buffer.from(address.slice(2), "hex");
        return db.updateTable("records").where("address", "=", digits);
      };
      const held = await service.parts.store.findTerms(Buffer.from(second!.slice(2), "hex"));
      await change(second!)
        .set({ terms: Buffer.alloc(256) })
        .execute();
      assert.deepEqual(await list(""), [third, second, first]);
      assert.equal((await browser.get(`/v1/address/${second}`)).statusCode, 500);
      assert.equal((await browser.get(`/v1/address/${first}`)).statusCode, 200);
      await change(second!).set({ terms: held! }).execute();
    });

    test("shows an unpaid address as `expired` after its expiration time", async () => {
      const [, second, third] = created;
      const before = nowMs;
      const held = (await browser.get(`${api}/addresses`)).json().items;
      const expiries: number[] = held.map(
        ({ expirationTimestamp: at }: { expirationTimestamp: number }) => at,
      );
      nowMs = Math.min(...expiries) * 1000;
      assert.deepEqual(await list("state=unfunded"), [third, second]);
      nowMs = Math.max(...expiries) * 1000 + 1;
      assert.deepEqual(await list("state=expired"), [third, second]);
      assert.deepEqual(await list("state=unfunded"), []);
      const { items } = (await browser.get(`${api}/addresses`)).json();
      assert.deepEqual(
        items.map(({ state }: { state: string }) => state),
        ["expired", "expired", "executed"],
      );
      nowMs = before;
    });

    test("shows each address with its reference and last state", async () => {
      const { items } = (await browser.get(`${api}/addresses`)).json();
      assert.deepEqual(
        items.map(({ reference }: { reference: string | null }) => reference),
        [null, "order 2", "order 1"],
      );
      const nothing = { state: "unfunded", block: null, transactionHash: null, settledAt: null };
      assert.deepEqual({ ...items[0], ...nothing }, items[0]);
      assert.equal(items[2].state, "executed");
      assert.equal(items[2].block.number, 9);
      assert.equal(items[2].settledAt, new Date(settledAtMs).toISOString());
    });

    test("returns 400 for a statuses query without addresses or with more than 20", async () => {
      const many = Array.from({ length: 21 }, (_, at) => `0x${at}`).join();
      for (const query of ["", `?addresses=${many}`, `?addresses=${"0".repeat(1000)}`]) {
        assert.equal((await browser.get(`${api}/statuses${query}`)).statusCode, 400, query);
      }
    });

    test("returns an error for each address whose status cannot be read", async () => {
      const answer = await browser.get(`${api}/statuses?addresses=${created[0]},${other},0x12`);
      assert.equal(answer.statusCode, 200);
      assert.deepEqual(answer.json().items, [
        { address: created[0], error: "chain_unavailable" },
        { address: other, error: "not_found" },
        { address: "0x12", error: "invalid_request" },
      ]);
    });

    test("accepts a long intent that the API accepts", async () => {
      const note = {
        target: token,
        function: "note(bytes text)",
        args: [`0x${"5a".repeat(20_000)}`],
      };
      const intent = newIntent();
      const answer = await browser.post(`${api}/addresses`, {
        ...intent,
        calls: [...intent.calls, note],
      });
      assert.equal(answer.statusCode, 200, answer.body.slice(0, 500));
    });
  });
}
