import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { isLong } from "../../../scripts/long.ts";
import { createAccount } from "../../accounts/account.ts";
import { openAccounts } from "../../accounts/open.ts";
import { startApp, type TestApp } from "../../testing/app.ts";
import { openBrowser, password, refuses } from "../../testing/browser.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.stop());

/**
 * Options for tests that hash hundreds of passwords each. Each test also runs its attack against a
 * service with only one queue, where the attack locks out the owner.
 */
const flood = { skip: !isLong && "npm run test:long" };

const notEmails = ["nobody", "", "a@b", "a b@example.com", "a@example.com\nb"];

const newEmail = () => `${randomBytes(6).toString("hex")}@example.com`;

const databases: Record<string, () => Promise<string | undefined>> = {
  sqlite: async () => undefined,
  postgres: () => postgres.newDatabase(),
};

for (const [name, database] of Object.entries(databases)) {
  /**
   * Options for tests that do not depend on the database. These tests hash many passwords, so `npm
   * test` runs them only on SQLite.
   */
  const once = { skip: !isLong && name !== "sqlite" && "on PostgreSQL: npm run test:long" };

  describe(`sign-in and sign-up with a password on ${name}`, () => {
    let service: TestApp;
    before(async () => {
      service = await startApp({ databaseUrl: (await database()) as string });
    });
    after(() => service.close());

    test("returns 413 `body_too_large` to a body above 16 KiB", once, async () => {
      for (const path of ["sign-up/email", "sign-in/email", "sign-out", "reset-password"]) {
        const login = { email: newEmail(), password: "x".repeat(16 * 1024) };
        refuses(await openBrowser(service).post(`/auth/${path}`, login), 413, "body_too_large");
      }
    });

    test("returns 403 and no cookie to a request from another origin", once, async () => {
      const paths = ["sign-up/email", "sign-in/email", "sign-out", "change-password"];
      const origins = ["https://evil.example", "null", "", "http://127.0.0.1:8081"];
      for (const path of [...paths, "reset-password"]) {
        for (const origin of origins) {
          const login = { email: newEmail(), password };
          const answer = await openBrowser(service, { origin }).post(`/auth/${path}`, login);
          refuses(answer, 403, "forbidden");
          assert.equal(answer.headers["set-cookie"], undefined);
          assert.equal(answer.headers["access-control-allow-origin"], undefined);
        }
        const without = await service.app.inject({ method: "POST", url: `/auth/${path}` });
        refuses(without, 403, "forbidden");
        assert.match(without.json().error.message, /, found no Origin headers$/);
      }
    });

    test("returns 400 to a sign-up if the password is too short or long", once, async () => {
      const signUp = (password: string) => openBrowser(service).signUp(newEmail(), password);
      refuses(await signUp("x".repeat(11)), 400, "password_too_short");
      refuses(await signUp("x".repeat(129)), 400, "password_too_long");
    });

    test("returns 400 `password_guessable` if a new password is guessable", once, async () => {
      for (const guessable of ["passwordpassword", "123456789012", "qwertyuiop12"]) {
        const answer = await openBrowser(service).signUp(newEmail(), guessable);
        refuses(answer, 400, "password_guessable");
      }
    });

    test("returns 400 `invalid_email` to a sign-up with an invalid email", once, async () => {
      for (const email of notEmails) {
        const browser = openBrowser(service);
        refuses(await browser.signUp(email), 400, "invalid_email");
        assert.equal((await browser.get("/dashboard/api/account")).statusCode, 401);
      }
    });

    test("returns 400 `invalid_email` to a sign-in with an invalid email", once, async () => {
      for (const email of notEmails) {
        refuses(await openBrowser(service).signIn(email), 400, "invalid_email");
      }
    });

    test("returns 400 `invalid_request` for an unknown field or a wrong type", once, async () => {
      for (const wrong of [{ admin: true }, { email: 7 }]) {
        const login = { email: newEmail(), password, ...wrong };
        const answer = await openBrowser(service).post("/auth/sign-up/email", login);
        refuses(answer, 400, "invalid_request");
      }
    });

    test("returns 400 for text with a NUL character", async () => {
      const browser = openBrowser(service);
      for (const [path, body] of [
        ["sign-in/email", { email: "a\0@example.com", password }],
        ["sign-up/email", { email: newEmail(), password: `${password}\0` }],
        ["reset-password", { token: "a\0b", newPassword: password }],
      ] as const) {
        const answer = await browser.post(`/auth/${path}`, body);
        refuses(answer, 400, "invalid_request");
        assert.equal(answer.json().error.issues[0].code, "nul");
      }
    });

    test("returns 409 `user_already_exists` if the email belongs to an account", async () => {
      const email = newEmail();
      await createAccount(service.parts.store.db, email, { atMs: Date.now() });
      const browser = openBrowser(service);
      refuses(await browser.signUp(email.toUpperCase()), 409, "user_already_exists");
      const taken = newEmail();
      assert.equal((await browser.signUp(taken)).statusCode, 200);
      refuses(await openBrowser(service).signUp(taken), 409, "user_already_exists");
    });

    test("creates only one account for several simultaneous requests", async () => {
      const email = newEmail();
      const all = Array.from({ length: 4 }, () => openBrowser(service).signUp(email));
      const statuses = (await Promise.all(all)).map((answer) => answer.statusCode).sort();
      assert.deepEqual(statuses, [200, 409, 409, 409]);
    });

    test("returns the same 401 for a wrong password and an unknown email", async () => {
      const email = newEmail();
      await openBrowser(service).signUp(email);
      const browser = openBrowser(service);
      const wrong = await browser.signIn(email, "a wrong password, surely");
      const unknown = await browser.signIn(newEmail(), "a wrong password, surely");
      refuses(wrong, 401, "invalid_email_or_password");
      assert.equal(wrong.body, unknown.body);
    });

    test("returns 429 for the 11th attempt, even with the right password", once, async () => {
      const email = newEmail();
      const owner = openBrowser(service);
      await owner.signUp(email);
      const stranger = openBrowser(service);
      for (let i = 0; i < 10; i++) {
        refuses(await stranger.signIn(email, `guess ${i}`), 401, "invalid_email_or_password");
      }
      const refused = await stranger.signIn(email);
      refuses(refused, 429, "rate_limited");
      assert.match(String(refused.headers["retry-after"]), /^[1-9]\d*$/);
      // The owner can still sign in, both with a known browser and with a new browser.
      assert.equal((await owner.signIn(email)).statusCode, 200);
      const elsewhere = openBrowser(service);
      assert.equal((await elsewhere.signIn(email)).statusCode, 200);
    });

    test("counts attempts by the IP address that a trusted proxy forwards", once, async () => {
      const trustedProxies = "192.0.2.0/24";
      const { store, accounts } = service.parts;
      const behind = await startApp({ trustedProxies, store, accounts });
      const email = newEmail();
      const attempt = async (remoteAddress: string, forwarded: string) => {
        const headers = { origin: behind.parts.publicUrl, "x-forwarded-for": forwarded };
        const payload = { email, password: "a wrong password, surely" };
        const url = "/auth/sign-in/email";
        const answer = await behind.app.inject({
          method: "POST",
          url,
          remoteAddress,
          headers,
          payload,
        });
        return answer.statusCode;
      };
      for (let i = 0; i < 10; i++) assert.equal(await attempt("192.0.2.7", "198.51.100.1"), 401);
      assert.equal(await attempt("192.0.2.7", "198.51.100.1"), 429);
      assert.equal(await attempt("192.0.2.7", "203.0.113.9, 198.51.100.1"), 429);
      assert.equal(await attempt("192.0.2.7", "198.51.100.2"), 401);
      assert.equal(await attempt("198.51.100.1", "198.51.100.3"), 429);
      await behind.app.close();
    });

    /**
     * Before the owner's first request, sends 256 requests from the attacker. Before each later
     * request from the owner, sends 4 requests from the attacker.
     *
     * @returns how often the owner was admitted, and the responses to the attacker
     */
    const raceOwner = async (
      times: number,
      attack: (i: number) => Promise<{ statusCode: number }>,
      owner: () => Promise<{ statusCode: number }>,
    ) => {
      const asked: Promise<{ statusCode: number }>[] = [];
      let entered = 0;
      for (let time = 0; time < times; time++) {
        for (let i = time === 0 ? 256 : 4; i > 0; i--) asked.push(attack(asked.length));
        if ((await owner()).statusCode === 200) entered += 1;
      }
      return { entered, attacker: (await Promise.all(asked)).map((answer) => answer.statusCode) };
    };
    /**
     * Starts a service without limits on attempts. All requests to this service wait in the same
     * queue.
     */
    const oneLine = async (isKnown: boolean): Promise<TestApp> => {
      const { store, accounts } = service.parts;
      const ask = async () => ({ waitMs: 0, isKnown, turnOf: "all" });
      const attempts = { ...accounts.attempts, trySignIn: ask, trySignUp: ask };
      return startApp({ store, accounts: { ...accounts, attempts } });
    };

    test("lets a known browser sign in during an attack from 256 networks", flood, async () => {
      const [email, owner] = [newEmail(), openBrowser(service)];
      await owner.signUp(email);
      const [own, attacker] = [newEmail(), openBrowser(service)];
      await attacker.signUp(own);
      const cookie = attacker.jar.get("eas-device")!;
      assert.equal((await attacker.signIn(own)).statusCode, 200);
      assert.equal(attacker.jar.get("eas-device"), cookie, "a success gives no further cookie");

      // Each sign-in without a cookie creates a new cookie. Over months, an attacker can collect
      // many of these cookies. Each cookie marks a known browser.
      const { attempts } = service.parts.accounts;
      const cookies = Array.from({ length: 40 }, () =>
        attempts.deviceCookieFor({ email: own, deviceCookie: undefined }),
      );
      const change = { currentPassword: "a wrong password, surely", newPassword: password };
      const attack = (at: TestApp) => (i: number) => {
        if (i % 4 < 2) return openBrowser(at).signIn(i % 4 === 0 ? email : newEmail());
        const browser = openBrowser(at, {}, "2001:db8:beef::1");
        browser.jar.set("eas-session", attacker.jar.get("eas-session")!);
        if (i % 4 === 2) return browser.post("/auth/change-password", change);
        browser.jar.set("eas-device", cookies[i % cookies.length]!);
        return browser.signIn(own);
      };
      const race = await raceOwner(10, attack(service), () => owner.signIn(email));
      assert.equal(race.entered, 10);
      const [byEmail, byNobody] = [0, 1].map((kind) =>
        race.attacker.filter((_, i) => i % 4 === kind),
      );
      assert.ok(byEmail!.includes(503), "the email alone opens no place");
      assert.ok(byNobody!.includes(503), "too many for strangers");

      const control = await oneLine(true);
      const browser = openBrowser(control);
      browser.jar.set("eas-device", owner.jar.get("eas-device")!);
      const lost = await raceOwner(1, attack(control), () => browser.signIn(email));
      assert.equal(lost.entered, 0, "one line for all cookies keeps the owner out");
      await control.close();
    });

    test("lets a new browser sign in during an attack from another network", flood, async () => {
      const email = newEmail();
      await openBrowser(service).signUp(email);
      const attack = (at: TestApp) => (i: number) => {
        const browser = openBrowser(at, {}, `2001:db8:cafe:${(i % 256).toString(16)}::1`);
        return i % 2 === 0 ? browser.signUp(newEmail()) : browser.signIn(newEmail());
      };
      const fromElsewhere = (at: TestApp) => () => openBrowser(at).signIn(email);
      const race = await raceOwner(5, attack(service), fromElsewhere(service));
      assert.equal(race.entered, 5);
      assert.ok(race.attacker.includes(429));

      const control = await oneLine(false);
      const lost = await raceOwner(1, attack(control), fromElsewhere(control));
      assert.equal(lost.entered, 0, "one line for all networks keeps the owner out");
      await control.close();
    });

    test("refuses sign-ups with `signup_closed`, but lets existing accounts sign in", async () => {
      const email = newEmail();
      await openBrowser(service).signUp(email);
      const { store, publicUrl } = service.parts;
      const faults = { onLimiterFault: assert.fail, onUsageFault: assert.fail };
      const closed = await openAccounts(store, { publicUrl, signup: "closed" }, faults);
      for (const each of [newEmail(), email]) {
        await assert.rejects(closed.signIn.signUp({ email: each, password }, { atMs: 0 }), {
          code: "signup_closed",
        });
      }
      const signedIn = await closed.signIn.signIn({ email, password }, { atMs: Date.now() });
      assert.equal(signedIn.account.email, email);
      await closed.close();
    });

    test("creates a session and an account with a client ID but no API key", async () => {
      const browser = openBrowser(service);
      const email = newEmail();
      const signedUp = await browser.signUp(` ${email.toUpperCase()}`.trim());
      assert.equal(signedUp.statusCode, 200);
      const account = (await browser.get("/dashboard/api/account")).json();
      assert.equal(account.email, email);
      assert.match(account.accountId, /^acc_[0-9a-f]{24}$/);
      const { apiKeys, clientId } = (await browser.get("/dashboard/api/credentials")).json();
      assert.deepEqual(apiKeys, []);
      assert.match(clientId.clientId, /^svc_client_[0-9a-f]{32}$/);
    });

    test("returns no session token, and logs no password", once, async () => {
      const browser = openBrowser(service);
      const signedUp = await browser.signUp(newEmail());
      const token = decodeURIComponent(browser.jar.get("eas-session")!).split(".")[0]!;
      assert.ok(token.length > 20 && !signedUp.body.includes(token));
      const log = service.logged.join("\n");
      assert.ok(!log.includes(token) && !log.includes(password));
    });

    test("sets a cookie with `HttpOnly`, and with `Secure` on https", once, async () => {
      const onHttp = await openBrowser(service).signUp(newEmail());
      for (const line of onHttp.headers["set-cookie"] as string[]) {
        assert.match(line, /^eas-(session|device)=.*; Path=\/.*; HttpOnly; SameSite=Strict$/);
      }
      const publicUrl = "https://pay.example";
      const faults = { onLimiterFault: assert.fail, onUsageFault: assert.fail };
      const { store } = service.parts;
      const accounts = await openAccounts(store, { publicUrl, signup: "open" }, faults);
      const secure = await startApp({ publicUrl, accounts, store });
      const browser = openBrowser(secure);
      const onHttps = await browser.signUp(newEmail());
      for (const line of onHttps.headers["set-cookie"] as string[]) {
        assert.match(line, /^__Host-eas-(session|device)=/);
        assert.match(line, /; Path=\/;/);
        for (const attribute of ["HttpOnly", "SameSite=Strict", "Secure"]) {
          assert.ok(line.split("; ").includes(attribute), line);
        }
        assert.ok(!/domain/i.test(line));
      }
      assert.equal((await browser.get("/dashboard/api/account")).statusCode, 200);
      await secure.app.close();
      await accounts.close();
    });

    test("ends a session at sign-out, even for copies of its cookie", async () => {
      const browser = openBrowser(service);
      await browser.signUp(newEmail());
      const thief = openBrowser(service);
      thief.jar.set("eas-session", browser.jar.get("eas-session")!);
      assert.equal((await thief.get("/dashboard/api/account")).statusCode, 200);
      assert.equal((await browser.post("/auth/sign-out", {})).statusCode, 200);
      assert.equal((await thief.get("/dashboard/api/account")).statusCode, 401);
      assert.equal(browser.jar.has("eas-session"), false);
    });

    test("refuses a forged or changed cookie", once, async () => {
      const browser = openBrowser(service);
      await browser.signUp(newEmail());
      const cookie = browser.jar.get("eas-session")!;
      const [token = "", signature = ""] = decodeURIComponent(cookie).split(".");
      for (const forged of [token, `${token}.`, `${token}x.${signature}`, `x.${signature}`, ""]) {
        const thief = openBrowser(service);
        thief.jar.set("eas-session", encodeURIComponent(forged));
        assert.equal((await thief.get("/dashboard/api/account")).statusCode, 401);
      }
    });
  });
}
