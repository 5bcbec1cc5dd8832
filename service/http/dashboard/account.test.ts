// Tests sessions, and an address that is created in a session, on SQLite and PostgreSQL.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { newIntent, startApp, type TestApp } from "../../testing/app.ts";
import { openBrowser } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

const api = "/dashboard/api";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the sessions of an account on ${dialect}`, () => {
    let service: TestApp;
    before(async () => {
      service = await startApp(dialect === "postgres" ? { databaseUrl: postgres.url } : {});
    });
    after(() => service.close());

    type Item = { id: string; userAgent: string | null; isThis: boolean; expiresAt: string };
    const list = async (browser: ReturnType<typeof openBrowser>): Promise<Item[]> =>
      (await browser.get(`${api}/sessions`)).json().items;

    test("cannot be ended by another account, which gets 404", async () => {
      const [ada, eve] = [openBrowser(service), openBrowser(service)];
      await ada.signUp("ada@example.com");
      await eve.signUp("eve@example.com");
      const [session] = await list(ada);
      const answer = await eve.delete(`${api}/sessions`, { id: session!.id });
      assert.equal(answer.statusCode, 404);
      assert.equal((await ada.get(`${api}/account`)).statusCode, 200);
    });

    test("are listed with their browsers until they end", async () => {
      const [here, there] = [
        openBrowser(service, { "user-agent": "Here/1" }),
        openBrowser(service, { "user-agent": `There/${"2".repeat(300)}` }),
      ];
      await here.signUp("grace@example.com");
      await there.signIn("grace@example.com");
      const items = await list(here);
      assert.deepEqual(
        items.map(({ userAgent, isThis }) => [userAgent?.slice(0, 7), isThis]).sort(),
        [
          ["Here/1", true],
          ["There/2", false],
        ],
      );
      for (const { userAgent, expiresAt } of items) {
        assert.ok((userAgent ?? "").length <= 200);
        assert.ok(Date.parse(expiresAt) > Date.now());
      }
      const other = items.find(({ isThis }) => !isThis)!;
      assert.equal((await here.delete(`${api}/sessions`, { id: other.id })).statusCode, 200);
      assert.equal((await there.get(`${api}/account`)).statusCode, 401);
      assert.equal((await list(here)).length, 1);
      const { items: entries } = (await here.get(`${api}/activity`)).json();
      assert.equal(entries[0].event, "session_ended");
    });
  });

  describe(`POST /addresses of the dashboard on ${dialect}`, () => {
    let service: TestApp;
    before(async () => {
      const databaseUrl = dialect === "postgres" ? await postgres.newDatabase() : undefined;
      service = await startApp(databaseUrl ? { databaseUrl } : {});
    });
    after(() => service.close());

    test("requires a session, the dashboard's origin, and a valid intent", async () => {
      const stranger = openBrowser(service);
      assert.equal((await stranger.post(`${api}/addresses`, newIntent())).statusCode, 401);
      const browser = openBrowser(service);
      await browser.signUp("ada@example.com");
      const page = openBrowser(service, { origin: "https://evil.example" });
      page.jar.set("eas-session", browser.jar.get("eas-session")!);
      assert.equal((await page.post(`${api}/addresses`, newIntent())).statusCode, 403);
      const wrong = { ...newIntent(), amount: "1.5" };
      const answer = await browser.post(`${api}/addresses`, wrong);
      assert.equal(answer.statusCode, 400);
      assert.deepEqual(answer.json().error.issues[0].path, ["amount"]);
    });

    test("creates the same address as a create request with an API key", async () => {
      const browser = openBrowser(service);
      await browser.signUp("grace@example.com");
      const intent = newIntent();
      const record = (await browser.post(`${api}/addresses?reference=order%207`, intent)).json();
      const { apiKey } = await service.newKey();
      const created = await service.app.inject({
        method: "POST",
        url: "/v1/address/create",
        headers: { authorization: `Bearer ${apiKey}` },
        payload: intent,
      });
      assert.deepEqual(record, created.json());
      const { items } = (await browser.get(`${api}/addresses`)).json();
      assert.deepEqual(
        items.map(({ address, reference }: Record<string, string>) => [address, reference]),
        [[record.address, "order 7"]],
      );
    });
  });
}
