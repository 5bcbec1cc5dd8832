// Limits how often a password may be tried, such that no stranger can lock an owner out.
//
// A browser that has never signed in to the account is limited by IP address, by network, by IP
// address and account, and by account. The limit by account stops a guesser with many IP
// addresses, who could also use it up to lock the owner out. So it has two parts: one for the
// first three tries a day of each /24 of IPv4 or /48 of IPv6, which 200 such networks cannot use
// up, and one for all others. A browser that has signed in before has a signed cookie that proves
// it, and has a limit of its own.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import ipaddr from "ipaddr.js";
import { normalizeEmail } from "./account.ts";
import { type Limiter, type LimitVerdict, type Policy, perDay } from "./limits.ts";

const minuteMs = 60_000;
const perAddress: Policy = { name: "sign-in-address", intervalMs: 3_000, burst: 20 };
const perPair: Policy = { name: "sign-in-pair", intervalMs: minuteMs, burst: 10 };
/** A network's over all accounts: who names one account after another gets no more. */
const perNetwork: Policy = { name: "sign-in-network", intervalMs: 3_000, burst: 60 };
const perFirstTries = perDay("sign-in-first-tries", 3);
/** These two allow 2,400 guesses a day from everywhere, at passwords of 12 characters or more. */
const perAccountFirst: Policy = { name: "sign-in-account-first", intervalMs: 72_000, burst: 700 };
const perAccount: Policy = { name: "sign-in-account", intervalMs: 72_000, burst: 100 };
const perDevice: Policy = { name: "sign-in-device", intervalMs: minuteMs, burst: 10 };
const perSignUpAddress: Policy = { name: "sign-up-address", intervalMs: 30_000, burst: 20 };

/** `deviceCookie` as the browser sent it, if it did. */
type Attempt = { email: string; ip: string; deviceCookie: string | undefined };

export type Attempts = {
  /** Whether the browser has signed in to this account before. */
  isKnown(attempt: Attempt): boolean;
  /** Milliseconds to wait before trying again; 0 when this attempt may go on, and is spent. */
  trySignIn(attempt: Attempt): Promise<number>;
  /** The same for sign-ups, and for links to set a password: per address alone. */
  trySignUp(ip: string): Promise<number>;
  /** The same for new accounts: per /24 of IPv4 and /48 of IPv6, where there is such a bound. */
  tryNewAccount(ip: string): Promise<number>;
  /** A cookie for a browser that has just signed in to the account with this email. */
  newDeviceCookie(email: string): string;
};

/**
 * @param secret as for sessions
 * @param accountsPerNetworkDay 0 for no bound
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

  const knownDevice = ({ deviceCookie, email }: Attempt): string | undefined => {
    const [, nonce, signature] = /^([0-9a-f]{32})\.([0-9a-f]{64})$/.exec(deviceCookie ?? "") ?? [];
    if (nonce === undefined || signature === undefined) return undefined;
    const wanted = Buffer.from(sign(nonce, email));
    return timingSafeEqual(wanted, Buffer.from(signature)) ? nonce : undefined;
  };

  return {
    isKnown: (attempt) => knownDevice(attempt) !== undefined,
    async trySignIn(attempt) {
      const device = knownDevice(attempt);
      if (device) return retryMs(await take(limiter, perDevice, device));
      const email = normalizeEmail(attempt.email);
      const network = networkOf(attempt.ip);
      // The narrow limits first: what they refuse is not spent from the account's.
      for (const [policy, key] of [
        [perAddress, network],
        [perNetwork, wideNetworkOf(attempt.ip)],
        [perPair, `${network} ${email}`],
      ] as const) {
        const wait = retryMs(await take(limiter, policy, key));
        if (wait > 0) return wait;
      }
      // A first try is spent whether it is let through or not: nobody can save them up to be there
      // whenever there is one to take.
      const first = await take(limiter, perFirstTries, `${wideNetworkOf(attempt.ip)} ${email}`);
      if (first.admitted && (await take(limiter, perAccountFirst, email)).admitted) return 0;
      return retryMs(await take(limiter, perAccount, email));
    },
    async trySignUp(ip) {
      return retryMs(await take(limiter, perSignUpAddress, networkOf(ip)));
    },
    async tryNewAccount(ip) {
      if (accountsPerNetworkDay === 0) return 0;
      const policy = perDay("accounts-network", accountsPerNetworkDay);
      return retryMs(await take(limiter, policy, wideNetworkOf(ip)));
    },
    newDeviceCookie(email) {
      const nonce = randomBytes(16).toString("hex");
      return `${nonce}.${sign(nonce, email)}`;
    },
  };
}

const take = (limiter: Limiter, policy: Policy, key: string) =>
  limiter.take(`${policy.name} ${key.slice(0, 400)}`, policy);

const retryMs = (verdict: LimitVerdict) => (verdict.admitted ? 0 : verdict.retryMs);

/** An IPv4 address, or the 64 bits of an IPv6 address that one customer is usually given. */
export const networkOf = (ip: string): string => prefixOf(ip, { v4: 4, v6: 4 });

/** A /24 of IPv4, or a /48 of IPv6: what a small provider or one site is given. */
export const wideNetworkOf = (ip: string): string => prefixOf(ip, { v4: 3, v6: 3 });

/** @param kept so many numbers of an IPv4 address, and groups of an IPv6 one */
function prefixOf(text: string, kept: { v4: number; v6: number }): string {
  if (!ipaddr.isValid(text)) return text;
  const ip = ipaddr.process(text);
  if (ip instanceof ipaddr.IPv4) return ip.octets.slice(0, kept.v4).join(".");
  const groups = ip.parts.slice(0, kept.v6).map((group) => group.toString(16));
  return `${groups.join(":")}::/${16 * kept.v6}`;
}
