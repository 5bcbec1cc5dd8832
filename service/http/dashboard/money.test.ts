// Tests the amounts that an account requested, by day and token. Other tests check the other
// amounts (events/observe.test.ts).

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { dayMs } from "../../flow/days.ts";
import { newIntent, startApp, type TestApp, token } from "../../testing/app.ts";
import { openBrowser } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const api = "/dashboard/api";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`GET /money of the dashboard on ${dialect}`, () => {
    let service: TestApp;
    const midnightMs = Math.floor(Date.now() / dayMs) * dayMs;
    let nowMs = midnightMs;
    before(async () => {
      const databaseUrl = dialect === "postgres" ? { databaseUrl: postgres.url } : {};
      service = await startApp({ ...databaseUrl, now: () => nowMs });
    });
    after(() => service.close());

    const money = async (browser: ReturnType<typeof openBrowser>, query = "") => {
      const answer = await browser.get(`${api}/money${query}`);
      assert.equal(answer.statusCode, 200, answer.body);
      return answer.json();
    };

    test("returns 400 for an invalid number of days", async () => {
      const browser = openBrowser(service);
      await browser.signUp("eve@example.com");
      for (const days of ["0", "93", "x"])
        assert.equal((await browser.get(`${api}/money?days=${days}`)).statusCode, 400);
    });

    test("counts each address once, even during simultaneous requests", async () => {
      const browser = openBrowser(service);
      await browser.signUp("ada@example.com");
      const amount = (2n ** 256n - 1n).toString();
      for (const at of [-dayMs - 60_000, -dayMs - 50_000, -60_000, -50_000, 0]) {
        nowMs = midnightMs + at;
        const expirationTimestamp = Math.floor(nowMs / 1000) + 3600;
        const intent = { ...newIntent(), amount, expirationTimestamp };
        const made = await browser.post(`${api}/addresses`, intent);
        assert.equal(made.statusCode, 200, made.body);
      }
      const asked = async () =>
        (await money(browser)).items.map((row: Record<string, unknown>) => [
          ...[row.day, row.token, row.requestedCount, row.requested, row.paid],
        ]);
      await Promise.all([money(browser), money(browser), money(browser)]);
      const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
      const twice = (2n * (2n ** 256n - 1n)).toString();
      const older = [
        [dayOf(midnightMs - 2 * dayMs), token, 2, twice, "0"],
        [dayOf(midnightMs - dayMs), token, 2, twice, "0"],
      ];
      assert.deepEqual(await asked(), older, "the last 15 s are not counted yet");
      nowMs += 20_000;
      const today = [dayOf(midnightMs), token, 1, amount, "0"];
      assert.deepEqual(await asked(), [...older, today]);
      assert.deepEqual(await asked(), [...older, today]);
      assert.equal((await money(browser, "?days=1")).items.length, 1);
    });

    test("counts at most 8,000 addresses per request", async () => {
      const browser = openBrowser(service);
      const { accountId } = (await browser.signUp("many@example.com")).json();
      const { db } = service.parts.store;
      const terms = Buffer.alloc(700);
      for (let from = 0; from < 8_100; from += 300) {
        const rows = Array.from({ length: 300 }, (_, at) => ({
          address: Buffer.from((from + at).toString(16).padStart(40, "0"), "hex"),
          terms,
          ...{ chain_id: 1, token: Buffer.alloc(20), amount: "5", expires_at: 0 },
          account_id: accountId,
          created_at: nowMs - 3_600_000,
        }));
        await db.insertInto("records").values(rows).execute();
      }
      const counts = async () => {
        const { items, isMore } = await money(browser);
        return [items[0].requestedCount, items[0].requested, isMore];
      };
      assert.deepEqual(await counts(), [8_000, "40000", true]);
      assert.deepEqual(await counts(), [8_100, "40500", false]);
    });
  });
}
