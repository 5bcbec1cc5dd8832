// Tests that a create request is atomic. It saves the record, the owner, and the reference
// together. A failed request saves nothing, so the client can repeat the request.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { isLong } from "../../../scripts/long.ts";
import { findCredentials } from "../../accounts/account.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { newIntent, startApp, type TestApp, token } from "../../testing/app.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const origin = "https://shop.example.com";
/**
 * The number of simultaneous create requests per API key (`server`) and client ID (`page`). The
 * rate limits allow bursts of 100 requests per API key and 20 per client ID.
 */
const parallel = { server: 99, page: 20 };
const kills = isLong ? 4 : 1;
/**
 * The number of accounts in the test that kills the server. The test creates the addresses with the
 * client IDs of these accounts. With this number of accounts, no account reaches its rate limit.
 */
const pagesCount = 24;

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

/**
 * The expiration time of every intent. It is constant, so intents with the same number are equal.
 */
const expiry = Math.floor(Date.now() / 1000) + 3600;
function numberedIntent(number: number, expirationTimestamp: number, token: string) {
  return {
    token,
    amount: "25000000",
    calls: [
      {
        target: token,
        function: "transfer(address to, uint256 value)",
        args: ["0x1111111111111111111111111111111111111111", "25000000"],
      },
    ],
    expirationTimestamp,
    recovery: "0x2222222222222222222222222222222222222222",
    salt: `0x${number.toString(16).padStart(64, "0")}`,
    chainId: 1,
  };
}

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`POST /v1/address/create with a reference on ${dialect}`, () => {
    let service: TestApp;
    let databaseUrl: string | undefined;
    const more = () => (databaseUrl ? { databaseUrl } : {});
    before(async () => {
      databaseUrl = dialect === "postgres" ? postgres.url : undefined;
      service = await startApp(more());
    });
    after(() => service.close());

    async function newAccount({ parts, newKey }: TestApp) {
      const { accountId, apiKey } = await newKey();
      await addOrigin(parts.store.db, accountId, origin, { atMs: Date.now() });
      const { clientId } = await findCredentials(parts.store.db, accountId);
      return {
        accountId,
        server: { authorization: `Bearer ${apiKey}` },
        page: { "x-client-id": clientId.client_id, origin },
      };
    }
    const create = (headers: object, reference: string, intent: object, { app } = service) =>
      app.inject({
        method: "POST",
        url: `/v1/address/create?reference=${reference}`,
        headers: { ...headers, "content-type": "application/json" },
        payload: JSON.stringify(intent),
      });
    const countRecords = async (accountId: string) => {
      const all = service.parts.store.db.selectFrom("owners").select("address");
      return (await all.where("account_id", "=", accountId).execute()).length;
    };

    /** Calls `act` while the database cannot save references. */
    async function withoutReferences<Done>(act: () => Promise<Done>): Promise<Done> {
      const { db } = service.parts.store;
      if (dialect === "postgres") {
        const blocker = await postgres.newPool(postgres.url).connect();
        await blocker.query("begin; lock table address_references in exclusive mode");
        return act().finally(async () => {
          await blocker.query("rollback");
          blocker.release();
        });
      }
      await sql`create trigger no_references before insert on address_references
        begin select raise(abort, 'the disk is full'); end`.execute(db);
      return act().finally(() => sql`drop trigger no_references`.execute(db));
    }

    for (const credential of ["server", "page"] as const) {
      test(`returns 503 while references cannot be saved (${credential})`, async () => {
        const account = await newAccount(service);
        const intent = newIntent();
        const ask = () => create(account[credential], "order-1", intent);
        const failed = await withoutReferences(ask);
        assert.deepEqual(
          [failed.statusCode, failed.json().error.code],
          [503, "service_unavailable"],
        );
        const repeated = await ask();
        assert.equal(repeated.statusCode, 200, repeated.body);
        assert.equal((await ask()).body, repeated.body);
        assert.equal(await countRecords(account.accountId), 1);
      });

      test(`saves only one of many intents with the same reference (${credential})`, async () => {
        const account = await newAccount(service);
        const answers = await Promise.all(
          Array.from({ length: parallel[credential] }, () =>
            create(account[credential], "order-2", newIntent()),
          ),
        );
        const made = answers.filter(({ statusCode }) => statusCode === 200);
        const refused = answers.filter(({ statusCode }) => statusCode === 409);
        assert.deepEqual([made.length, refused.length], [1, parallel[credential] - 1]);
        const { address } = made[0]!.json();
        for (const { error } of refused.map((answer) => answer.json())) {
          assert.deepEqual([error.code, error.issues[0].message], ["reference_in_use", address]);
        }
        assert.equal(await countRecords(account.accountId), 1);
      });
    }

    test("saves one of two intents with the same reference but different expirations", async () => {
      const { accountId, server } = await newAccount(service);
      const { salt: _, ...intent } = newIntent();
      const codes = await Promise.all(
        [0, 1].map(async (later) => {
          const expirationTimestamp = intent.expirationTimestamp + later;
          return (await create(server, "order-3", { ...intent, expirationTimestamp })).statusCode;
        }),
      );
      assert.deepEqual(codes.toSorted(), [200, 409]);
      assert.equal(await countRecords(accountId), 1);
    });

    test("saves only one of many intents with the same reference on two servers", {
      skip: dialect === "sqlite" ? "one server has the file" : false,
    }, async () => {
      const { accountId, server } = await newAccount(service);
      const other = await startApp(more());
      const answers = await Promise.all(
        Array.from({ length: parallel.server }, (_, nth) =>
          create(server, "order-4", newIntent(), nth % 2 ? service : other),
        ),
      );
      await other.close();
      assert.equal(answers.filter(({ statusCode }) => statusCode === 200).length, 1);
      assert.equal(await countRecords(accountId), 1);
    });

    test("returns 200 to a repeated request after `kill -9`", async () => {
      const dataDirectory = mkdtempSync(join(tmpdir(), "killed-"));
      const place = databaseUrl ? { databaseUrl } : { dataDirectory };
      for (let kill = 0; kill < kills; kill++) {
        const first = await startApp(place);
        const accounts = Array.from({ length: pagesCount }, () => newAccount(first));
        const pages = (await Promise.all(accounts)).map(({ page }) => page);
        await first.close();
        const from = 1_000 * kill;
        const last = await createUntilKilled(place, pages, from);
        const second = await startApp(place);
        for (let number = Math.max(from, last - 40); number < last + 40; number++) {
          const intent = numberedIntent(number, expiry, token);
          const page = pages[number % pagesCount]!;
          const { statusCode, body } = await create(page, `cart-${number}`, intent, second);
          assert.equal(statusCode, 200, `cart-${number} of kill ${kill}: ${body}`);
        }
        await second.close();
      }
      rmSync(dataDirectory, { recursive: true });
    });
  });
}

/**
 * Starts a server in a separate process. Sends it 32 create requests at a time, and then kills it.
 *
 * @returns the number of the last acknowledged request
 */
async function createUntilKilled(place: object, pages: object[], from: number): Promise<number> {
  const script = `
    import { startApp } from "${import.meta.resolve("../../testing/app.ts")}";
    ${numberedIntent}
    const { app } = await startApp(${JSON.stringify(place)});
    const pages = ${JSON.stringify(pages)};
    let next = ${from};
    const create = async () => {
      for (;;) {
        const number = next++;
        const { statusCode } = await app.inject({
          method: "POST",
          url: "/v1/address/create?reference=cart-" + number,
          headers: { ...pages[number % pages.length], "content-type": "application/json" },
          payload: JSON.stringify(numberedIntent(number, ${expiry}, "${token}")),
        });
        if (statusCode === 200) process.stdout.write(number + "\\n");
        else await sleep(50);
      }
    };
    for (let i = 0; i < 32; i++) create();`;
  const server = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let last = from;
  const lines = createInterface({ input: server.stdout! });
  lines.on("line", (line) => {
    last = Math.max(last, Number(line));
  });
  await once(lines, "line");
  await sleep(Math.random() * 20);
  server.kill("SIGKILL");
  await once(lines, "close");
  return last;
}
