import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { limitAttempts } from "./attempts.ts";
import { memoryLimiter } from "./limits.ts";

const email = "ada@example.com";

/** Returns an IP address in the `i`th /24 network. */
const network = (i: number) => `10.${i >> 8}.${i & 255}.1`;

function open() {
  let now = 0;
  const attempts = limitAttempts(
    memoryLimiter(() => now),
    "a secret of tests",
  );
  /**
   * Repeats an attempt until the service refuses the attempt. Returns the number of admitted
   * attempts.
   */
  const spend = async (attempt: { ip: string; email?: string; deviceCookie?: string }) => {
    for (let admitted = 0; ; admitted++) {
      const whole = { email, deviceCookie: undefined, ...attempt };
      if ((await attempts.trySignIn(whole)).waitMs > 0) return admitted;
    }
  };
  const wait = (ms: number) => {
    now += ms;
  };
  const waitToTry = async (attempt: Parameters<typeof attempts.trySignIn>[0]) =>
    (await attempts.trySignIn(attempt)).waitMs;
  const newCookie = (of = email) =>
    attempts.deviceCookieFor({ email: of, deviceCookie: undefined });
  return { attempts, spend, wait, waitToTry, newCookie };
}

describe("limits for attempts to sign in", () => {
  test("the 11th attempt from one IP address for one account must wait a minute", async () => {
    const { spend, waitToTry } = open();
    assert.equal(await spend({ ip: "192.0.2.1" }), 10);
    const again = { ip: "192.0.2.1", email: "ADA@example.com ", deviceCookie: undefined };
    assert.equal(await waitToTry(again), 60_000);
  });

  test("one IP address can make at most 20 attempts for all accounts together", async () => {
    const { waitToTry } = open();
    const tryNext = (i: number) =>
      waitToTry({ ip: "192.0.2.1", email: `${i}@example.com`, deviceCookie: undefined });
    for (let i = 0; i < 20; i++) assert.equal(await tryNext(i), 0);
    assert.ok((await tryNext(20)) > 0);
  });

  test("one /24 or /48 network can make at most 60 attempts", async () => {
    for (const ip of [(i: number) => `192.0.2.${i}`, (i: number) => `2001:db8:1:${i}::1`]) {
      const { waitToTry } = open();
      let admitted = 0;
      for (let i = 0; i < 200; i++) {
        const attempt = { ip: ip(i), email: `${i}@example.com`, deviceCookie: undefined };
        if ((await waitToTry(attempt)) === 0) admitted += 1;
      }
      assert.equal(admitted, 60);
    }
  });

  test("all networks together can make at most 800 attempts for one account", async () => {
    const { spend } = open();
    let admitted = 0;
    for (let i = 0; i < 1_000; i++) admitted += await spend({ ip: network(i) });
    assert.equal(admitted, 800);
  });

  test("for one account, each network has 3 attempts and all networks share 100 more", async () => {
    const { spend } = open();
    let admitted = 0;
    for (let i = 0; i < 200; i++) admitted += await spend({ ip: `192.0.2.${i}` });
    for (let i = 0; i < 200; i++) admitted += await spend({ ip: `2001:db8:1:${i}::1` });
    assert.equal(admitted, 2 * 3 + 100);
  });

  test("a forged cookie or a cookie of another account has no effect", async () => {
    const { newCookie, spend } = open();
    await spend({ ip: "192.0.2.1" });
    const other = newCookie("eve@example.com");
    const forged = newCookie().replace(/.$/, (c) => (c === "0" ? "1" : "0"));
    for (const deviceCookie of [other, forged, "", "x", `${"0".repeat(32)}.`]) {
      assert.equal(await spend({ ip: "192.0.2.1", deviceCookie }), 0, deviceCookie);
    }
  });

  test("attempts from one IP address do not count against another IP address", async () => {
    const { spend } = open();
    for (let i = 0; i < 50; i++) await spend({ ip: "192.0.2.1" });
    assert.equal(await spend({ ip: "198.51.100.1" }), 10);
  });

  test("a browser with a cookie can sign in while attackers guess the password", async () => {
    const { newCookie, spend } = open();
    for (let i = 0; i < 1_000; i++) await spend({ ip: network(i) });
    assert.equal(await spend({ ip: network(1_001) }), 0);
    assert.equal(await spend({ ip: network(1_001), deviceCookie: newCookie() }), 10);
  });

  test("a browser keeps its cookie if it signs in to the same account again", () => {
    const { attempts, newCookie } = open();
    const deviceCookie = newCookie();
    assert.equal(attempts.deviceCookieFor({ email, deviceCookie }), deviceCookie);
    const other = newCookie("eve@example.com");
    assert.notEqual(attempts.deviceCookieFor({ email, deviceCookie: other }), other);
  });

  test("for one account, at most 20 attempts with a cookie have priority", async () => {
    const { attempts, newCookie } = open();
    let [known, admitted] = [0, 0];
    for (let i = 0; i < 100; i++) {
      const attempt = { email, ip: "192.0.2.1", deviceCookie: newCookie() };
      const { isKnown, waitMs } = await attempts.trySignIn(attempt);
      if (isKnown) known += 1;
      if (waitMs === 0) admitted += 1;
    }
    assert.deepEqual({ known, admitted }, { known: 20, admitted: 20 + 10 });
  });

  test("from one /24 or /48 network, at most 30 attempts with a cookie have priority", async () => {
    for (const ip of [(i: number) => `192.0.2.${i}`, (i: number) => `2001:db8:1:${i}::1`]) {
      const { attempts, newCookie } = open();
      let known = 0;
      for (let i = 0; i < 200; i++) {
        const email = `${i}@example.com`;
        const attempt = { email, ip: ip(i), deviceCookie: newCookie(email) };
        if ((await attempts.trySignIn(attempt)).isKnown) known += 1;
      }
      assert.equal(known, 30);
      const elsewhere = { email, ip: "198.51.100.1", deviceCookie: newCookie() };
      assert.ok((await attempts.trySignIn(elsewhere)).isKnown);
    }
  });

  test("an attacker with an old cookie cannot lock out the owner's browsers", async () => {
    const { newCookie, spend, waitToTry } = open();
    for (let i = 0; i < 100; i++) await spend({ ip: "192.0.2.1", deviceCookie: newCookie() });
    assert.equal(await waitToTry({ email, ip: network(1), deviceCookie: newCookie() }), 0);
  });

  test("a new browser can sign in while 200 networks guess passwords for days", async () => {
    const { spend, wait, waitToTry } = open();
    for (let hour = 0; hour < 72; hour++) {
      for (let i = 0; i < 200; i++) await spend({ ip: network(i) });
      const owner = { ip: network(1_000 + hour), email, deviceCookie: undefined };
      for (let i = 0; i < 3; i++) assert.equal(await waitToTry(owner), 0, `hour ${hour}`);
      wait(3_600_000);
    }
  });

  test("one attempt per minute is allowed after an IP address has used up its limits", async () => {
    const { spend, wait, waitToTry } = open();
    await spend({ ip: "192.0.2.1" });
    for (let i = 0; i < 100; i++) {
      wait(60_000);
      const attempt = { ip: "192.0.2.1", email, deviceCookie: undefined };
      assert.equal(await waitToTry(attempt), 0);
    }
  });
});

describe("limits for attempts to sign up", () => {
  test("one IP address can make at most 20 attempts, and its network at most 60", async () => {
    for (const ip of [(i: number) => `192.0.2.${i}`, (i: number) => `2001:db8:1:${i}::1`]) {
      const { attempts } = open();
      const spend = async (from: string) => {
        for (let admitted = 0; ; admitted++) {
          if ((await attempts.trySignUp(from)).waitMs > 0) return admitted;
        }
      };
      const admitted = [];
      for (let i = 0; i < 5; i++) admitted.push(await spend(ip(i)));
      assert.deepEqual(admitted, [20, 20, 20, 0, 0]);
      assert.equal(await spend("198.51.100.1"), 20);
    }
  });
});

describe("limits for new accounts", () => {
  const openBound = (perNetworkDay: number) => {
    let now = 0;
    const limiter = memoryLimiter(() => now);
    const attempts = limitAttempts(limiter, "a secret of tests", perNetworkDay);
    const wait = (ms: number) => {
      now += ms;
    };
    return { attempts, wait };
  };

  test("the number of new accounts is unlimited by default", async () => {
    const { attempts } = openBound(0);
    for (let i = 0; i < 100; i++) assert.equal(await attempts.tryNewAccount("192.0.2.1"), 0);
  });

  for (const [kind, inside, outside] of [
    ["/24 of IPv4", ["192.0.2.1", "192.0.2.99", "::ffff:192.0.2.7"], "192.0.3.1"],
    ["/48 of IPv6", ["2001:db8:1::1", "2001:db8:1:2::1", "2001:db8:1:ffff::9"], "2001:db8:2::1"],
  ] as const) {
    test(`a ${kind} with a limit of 3 accounts a day waits 8 hours for a fourth`, async () => {
      const { attempts, wait } = openBound(3);
      for (const ip of inside) assert.equal(await attempts.tryNewAccount(ip), 0);
      assert.equal(await attempts.tryNewAccount(inside[0]), 8 * 3_600_000);
      assert.equal(await attempts.tryNewAccount(outside), 0);
      wait(8 * 3_600_000);
      assert.equal(await attempts.tryNewAccount(inside[1]), 0);
    });
  }
});
