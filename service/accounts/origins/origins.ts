// Parses the origins that an account allows, and converts them to their canonical form. Matches
// them with the origins of requests (spec §5, rules 6 to 10). The functions have no side effects,
// and use neither the database nor a clock.

import { domainToUnicode } from "node:url";
import { parse } from "tldts";

/** The maximum number of origins per account. Entries with the same canonical form count once. */
export const originsMax = 20;

/** The canonical form of an entry, or the reason why the entry is not accepted. */
export type OriginVerdict =
  | { kind: "accepted"; canonical: string }
  | { kind: "refused"; code: string; message: string };

const accept = (canonical: string) => ({ kind: "accepted", canonical }) as const;
const fault = (code: string, message: string) => ({ kind: "refused", code, message }) as const;

/**
 * Captures the scheme, the wildcard, the host (possibly in brackets), and the port, without
 * changing them.
 */
const shape = /^([a-z][a-z0-9+.-]*):\/\/(\*\.)?(\[[0-9a-f:.]+\]|[^[\]:/]*)(?::([^/]*))?$/iu;
const invisible = /[\p{Cc}\p{Cf}\p{Z}]/u;
const textMax = 300;
const portPattern = /^[1-9][0-9]{0,4}$/;
const label = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?";
const hostPattern = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`);
const ipv4Pattern = /^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/;
/** Host names of the browser's own machine. */
export const localHosts = ["localhost", "127.0.0.1"];
const defaultPorts: Record<string, string> = { http: "80", https: "443" };

/**
 * Validates an entry for an account's list of origins.
 *
 * Accepts these entries:
 *
 * - `https://` with a host and an optional port.
 * - `https://*.` with a host that is not a public suffix, and an optional port.
 * - `http://` with `localhost` or `127.0.0.1` and a port other than 80.
 *
 * Converts an accepted entry to its canonical form. Without a wildcard, the canonical form is the
 * text that a browser sends as `Origin`. With a wildcard, the canonical form also contains `*.`
 * before the host. The conversion changes letter case and Unicode names. It also removes the
 * default port and one trailing slash.
 */
export function judgeOrigin(text: unknown): OriginVerdict {
  if (typeof text !== "string" || text === "") {
    return fault("required", "expected an origin, such as https://app.example.com");
  }
  if (text.length > textMax) {
    return fault("too_long", `expected at most ${textMax} characters, found ${text.length}`);
  }
  const malformed = judgeCharacters(text);
  if (malformed) return malformed;

  const match = shape.exec(text.endsWith("/") ? text.slice(0, -1) : text);
  if (!match) return judgeShape(text);
  const [, writtenScheme = "", wildcard = "", writtenHost = "", port] = match;
  const scheme = writtenScheme.toLowerCase();
  if (scheme !== "https" && scheme !== "http") {
    return fault("scheme", `expected https: (or http: for localhost), found ${scheme}:`);
  }
  if (port !== undefined && !(portPattern.test(port) && Number(port) <= 65535)) {
    return fault("port", `expected a port from 1 to 65535 without leading zeros, found "${port}"`);
  }
  const host = canonicalHost(writtenHost);
  if (typeof host !== "string") return host;

  const wrong = wildcard ? judgeWildcard(scheme, host) : undefined;
  if (wrong) return wrong;
  if (scheme === "http") return judgeLocal(host, port);
  const shownPort = port === undefined || port === defaultPorts[scheme] ? "" : `:${port}`;
  return accept(`${scheme}://${wildcard}${host}${shownPort}`);
}

/**
 * Rejects characters that an origin cannot contain. A URL parser would silently remove or convert
 * some of these characters.
 */
function judgeCharacters(text: string) {
  if (text === "null") {
    return fault(
      "null",
      "null cannot be allowed, because any sandboxed page or local file can send it",
    );
  }
  if (invisible.test(text)) {
    return fault("character", "spaces and control or invisible characters are not allowed");
  }
  if (text.includes(",") || text.includes(";")) {
    return fault("list", "enter one origin at a time");
  }
  if (text.includes("\\")) return fault("character", "write / instead of \\");
  if (text.includes("%")) return fault("character", "percent encoding is not allowed in a host");
  if (text.includes("@")) return fault("userinfo", "remove the user name before @");
  if (/[?#]/.test(text)) return fault("path", "remove the query and the fragment");
  return undefined;
}

/**
 * Returns the reason why the text is not an origin. The text must not match the pattern of an
 * origin.
 */
function judgeShape(text: string) {
  const rest = /^[a-z][a-z0-9+.-]*:\/\/(.*)$/iu.exec(text)?.[1];
  if (rest === undefined) {
    return fault("scheme", "the origin must begin with https://, as in https://app.example.com");
  }
  if (rest.replace(/\/$/, "").includes("/")) return fault("path", "remove the path");
  return fault("host", "the host must be a domain name or an IP address");
}

/**
 * Returns the host as browsers send it, in lowercase and in Punycode. If the host is invalid,
 * returns the reason.
 */
function canonicalHost(written: string) {
  if (written === "") return fault("host", "the host is missing");
  if (written.includes("*")) {
    return fault(
      "wildcard",
      "* can only replace the whole first part of the host, as in https://*.example.com",
    );
  }
  if (written.endsWith(".")) return fault("host", "remove the dot at the end");
  const url = URL.parse(`https://${written}`);
  if (url === null) return fault("host", "the host must be a domain name or an IP address");
  const host = url.hostname;
  if (host.startsWith("[")) return host;
  if (!hostPattern.test(host)) {
    return fault(
      "host",
      "each part of the host must have 1 to 63 letters, digits, hyphens, or underscores, and " +
        "begin and end with a letter or digit",
    );
  }
  // Node's URL parser accepts some host names with invalid Punycode. Browsers cannot open such a
  // host.
  const broken = domainToUnicode(host)
    .split(".")
    .find((part) => part.startsWith("xn--"));
  if (broken !== undefined) return fault("host", `${broken} is not valid punycode`);
  // Rejects other spellings of an IPv4 address, such as 0x7f.1 for 127.0.0.1. Such spellings are
  // probably mistakes.
  if (ipv4Pattern.test(host) && host !== written) return fault("host", `write the host as ${host}`);
  return host;
}

function judgeWildcard(scheme: string, host: string) {
  if (scheme === "http") {
    return fault(
      "insecure",
      "a wildcard requires https:, because http: is allowed only for localhost with a port",
    );
  }
  if (host.startsWith("[") || ipv4Pattern.test(host)) {
    return fault("wildcard", "an IP address has no subdomains");
  }
  // The list of public suffixes contains wildcards. For example, *.kawasaki.jp does not match
  // kawasaki.jp itself. Therefore, this function also looks up a subdomain of the host.
  const suffixes = [host, `x.${host}`].map(
    (name) => parse(name, { allowPrivateDomains: true, validateHostname: false }).publicSuffix,
  );
  if (suffixes[0] === host || suffixes[1] === `x.${host}`) {
    return fault("public_suffix", `anyone can register a name under ${host}: use your own domain`);
  }
  return undefined;
}

function judgeLocal(host: string, port: string | undefined): OriginVerdict {
  if (!localHosts.includes(host)) {
    return fault(
      "insecure",
      `use https://${host}, because http is allowed only for localhost and 127.0.0.1`,
    );
  }
  if (port === undefined) {
    return fault("port", `add the port, as in http://${host}:3000`);
  }
  if (port === defaultPorts.http) {
    return fault("port", "browsers omit port 80 from an origin: use a different port");
  }
  return accept(`http://${host}:${port}`);
}

/**
 * Returns the entry of `allowed` that matches `origin`, or undefined.
 *
 * An entry without a wildcard must be equal to `origin`. An entry with a wildcard matches
 * subdomains at any depth, but not the domain itself. The scheme and the port must be equal. Only
 * whole labels match, so `*.example.com` does not match `badexample.com`.
 *
 * @param origin the raw `Origin` header; an invalid value matches no entry
 * @param allowed canonical entries of {@link judgeOrigin}
 */
export function findAllowing(origin: string, allowed: readonly string[]): string | undefined {
  if (allowed.includes(origin)) return isWildcard(origin) ? undefined : origin;
  if (origin.length > textMax) return undefined;
  const request = splitOrigin(origin);
  if (!request || !hostPattern.test(request.host)) return undefined;
  return allowed.find((entry) => isWildcard(entry) && covers(splitOrigin(entry), request));
}

type OriginParts = { scheme: string; host: string; port: string };

const isWildcard = (entry: string) => entry.includes("*");

const covers = (entry: OriginParts | undefined, request: OriginParts) => {
  if (!entry || entry.scheme !== request.scheme || entry.port !== request.port) return false;
  const domain = entry.host.split(".").slice(1);
  const labels = request.host.split(".");
  return (
    labels.length > domain.length && domain.every((l, i) => l === labels.at(i - domain.length))
  );
};

/**
 * Splits an origin into its parts. Returns undefined unless the origin has the form that browsers
 * send. This form is lowercase, without a path and without a default port.
 */
function splitOrigin(origin: string): OriginParts | undefined {
  const match = /^(https?):\/\/([a-z0-9_.*-]+)(?::([1-9][0-9]{0,4}))?$/.exec(origin);
  if (!match) return undefined;
  const [, scheme = "", host = "", port = ""] = match;
  return port === defaultPorts[scheme] ? undefined : { scheme, host, port };
}

/**
 * Returns the canonical forms of the valid entries, in the given order and without repetitions.
 * `issues` is empty unless an entry is invalid or there are too many entries.
 */
export function canonicalList(entries: readonly unknown[]) {
  const issues: { path: (string | number)[]; code: string; message: string }[] = [];
  const canonical = new Set<string>();
  entries.forEach((entry, index) => {
    const verdict = judgeOrigin(entry);
    if (verdict.kind === "accepted") canonical.add(verdict.canonical);
    else issues.push({ path: ["origins", index], code: verdict.code, message: verdict.message });
  });
  if (canonical.size > originsMax) {
    const message = `expected at most ${originsMax} different origins, found ${canonical.size}`;
    issues.push({ path: ["origins"], code: "too_many", message });
  }
  return { origins: [...canonical], issues };
}

/**
 * Returns examples of origins that the entry matches, and similar origins that it does not match.
 */
export function explainOrigin(canonical: string): { matches: string[]; matchesNot: string[] } {
  if (!isWildcard(canonical)) {
    const url = new URL(canonical);
    const other = url.protocol === "https:" ? "8443" : "1";
    const port = url.port === other ? "9443" : other;
    const neighbours = [`${url.protocol}//${url.hostname}:${port}`];
    if (url.protocol === "https:") neighbours.unshift(`http://${url.hostname}`);
    if (/[a-z]/.test(url.hostname) && !url.hostname.startsWith("[")) {
      neighbours.push(`${url.protocol}//www.${url.host}`);
    }
    return { matches: [canonical], matchesNot: neighbours };
  }
  const [, domain = ""] = canonical.split("*.");
  return {
    matches: [`https://app.${domain}`, `https://a.b.${domain}`],
    matchesNot: [
      `https://${domain}`,
      `http://app.${domain.split(":")[0]}`,
      `https://evil${domain}`,
    ],
  };
}
