// Tests what an attacker can do with a copy of the database. The copy includes every row, and the
// secret that signs cookies.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { sql } from "kysely";
import { ensureSecret } from "../../service/accounts/secret.ts";
import type { TestApp } from "../../service/testing/app.ts";
import { openBrowser } from "../../service/testing/browser.ts";
import { type Deployment, deployments, startDeployment } from "./deployments.ts";

for (const kind of deployments) {
  describe(`a stolen copy of the database of ${kind}`, () => {
    let deployed: Deployment;
    let service: TestApp;
    before(async () => {
      deployed = await startDeployment(kind);
      service = deployed.next();
    });
    after(() => deployed.close());

    /**
     * Sends each server a request for the account. The request's cookie contains `token`, and is
     * signed with the secret from the database. Returns the distinct response statuses.
     */
    const statusesWith = async (token: string) => {
      const secret = await ensureSecret(service.parts.store.db);
      const signature = createHmac("sha256", secret).update(token).digest("base64");
      const cookie = `eas-session=${encodeURIComponent(`${token}.${signature}`)}`;
      const url = "/dashboard/api/account";
      const asked = deployed.servers.map(({ app }) => app.inject({ url, headers: { cookie } }));
      return [...new Set((await Promise.all(asked)).map(({ statusCode }) => statusCode))];
    };

    test("a session token from the database is rejected with 401", async () => {
      const browser = openBrowser(service);
      await browser.signUp("backup@example.com");
      const { rows } = await sql<{ token: string }>`select token from auth_sessions`.execute(
        service.parts.store.db,
      );
      assert.equal(rows.length, 1);
      assert.deepEqual(await statusesWith(rows[0]!.token), [401]);
      // Control: the servers accept the user's own token. This shows that the cookie is signed
      // correctly.
      const [token = ""] = decodeURIComponent(browser.jar.get("eas-session") ?? "").split(".");
      assert.deepEqual(await statusesWith(token), [200]);
      assert.notEqual(rows[0]!.token, token);
    });

    test("the database contains no credentials in plain text", async () => {
      const browser = openBrowser(service);
      const email = "backup2@example.com";
      await browser.signUp(email);
      const { apiKey } = await service.newKey();
      const made = await service.parts.accounts.signIn.makeResetSecret(email, { atMs: Date.now() });
      const tables = ["api_keys", "auth_sessions", "auth_passwords", "auth_tokens", "audit"];
      let copy = "";
      for (const table of tables) {
        const { rows } = await sql`select * from ${sql.table(table)}`.execute(
          service.parts.store.db,
        );
        copy += JSON.stringify(rows, (_, value) =>
          value?.type === "Buffer" ? Buffer.from(value.data).toString("latin1") : value,
        );
      }
      const [session = ""] = decodeURIComponent(browser.jar.get("eas-session") ?? "").split(".");
      for (const secret of [apiKey, session, made!, "correct horse battery staple"]) {
        assert.ok(secret.length > 15 && !copy.includes(secret));
      }
    });
  });
}
