// Tests the dashboard's search in an account with many addresses. A search must not delay other
// users. For the cost of each SQL statement, see service/testing/statements/.

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { encodeTerms, fromHex, type Hex, type Intent, makeRecord } from "executable-address";
import { sql } from "kysely";
import { listen, newIntent, type TestApp } from "../../service/testing/app.ts";
import { openBrowser } from "../../service/testing/browser.ts";
import { type Deployment, deployments, startDeployment } from "./deployments.ts";

/**
 * A search of this many addresses needs many SQL statements. Each statement reads at most 250 rows.
 */
const rows = 12_000;
const began = 1_700_000_000_000;
/**
 * The token that only three addresses request: the oldest, one in the middle, and the newest. The
 * tests search for these addresses by token, chain, and part of the reference.
 */
const rare: Hex = `0x${"11".repeat(20)}`;

for (const kind of deployments) {
  describe(`the dashboard of an account with ${rows} addresses, on ${kind}`, () => {
    let deployed: Deployment;
    let service: TestApp;
    let browser: ReturnType<typeof openBrowser>;
    const api = "/dashboard/api";

    before(async () => {
      deployed = await startDeployment(kind);
      service = deployed.next();
      // The requests alternate between the servers.
      browser = openBrowser({
        ...service,
        get app() {
          return deployed.next().app;
        },
      });
      const { accountId } = (await browser.signUp("many@example.com")).json();
      const { db, dialect } = service.parts.store;
      const [address, numbers] =
        dialect === "postgres"
          ? [
              sql`decode(lpad(to_hex(n), 40, '0'), 'hex')`,
              sql`generate_series(1, ${rows}::bigint) as n`,
            ]
          : [
              sql`unhex(printf('%040x', n))`,
              sql`(with recursive counted (n) as
                (select 1 union all select n + 1 from counted where n < ${rows})
                select n from counted)`,
            ];
      const terms = Buffer.from(encodeTerms(newIntent() as Intent));
      await sql`insert into records (address, terms, chain_id, token, amount, expires_at,
          account_id, created_at)
        select ${address}, ${terms}, 1, ${Buffer.alloc(20)}, '1', 1, ${accountId},
          cast(${began} as bigint) + n
        from ${numbers}`.execute(db);
      await sql`insert into address_references (account_id, address, reference, folded, created_at,
          by_client_id, is_again)
        select account_id, address, 'order-7', 'order-7', created_at, 0, 1
        from records`.execute(db);
      // Only three addresses appear in responses, so only their rows need valid records.
      for (const number of [1, rows / 2, rows]) {
        const salt: Hex = `0x${number.toString(16).padStart(64, "0")}`;
        const intent = { ...(newIntent() as Intent), token: rare, chainId: 10, salt };
        const record = makeRecord(intent, service.parts);
        const [address, terms] = [fromHex(record.address), fromHex(record.terms)];
        const row = { address, terms, token: fromHex(rare), chain_id: 10 };
        const named = { address, reference: "Order_7", folded: "order_7" };
        const at = began + number;
        await db.updateTable("records").set(row).where("created_at", "=", at).execute();
        await db
          .updateTable("address_references")
          .set(named)
          .where("created_at", "=", at)
          .execute();
      }
    });
    after(() => deployed.close());

    /** Returns how many rows each SQL statement of `search` read on the first server. */
    async function walkedBy(search: () => Promise<void>, meanwhile = async (_count: number) => {}) {
      const executor = service.parts.store.db.getExecutor();
      const { executeQuery } = executor;
      const walked: number[] = [];
      executor.executeQuery = async (query, ...more) => {
        const answer = await executeQuery.call(executor, query, ...more);
        // This statement selects the rows to search next.
        if (/ as at, a\.address from /.test(query.sql)) {
          walked.push(answer.rows.length);
          await meanwhile(walked.length);
        }
        return answer as never;
      };
      await search().finally(() => {
        executor.executeQuery = executeQuery;
      });
      return walked;
    }

    /** Returns a browser that has the same session and sends all requests to the first server. */
    const atOne = () => {
      const one = openBrowser(service);
      for (const [name, value] of browser.jar) one.jar.set(name, value);
      return one;
    };

    test("a search reads at most 250 rows per SQL statement", async () => {
      const walked = await walkedBy(async () => {
        const answer = await atOne().get(`${api}/addresses?token=0x${"22".repeat(20)}`);
        assert.deepEqual(answer.json(), { items: [], next: null });
      });
      assert.deepEqual(walked.slice(0, 4), [21, 84, 250, 250]);
      assert.equal(Math.max(...walked), 250);
      assert.equal(
        walked.reduce((sum, each) => sum + each),
        rows,
      );
    });

    for (const asked of ["referenceContains=Der_", `token=${rare}`, "chainId=10"]) {
      test(`a search for ${asked} finds addresses that are thousands of rows apart`, async () => {
        const find = async (more: string) => {
          const { items, next } = (await browser.get(`${api}/addresses?${asked}${more}`)).json();
          const at = items.map(({ createdAt }: Row) => Date.parse(createdAt) - began);
          return { at, next };
        };
        const first = await find("&limit=2");
        assert.deepEqual(first.at, [rows, rows / 2]);
        const last = await find(`&limit=2&cursor=${first.next}`);
        assert.deepEqual(last, { at: [1], next: null });
        assert.deepEqual((await find("&limit=2&order=oldest")).at, [1, rows / 2]);
        assert.deepEqual(await find("&limit=3"), { at: [rows, rows / 2, 1], next: null });
      });
    }

    test("a search ends when its client disconnects", async () => {
      const one = atOne();
      const cookie = [...one.jar].map(([name, value]) => `${name}=${value}`).join("; ");
      const head = [`GET ${api}/addresses?chainId=7 HTTP/1.1`, "Host: a", `Cookie: ${cookie}`];
      const port = await listen(service);
      const accepted = once(service.app.server, "connection");
      const client = connect(port, "127.0.0.1");
      const walked = await walkedBy(
        async () => {
          client.write(`${head.join("\r\n")}\r\n\r\n`);
          await once(client, "close");
          // Checks that the canceled search has ended. The server runs an account's queries one at
          // a time. If the search were still running, its next query would run between these two
          // requests.
          for (let read = 0; read < 2; read++) await one.get(`${api}/addresses?limit=1`);
        },
        async (count) => {
          if (count !== 2) return;
          const [atServer] = (await accepted) as [Socket];
          client.destroy();
          await once(atServer, "close");
        },
      );
      assert.deepEqual(walked, [21, 84, 2, 2]);
    });

    test("an account that sends too many simultaneous requests gets 429", async () => {
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

type Row = { createdAt: string };
