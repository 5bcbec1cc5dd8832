import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { isLong } from "../../../scripts/long.ts";
import { createAccount } from "../../accounts/account.ts";
import { startApp, type TestApp } from "../../testing/app.ts";
import { openBrowser, password, refuses } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

const newEmail = () => `${randomBytes(6).toString("hex")}@example.com`;

const newPassword = "another long password";
const weakPasswords = [
  ["short", "password_too_short"],
  ["passwordpassword", "password_guessable"],
] as const;

const databases: Record<string, () => Promise<string | undefined>> = {
  sqlite: async () => undefined,
  postgres: () => postgres.newDatabase(),
};

for (const [name, database] of Object.entries(databases)) {
  /** Options for tests that do not depend on the database. */
  const once = { skip: !isLong && name !== "sqlite" && "on PostgreSQL: npm run test:long" };

  describe(`the password routes on ${name}`, () => {
    let service: TestApp;
    before(async () => {
      service = await startApp({ databaseUrl: (await database()) as string });
    });
    after(() => service.close());

    test("return 400 `invalid_password` if the old password is wrong", async () => {
      const browser = openBrowser(service);
      await browser.signUp(newEmail());
      const wrong = { currentPassword: "not the present one", newPassword };
      refuses(await browser.post("/auth/change-password", wrong), 400, "invalid_password");
    });

    test("refuse a change with 400 if the new password is short or guessable", once, async () => {
      const browser = openBrowser(service);
      await browser.signUp(newEmail());
      for (const [word, code] of weakPasswords) {
        const change = { currentPassword: password, newPassword: word };
        refuses(await browser.post("/auth/change-password", change), 400, code);
      }
    });

    test("return 401 `unauthorized` for a change without a session", async () => {
      const change = { currentPassword: password, newPassword };
      const answer = await openBrowser(service).post("/auth/change-password", change);
      refuses(answer, 401, "unauthorized");
    });

    test("end all other sessions after a change of the password", async () => {
      const email = newEmail();
      const [here, there] = [openBrowser(service), openBrowser(service)];
      await here.signUp(email);
      await there.signIn(email);
      const change = { currentPassword: password, newPassword, revokeOtherSessions: true };
      assert.equal((await here.post("/auth/change-password", change)).statusCode, 200);
      assert.equal((await here.get("/dashboard/api/account")).statusCode, 200);
      assert.equal((await there.get("/dashboard/api/account")).statusCode, 401);
      refuses(await there.signIn(email), 401, "invalid_email_or_password");
      assert.equal((await there.signIn(email, newPassword)).statusCode, 200);
    });

    /** Creates an account without a password, and returns its email and a reset token. */
    const newReset = async () => {
      const { store, accounts } = service.parts;
      const email = newEmail();
      await createAccount(store.db, email, { atMs: Date.now() });
      const token = await accounts.signIn.makeResetSecret(email, { atMs: Date.now() });
      return { email, token };
    };
    const reset = (body: object) => openBrowser(service).post("/auth/reset-password", body);

    test("return 400 `invalid_token` for an unknown or used reset token", async () => {
      const { token } = await newReset();
      refuses(await reset({ token: `${token}x`, newPassword }), 400, "invalid_token");
      assert.equal((await reset({ token, newPassword })).statusCode, 200);
      refuses(await reset({ token, newPassword }), 400, "invalid_token");
    });

    test("refuse a weak password with 400, but keep the reset token valid", once, async () => {
      const { email, token } = await newReset();
      for (const [word, code] of weakPasswords) {
        refuses(await reset({ token, newPassword: word }), 400, code);
      }
      assert.equal((await reset({ token, newPassword })).statusCode, 200);
      assert.equal((await openBrowser(service).signIn(email, newPassword)).statusCode, 200);
    });

    test("create no reset token for an email without an account", async () => {
      const { signIn } = service.parts.accounts;
      assert.equal(await signIn.makeResetSecret(newEmail(), { atMs: 0 }), undefined);
    });

    test("return 401 for a sign-in before the account has a password", once, async () => {
      const { email } = await newReset();
      const answer = await openBrowser(service).signIn(email);
      refuses(answer, 401, "invalid_email_or_password");
    });

    test("end all sessions after a reset of the password", async () => {
      const { email, token } = await newReset();
      const browser = openBrowser(service);
      await reset({ token, newPassword });
      assert.equal((await browser.signIn(email, newPassword)).statusCode, 200);
      const again = await service.parts.accounts.signIn.makeResetSecret(email, {
        atMs: Date.now(),
      });
      await reset({ token: again, newPassword: "set by a second link" });
      assert.equal((await browser.get("/dashboard/api/account")).statusCode, 401);
    });

    test("accept a reset link only once", async () => {
      const { store, accounts } = service.parts;
      const email = newEmail();
      await createAccount(store.db, email, { atMs: Date.now() });
      const token = await accounts.signIn.makeResetSecret(email, { atMs: Date.now() });
      const asked = [1, 2, 3, 4].map((i) =>
        openBrowser(service).post("/auth/reset-password", {
          token,
          newPassword: `set by the link ${i}`,
        }),
      );
      const statuses = (await Promise.all(asked)).map((answer) => answer.statusCode).sort();
      assert.deepEqual(statuses, [200, 400, 400, 400]);
    });

    test("store no reset token in plain text", async () => {
      const { store, accounts } = service.parts;
      const email = newEmail();
      await createAccount(store.db, email, { atMs: Date.now() });
      const token = await accounts.signIn.makeResetSecret(email, { atMs: Date.now() });
      const rows = await store.db.selectFrom("auth_tokens").selectAll().execute();
      assert.ok(rows.length > 0 && !JSON.stringify(rows).includes(token!));
    });
  });
}
