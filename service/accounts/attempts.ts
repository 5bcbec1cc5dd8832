// Limits how often a password can be tried. A stranger must not be able to lock the owner out by
// using up these limits.
//
// A browser that has never signed in to the account is limited by IP address, by network, by the
// pair of IP address and account, and by account. The limit by account stops an attacker with many
// IP addresses, but such an attacker could use it up to lock the owner out. So this limit has two
// parts. The first part counts the first three tries per day from each network (a /24 of IPv4 or a
// /48 of IPv6). An attacker with 200 networks cannot use up this part. The second part counts all
// other tries.
//
// A browser that has signed in to the account has a signed cookie. Tries with a cookie are limited
// by cookie, by account, and by network, separately from tries without one. A limit by cookie only
// would not be sufficient, because attackers can get any number of cookies for their own accounts.
// If a limit for tries with a cookie is used up, the browser is treated as if it had no cookie. So
// an attacker who uses up these limits does not lock the owner out.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { networkOf, wideNetworkOf } from "../flow/networks.ts";
import { normalizeEmail } from "./account.ts";
import { type Limiter, type LimitVerdict, type Policy, perDay } from "./limits.ts";

const minuteMs = 60_000;
const perAddress: Policy = { name: "sign-in-address", intervalMs: 3_000, burst: 20 };
const perPair: Policy = { name: "sign-in-pair", intervalMs: minuteMs, burst: 10 };
/**
 * Limits a network's tries for all accounts together, so that an attacker gains nothing by trying
 * the passwords of many accounts.
 */
const perNetwork: Policy = { name: "sign-in-network", intervalMs: 3_000, burst: 60 };
const perFirstTries = perDay("sign-in-first-tries", 3);
/**
 * The two limits by account. Together, they allow 2,400 guesses per account and day, plus the
 * bursts. A password has at least 12 characters.
 */
const perAccountFirst: Policy = { name: "sign-in-account-first", intervalMs: 72_000, burst: 700 };
const perAccount: Policy = { name: "sign-in-account", intervalMs: 72_000, burst: 100 };
const perDevice: Policy = { name: "sign-in-device", intervalMs: minuteMs, burst: 10 };
const perDevices: Policy = { name: "sign-in-devices", intervalMs: 3_000, burst: 20 };
/**
 * The burst is smaller than the queue for browsers with a cookie (http/dashboard/sign-in.ts), so
 * that one network cannot fill this queue.
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
 * The verdict on an attempt. `waitMs` is 0 if the attempt is allowed, and otherwise the time to
 * wait before the next attempt. An allowed attempt waits in a queue for its password to be hashed
 * (http/dashboard/sign-in.ts). If `isKnown` is true, it waits in the queue for browsers with a
 * valid cookie, which has priority. Within a queue, the accounts or networks that `turnOf` names
 * take turns.
 */
export type Leave = { waitMs: number; isKnown: boolean; turnOf: string };

export type Attempts = {
  trySignIn(attempt: Attempt): Promise<Leave>;
  /**
   * Limits sign-ups and the use of links that set a password. These attempts are limited by IP
   * address and network only.
   */
  trySignUp(ip: string): Promise<Leave>;
  /**
   * Counts a new account against the limit of its network, which is a /24 of IPv4 or a /48 of IPv6.
   * Returns 0 if the account is allowed, and otherwise the milliseconds to wait.
   */
  tryNewAccount(ip: string): Promise<number>;
  /**
   * Returns the signed cookie for a browser that has just signed in. If the browser sent a valid
   * cookie for this account, returns that cookie.
   */
  deviceCookieFor(browser: Pick<Attempt, "email" | "deviceCookie">): string;
};

/**
 * @param secret the secret that signs session cookies
 * @param accountsPerNetworkDay the maximum number of new accounts per network and day, or 0 for no
 *   limit
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
    // This uses one of the network's first tries even if the attempt is refused afterwards.
    // Otherwise, an attacker could keep first tries for later.
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
 * Counts an attempt against each of the limits, in order, and stops at the first limit that refuses
 * it. The narrow limits come first, so an attempt that they refuse does not count against the wide
 * limits.
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
