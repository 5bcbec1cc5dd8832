// Tests searches that read many rows and find nothing. Such a search must not noticeably delay
// other requests of any account.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { policies } from "../../accounts/policies.ts";
import { startApp, type TestApp } from "../../testing/app.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

/** The number of rows. A search reads them in 100 windows. */
const rows = 25_000;
const searches = 20;
const longMax = 3;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

/**
 * Creates addresses of an account. The addresses have no references, and their creation times are
 * one millisecond apart.
 */
async function fill({ parts: { store } }: TestApp, accountId: string) {
  const start = Date.now() - 10 * rows;
  for (let from = 0; from < rows; from += 4000) {
    const some = Array.from({ length: Math.min(4000, rows - from) }, (_, index) => {
      const address = Buffer.alloc(20, accountId);
      address.writeUInt32BE(from + index, 16);
      return {
        ...{ address, terms: Buffer.alloc(32), chain_id: 1, token: Buffer.alloc(20), amount: "1" },
        ...{ expires_at: 1, account_id: accountId, created_at: start + from + index },
      };
    });
    await store.db.insertInto("records").values(some).execute();
  }
  if (store.dialect === "postgres") await sql`analyze records`.execute(store.db);
}

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`a long search without results, on ${dialect}`, () => {
    let service: TestApp;
    let many: { accountId: string; apiKey: string };
    let other: { accountId: string; apiKey: string };
    before(async () => {
      const databaseUrl = dialect === "postgres" ? postgres.url : undefined;
      service = await startApp(databaseUrl ? { databaseUrl } : {});
      [many, other] = [await service.newKey(), await service.newKey()];
      await fill(service, many.accountId);
    });
    after(() => service.close());

    const list = (apiKey: string, query = "") =>
      service.app.inject({
        url: `/v1/addresses?${query}`,
        headers: { authorization: `Bearer ${apiKey}` },
      });
    const searchNothing = () => list(many.apiKey, "referenceContains=none");

    test("returns 503 if three searches of the account are already running", async () => {
      assert.deepEqual((await searchNothing()).json(), { items: [], next: null });
      let isOver = false;
      const all = Promise.all(Array.from({ length: searches }, searchNothing)).finally(() => {
        isOver = true;
      });
      let listed = 0;
      for (; !isOver && listed < 20; listed++) {
        const [others, own] = await Promise.all([list(other.apiKey), list(many.apiKey)]);
        assert.deepEqual([others.statusCode, own.statusCode], [200, 200]);
      }
      const answers = await all;
      assert.ok(listed > 3, `${listed} lists were answered before the searches ended`);
      const refused = answers.filter(({ statusCode }) => statusCode === 503);
      const found = answers.filter(({ statusCode }) => statusCode === 200);
      assert.deepEqual([found.length, refused.length], [longMax, searches - longMax]);
      for (const answer of refused) {
        assert.equal(answer.headers["retry-after"], "2");
        assert.equal(answer.json().error.code, "service_unavailable");
        assert.match(answer.json().error.message, /at most 3 simultaneous long searches, found 4:/);
      }
      assert.equal((await searchNothing()).statusCode, 200, "a place is free again");
    });

    test("returns 429 after too many searches of the account", async () => {
      const { limiter } = service.parts.accounts;
      const spendAll = async () => {
        while ((await limiter.take(`search ${many.accountId}`, policies.longSearches)).admitted);
      };
      let answer = await searchNothing();
      // After the test has used up the rate limit, the limit allows another long search every 2 s.
      // A search counts as long only after several windows. On a slow machine, these windows may
      // take longer than 2 s. The test therefore makes several attempts.
      for (let attempt = 0; attempt < 5 && answer.statusCode !== 429; attempt++) {
        await spendAll();
        answer = await searchNothing();
      }
      assert.equal(answer.statusCode, 429);
      assert.equal(answer.json().error.code, "rate_limited");
      assert.match(answer.json().error.message, /^too many long searches: expected at most /);
      assert.equal((await list(many.apiKey)).statusCode, 200);
      assert.equal((await list(other.apiKey)).statusCode, 200);
    });
  });
}
