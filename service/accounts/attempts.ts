// Limits password guessing. An attacker who uses up the limits must not be able to lock out an
// account's owner.
//
// Attempts from a browser that has never signed in to the account count against four limits:
// - per IP address
// - per network
// - per pair of IP address and account
// - per account
//
// The limit per account stops an attacker who has many IP addresses. But if there were only one
// limit per account, the attacker could use it up. So each account has two limits. The first limit
// counts only each network's first three attempts per day. A network is a /24 of IPv4 or a /48 of
// IPv6. Even an attacker with 200 networks cannot use up the first limit. The second limit counts
// all other attempts, including attempts that the first limit refuses.
//
// A browser that has signed in to the account has a signed cookie. Attempts with a cookie have
// separate limits: per cookie, per account, and per network. A limit per cookie is not enough,
// because attackers can get many cookies for their own accounts. If a limit for cookies refuses an
// attempt, the service ignores the cookie. The attempt then counts against the limits for attempts
// without a cookie. Therefore, using up the limits for cookies does not lock out the owner.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { networkOf, wideNetworkOf } from "../flow/networks.ts";
import { normalizeEmail } from "./account.ts";
import type { Limiter, LimitVerdict } from "./limits.ts";
import { type Policy, perDay } from "./policies.ts";

const minuteMs = 60_000;
const perAddress: Policy = { name: "sign-in-address", intervalMs: 3_000, burst: 20 };
const perPair: Policy = { name: "sign-in-pair", intervalMs: minuteMs, burst: 10 };
/**
 * Limits the sign-in attempts from one network. Otherwise, an attacker could try a few passwords
 * for each of many accounts. This limit does not apply to an attempt that the limits for cookies
 * allow.
 */
const perNetwork: Policy = { name: "sign-in-network", intervalMs: 3_000, burst: 60 };
const perFirstTries = perDay("sign-in-first-tries", 3);
/**
 * The two limits for each account. Together, they allow 2,400 password guesses per account and day,
 * plus the bursts.
 */
const perAccountFirst: Policy = { name: "sign-in-account-first", intervalMs: 72_000, burst: 700 };
const perAccount: Policy = { name: "sign-in-account", intervalMs: 72_000, burst: 100 };
const perDevice: Policy = { name: "sign-in-device", intervalMs: minuteMs, burst: 10 };
const perDevices: Policy = { name: "sign-in-devices", intervalMs: 3_000, burst: 20 };
/**
 * Limits each network's attempts from browsers that have a cookie. The queue for known browsers
 * (http/dashboard/sign-in.ts) has more places than `burst`, so one network's burst cannot fill the
 * queue.
 */
const perDeviceNetwork: Policy = {
  name: "sign-in-device-network",
  intervalMs: 2_000,
  burst: 30,
};
const perSignUpAddress: Policy = { name: "sign-up-address", intervalMs: 30_000, burst: 20 };
const perSignUpNetwork: Policy = { name: "sign-up-network", intervalMs: 3_000, burst: 60 };

/** `deviceCookie` is the signed cookie, if the browser sent one. */
type Attempt = { email: string; ip: string; deviceCookie: string | undefined };

/**
 * Whether an attempt is allowed, and in which queue the attempt waits. `waitMs` is 0 if the attempt
 * is allowed. Otherwise, `waitMs` is the time until the next attempt is allowed, in milliseconds.
 *
 * Even an allowed attempt may have to wait in a queue before its password is hashed. Known and
 * unknown browsers have separate queues (http/dashboard/sign-in.ts). `isKnown` is true if the
 * browser has a valid cookie and the limits for cookies allow the attempt. In the queue for known
 * browsers, accounts take turns, so `turnOf` is the account's email. In the queue for unknown
 * browsers, networks take turns, so `turnOf` is the client's network.
 */
export type Leave = { waitMs: number; isKnown: boolean; turnOf: string };

export type Attempts = {
  trySignIn(attempt: Attempt): Promise<Leave>;
  /**
   * Counts a sign-up or a password reset by link. The limits are per IP address and per network.
   */
  trySignUp(ip: string): Promise<Leave>;
  /**
   * Counts a new account against the limit of the client's network (an IPv4 /24 or an IPv6 /48).
   * Returns 0 if the account is allowed, and otherwise the milliseconds to wait.
   */
  tryNewAccount(ip: string): Promise<number>;
  /**
   * Returns the signed cookie for a browser that has just signed in. If the browser sent a valid
   * cookie for this account, returns the same cookie.
   */
  deviceCookieFor(browser: Pick<Attempt, "email" | "deviceCookie">): string;
};

/**
 * @param secret the secret that signs session cookies
 * @param accountsPerNetworkDay the maximum number of new accounts per IP network and day, or 0 for
 *   no limit
 */
export function limitAttempts(
  limiter: Limiter,
  secret: string,
  accountsPerNetworkDay = 0,
): Attempts {
  const sign = (nonce: string, email: string) =>
    createHmac("sha256", secret)
      .update(`device ${nonce} ${normalizeEmail(email)}`)
      .digest("hex");

  const knownDevice = ({ deviceCookie, email }: Pick<Attempt, "email" | "deviceCookie">) => {
    const [, nonce, signature] = /^([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(deviceCookie ?? "") ?? [];
    if (nonce === undefined || signature === undefined) return undefined;
    const wanted = Buffer.from(sign(nonce, email));
    return timingSafeEqual(wanted, Buffer.from(signature)) ? nonce : undefined;
  };

  async function tryStranger(ip: string, email: string): Promise<number> {
    const network = networkOf(ip);
    const waitMs = await takeEach(limiter, [
      [perAddress, network],
      [perNetwork, wideNetworkOf(ip)],
      [perPair, `${network} ${email}`],
    ]);
    if (waitMs > 0) return waitMs;
    // The attempt counts as a first attempt even if the account's limits refuse it. Otherwise, an
    // attacker could repeat a refused first attempt until the account's limits have refilled.
    const first = await take(limiter, perFirstTries, `${wideNetworkOf(ip)} ${email}`);
    if (first.admitted && (await take(limiter, perAccountFirst, email)).admitted) return 0;
    return retryMs(await take(limiter, perAccount, email));
  }

  return {
    async trySignIn(attempt) {
      const [device, email] = [knownDevice(attempt), normalizeEmail(attempt.email)];
      const turnOf = wideNetworkOf(attempt.ip);
      if (device) {
        const waitMs = await takeEach(limiter, [
          [perDevice, device],
          [perDevices, email],
          [perDeviceNetwork, turnOf],
        ]);
        if (waitMs === 0) return { waitMs, isKnown: true, turnOf: email };
      }
      return { waitMs: await tryStranger(attempt.ip, email), isKnown: false, turnOf };
    },
    async trySignUp(ip) {
      const turnOf = wideNetworkOf(ip);
      const waitMs = await takeEach(limiter, [
        [perSignUpAddress, networkOf(ip)],
        [perSignUpNetwork, turnOf],
      ]);
      return { waitMs, isKnown: false, turnOf };
    },
    async tryNewAccount(ip) {
      if (accountsPerNetworkDay === 0) return 0;
      const policy = perDay("accounts-network", accountsPerNetworkDay);
      return retryMs(await take(limiter, policy, wideNetworkOf(ip)));
    },
    deviceCookieFor(browser) {
      if (browser.deviceCookie !== undefined && knownDevice(browser)) return browser.deviceCookie;
      const nonce = randomBytes(16).toString("hex");
      return `${nonce}.${sign(nonce, browser.email)}`;
    },
  };
}

/**
 * Counts an attempt against the limits in the given order. Stops at the first limit that refuses
 * the attempt. Callers pass the narrow limits first. If a narrow limit refuses an attempt, the wide
 * limits do not count it.
 *
 * @returns the milliseconds to wait, or 0 if all limits admit the attempt
 */
async function takeEach(limiter: Limiter, limits: [policy: Policy, key: string][]) {
  for (const [policy, key] of limits) {
    const waitMs = retryMs(await take(limiter, policy, key));
    if (waitMs > 0) return waitMs;
  }
  return 0;
}

const take = (limiter: Limiter, policy: Policy, key: string) =>
  limiter.take(`${policy.name} ${key.slice(0, 400)}`, policy);

const retryMs = (verdict: LimitVerdict) => (verdict.admitted ? 0 : verdict.retryMs);
