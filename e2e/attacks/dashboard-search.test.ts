// Somebody with many addresses searches among them: for as long as a search runs, nobody else may
// wait for it. What each statement costs is held in service/testing/statements/.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { type TestApp, token } from "../../service/testing/app.ts";
import { openBrowser } from "../../service/testing/browser.ts";
import { type Deployment, deployments, startDeployment } from "./deployments.ts";

/** More than one request searches. */
const rows = 12_000;

for (const kind of deployments) {
  describe(`${rows} addresses of one account, on ${kind}`, () => {
    let deployed: Deployment;
    let service: TestApp;
    let browser: ReturnType<typeof openBrowser>;
    const api = "/dashboard/api";

    before(async () => {
      deployed = await startDeployment(kind);
      service = deployed.next();
      // Each of the servers answers some of what it asks.
      browser = openBrowser({
        ...service,
        get app() {
          return deployed.next().app;
        },
      });
      const { accountId } = (await browser.signUp("many@example.com")).json();
      const { db, dialect } = service.parts.store;
      // Terms that are searched and never shown: of a token that nobody asks for.
      const insert =
        dialect === "postgres"
          ? sql`insert into records (address, terms, chain_id, token, amount, expires_at,
                account_id, created_at)
              select decode(lpad(to_hex(n), 40, '0'), 'hex'), decode(repeat('00', 700), 'hex'),
                1, decode(repeat('00', 20), 'hex'), '1', 1, ${accountId},
                1700000000000 + n from generate_series(1, ${rows}::bigint) as n`
          : sql`with recursive counted (n) as
                (select 1 union all select n + 1 from counted where n < ${rows})
              insert into records (address, terms, chain_id, token, amount, expires_at,
                account_id, created_at)
              select unhex(printf('%040x', n)), zeroblob(700), 1, zeroblob(20), '1', 1,
                ${accountId}, 1700000000000 + n
              from counted`;
      await insert.execute(db);
    });
    after(() => deployed.close());

    test("a search reads 101 rows a statement at most, to the end of the list", async () => {
      const asked = openBrowser(service);
      for (const [name, value] of browser.jar) asked.jar.set(name, value);
      const executor = service.parts.store.db.getExecutor();
      const { executeQuery } = executor;
      const read: number[] = [];
      executor.executeQuery = async (query, ...more) => {
        const answer = await executeQuery.call(executor, query, ...more);
        if (/join records/.test(query.sql)) read.push(answer.rows.length);
        return answer as never;
      };
      const answer = await asked.get(`${api}/addresses?token=${token}`);
      executor.executeQuery = executeQuery;
      const { items, next } = answer.json();
      assert.deepEqual(items, []);
      assert.equal(next, null);
      assert.equal(read.length, Math.floor(rows / 101) + 1);
      assert.equal(Math.max(...read), 101);
    });

    test("a search for a part of a reference ends a page after 10,100 rows", async () => {
      const find = async (more: string) =>
        (await browser.get(`${api}/addresses?referenceContains=order${more}`)).json();
      const { items, next } = await find("");
      assert.deepEqual(items, []);
      assert.equal(Number(next.split("-")[0]), 1_700_000_000_000 + rows - 10_100 + 1);
      assert.deepEqual(await find(`&cursor=${next}`), { items: [], next: null });
    });

    test("429 beyond 200 requests at once, for this account alone", async () => {
      const other = openBrowser(service);
      await other.signUp("other@example.com");
      const began = performance.now();
      const asked = Array.from({ length: 400 }, () => browser.get(`${api}/account`));
      const statuses = (await Promise.all(asked)).map(({ statusCode }) => statusCode);
      const served = statuses.filter((status) => status === 200).length;
      const most = 200 + (performance.now() - began) / 100 + 1;
      assert.ok(served <= most && served < 400, `${served} of 400 served`);
      assert.ok(statuses.includes(429));
      assert.equal((await other.get(`${api}/account`)).statusCode, 200);
    });
  });
}
