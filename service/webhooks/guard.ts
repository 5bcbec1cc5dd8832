// Prevents requests to private networks (SSRF). Accounts choose the URLs of webhooks, and could
// choose hosts that only this server can reach. So the host name is resolved once, and all its
// addresses must be public. The request connects to one of these addresses.

import { lookup, Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Target = { url: URL; address: string; family: 4 | 6 };

/**
 * The URLs to which webhooks can be sent. `any` also allows private addresses and http, for
 * development.
 */
export type Targets = "public" | "any";

/**
 * Thrown if webhooks must not be sent to a URL, or if its host name does not resolve. The message
 * contains the reason.
 */
export class TargetError extends Error {
  override name = "TargetError";
}

export const urlCharactersMax = 500;

/**
 * The only range from which public IPv6 addresses are assigned. The range does not contain
 * IPv4-mapped addresses.
 */
const global6 = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Returns whether the address is public. The library ipaddr.js calls an address `unicast` if it is
 * not in IANA's special-purpose registries.
 * @param address without brackets or zone
 */
export function isPublic(address: string): boolean {
  if (!isIP(address)) return false;
  const ip = ipaddr.parse(address);
  if (ip instanceof ipaddr.IPv6 && !ip.match(global6)) return false;
  return ip.range() === "unicast";
}

/**
 * Validates a URL without resolving its host name.
 * @throws {TargetError}
 */
export function parseTarget(text: string, targets: Targets): URL {
  const { length } = text;
  if (length > urlCharactersMax)
    throw new TargetError(`expected at most ${urlCharactersMax} characters, found ${length}`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url) {
    // The message does not quote `text`, because it can contain a secret.
    const found = `${length} characters that are not a URL`;
    const wanted = "expected a URL such as https://shop.example.com/webhooks";
    throw new TargetError(`${wanted}, found ${found}`);
  }
  if (url.protocol !== "https:" && !(targets === "any" && url.protocol === "http:")) {
    throw new TargetError(`expected https:, found ${url.protocol}`);
  }
  if (url.username || url.password) {
    const found = url.password ? "password" : "user name";
    throw new TargetError(`expected a URL without a user name or password, found a ${found}`);
  }
  const host = readHostname(url);
  if (targets === "public" && isIP(host) && !isPublic(host)) throw notPublic(host);
  if (targets === "public" && !isIP(host) && !/\.[^.]*[a-z][^.]*\.?$/.test(host)) {
    throw new TargetError(`expected a public host name, found ${host}`);
  }
  url.hash = "";
  return url;
}

type Resolve = (host: string) => Promise<{ address: string; family: number }[]>;

/**
 * The timeout (in milliseconds) and the number of attempts of a DNS query. All attempts together
 * take less time than the timeout of a request.
 */
const resolving = { timeout: 1_000, tries: 2 };

/**
 * Returns a function that resolves host names without Node's thread pool. The system's lookup uses
 * one of the pool's four threads for each name. If four lookups hung, no thread would be free for
 * password hashing, file access, and calls to nodes. IPv4 addresses come first, because not every
 * machine has IPv6.
 *
 * @param servers the name servers, as `ADDRESS:PORT`; by default, the system's name servers
 */
export function publicNames(servers?: string[]): Resolve {
  const resolver = new Resolver(resolving);
  if (servers) resolver.setServers(servers);
  return async (host) => {
    const [four, six] = await Promise.all([
      resolver.resolve4(host).catch(() => []),
      resolver.resolve6(host).catch(() => []),
    ]);
    return [
      ...four.map((address) => ({ address, family: 4 })),
      ...six.map((address) => ({ address, family: 6 })),
    ];
  };
}

/**
 * The functions that resolve host names. `any` uses the system's lookup, which also resolves local
 * names.
 */
const resolvers: Record<Targets, Resolve> = {
  public: publicNames(),
  any: (host) => lookup(host, { all: true, verbatim: true }),
};

/**
 * Resolves the host name of a URL once.
 *
 * @throws {TargetError} if the URL is refused, or if an address is missing or not permitted
 */
export async function resolveTarget(
  text: string,
  targets: Targets,
  resolve: Resolve = resolvers[targets],
): Promise<Target> {
  const url = parseTarget(text, targets);
  const host = readHostname(url);
  const family = isIP(host);
  const found = family ? [{ address: host, family }] : await resolve(host).catch(() => []);
  const [first] = found;
  if (!first) throw new TargetError(`the host name ${host} does not resolve to an address`);
  const wrong = found.find(({ address }) => !isPublic(address));
  if (targets === "public" && wrong) throw notPublic(wrong.address);
  return { url, address: first.address, family: first.family === 6 ? 6 : 4 };
}

const readHostname = (url: URL) => url.hostname.replace(/^\[(.*)\]$/, "$1");
const notPublic = (address: string) =>
  new TargetError(`expected a host with public addresses only, found ${address}`);
