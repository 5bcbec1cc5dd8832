// Somebody with many addresses searches among them: for as long as a search runs, nobody else may
// wait for it. And no query of the service may read a whole table.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { findReferences } from "../../service/events/references.ts";
import { startApp, type TestApp, token } from "../../service/http/app-for-tests.ts";
import { openBrowser } from "../../service/http/browser-for-tests.ts";
import { startPostgres, type TestPostgres } from "../../service/store/postgres-for-tests.ts";

const rows = process.env.ATTACKS === "long" ? 1_000_000 : 60_000;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`${rows} addresses of one account, on ${dialect}`, () => {
    let service: TestApp;
    let browser: ReturnType<typeof openBrowser>;
    const api = "/dashboard/api";

    before(async () => {
      service = await startApp(dialect === "postgres" ? { databaseUrl: postgres.url } : {});
      browser = openBrowser(service);
      const { accountId } = (await browser.signUp("many@example.com")).json();
      const { db } = service.parts.store;
      // Terms that are searched and never shown: of a token that nobody asks for.
      const insert =
        dialect === "postgres"
          ? sql`insert into records (address, terms, account_id, created_at)
              select decode(lpad(to_hex(n), 40, '0'), 'hex'), decode(repeat('00', 700), 'hex'),
                ${accountId}, 1700000000000 + n from generate_series(1, ${rows}::bigint) as n`
          : sql`with recursive counted (n) as
                (select 1 union all select n + 1 from counted where n < ${rows})
              insert into records (address, terms, account_id, created_at)
              select unhex(printf('%040x', n)), zeroblob(700), ${accountId}, 1700000000000 + n
              from counted`;
      await insert.execute(db);
    });
    after(() => service.close());

    test("a search is 41 statements of 400 rows at most, and goes on with the next", async () => {
      const executor = service.parts.store.db.getExecutor();
      const { executeQuery } = executor;
      const read: number[] = [];
      executor.executeQuery = async (query, ...more) => {
        const answer = await executeQuery.call(executor, query, ...more);
        if (/from (records|later_owners)/.test(query.sql)) read.push(answer.rows.length);
        return answer as never;
      };
      const answer = await browser.get(`${api}/addresses?token=${token}`);
      executor.executeQuery = executeQuery;
      const { items, next } = answer.json();
      assert.deepEqual(items, []);
      assert.ok(next);
      assert.ok(read.length > 10 && read.length <= 41, `${read.length} statements`);
      assert.equal(Math.max(...read), 400);
    });

    test("references are found by their keys, and not among all that the account has", async () => {
      const { db } = service.parts.store;
      const executor = db.getExecutor();
      if (dialect === "postgres") await sql`set enable_seqscan = off`.execute(db);
      const { executeQuery } = executor;
      const plans: string[] = [];
      executor.executeQuery = async (query, ...more) => {
        const explain = dialect === "postgres" ? "explain " : "explain query plan ";
        const asked = { ...query, sql: explain + query.sql };
        plans.push(JSON.stringify((await executeQuery.call(executor, asked, ...more)).rows));
        return executeQuery.call(executor, query, ...more) as never;
      };
      const pages = Array.from({ length: 20 }, (_, at) => Buffer.alloc(20, at));
      await findReferences(db, "acc_many", pages);
      executor.executeQuery = executeQuery;
      const byKey =
        dialect === "postgres" ? /account_id = .*address = / : /account_id=\? AND address=\?/;
      assert.match(plans.at(-1)!, byKey);
      assert.doesNotMatch(plans.at(-1)!, /\(account_id=\?\)|Seq Scan/);
    });

    test("429 beyond 200 requests at once, for this account alone", async () => {
      const other = openBrowser(service);
      await other.signUp("other@example.com");
      const asked = Array.from({ length: 400 }, () => browser.get(`${api}/account`));
      const statuses = (await Promise.all(asked)).map(({ statusCode }) => statusCode);
      assert.ok(statuses.includes(429));
      assert.equal((await other.get(`${api}/account`)).statusCode, 200);
    });

    test("every query of the dashboard is by index, by the database's own plan", async () => {
      const { db } = service.parts.store;
      // A table of two rows is read whole by any plan.
      for (let at = 0; at < 8; at++) await openBrowser(service).signUp(`more${at}@example.com`);
      await sql`analyze`.execute(db);
      const executor = db.getExecutor();
      const seen = new Map<string, readonly unknown[]>();
      const { executeQuery } = executor;
      executor.executeQuery = (query, ...more) => {
        seen.set(query.sql, query.parameters);
        return executeQuery.call(executor, query, ...more) as never;
      };
      const reader = openBrowser(service);
      await reader.signUp("reader@example.com");
      const address = `0x${"0".repeat(37)}`;
      const since = "2026-01-01T00:00:00Z";
      const searches = [
        ...["", `?token=${token}`, `?address=${address}`, `?address=${address}123`],
        ...["?state=executed", "?state=unfunded", "?reference=order", `?createdFrom=${since}`],
      ];
      const paths = searches.map((search) => `addresses${search}`);
      for (const path of [
        ...paths,
        "account",
        "credentials",
        "origins",
        "usage",
        "activity",
        "sessions",
      ]) {
        assert.equal((await reader.get(`${api}/${path}`)).statusCode, 200, path);
      }
      executor.executeQuery = executeQuery;
      const queries = [...seen].filter(([text]) => /^\s*(select|delete|update|with)/i.test(text));
      assert.ok(queries.length >= 10, `${queries.length} queries`);
      if (dialect === "postgres") await sql`set enable_seqscan = off`.execute(db);
      const explain = dialect === "postgres" ? "explain " : "explain query plan ";
      const planOf = async (text: string, parameters: readonly unknown[]) => {
        const query = { sql: explain + text, parameters, query: {}, queryId: { queryId: "plan" } };
        return JSON.stringify((await db.executeQuery(query as never)).rows);
      };
      // "page" is a subquery with a limit.
      const readsAll = /Seq Scan|SCAN (?!CONSTANT|page\b|\d)/;
      for (const [text, parameters] of queries) {
        const plan = await planOf(text, parameters);
        assert.ok(!readsAll.test(plan), `${text}\n${plan}`);
      }
      // The control: the search as it was.
      const search = "select address from records where substr(terms, 45, 20) = terms";
      assert.match(await planOf(search, []), readsAll);
    });
  });
}
