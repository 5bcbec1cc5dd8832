// The link by which a shop's name and order stand on the page of a payer. Anybody can write a link
// and name a shop in it, so the shop's own origin has to agree: by a file there that names who it
// gets money for, or whose key signed the link. Names are shown with the domain that said them.

import { parseAddress } from "../abi/checksum.ts";
import { isSame } from "../abi/hex.ts";
import { describeType } from "../errors.ts";
import type { Hex, Intent } from "../intent/intent.ts";
import { inertPieces, isName } from "./inert.ts";

/**
 * `https://{shop}/.well-known/executable-address.json`, served with `Access-Control-Allow-Origin:
 * *`, without redirects.
 */
export type ShopManifest = {
  readonly version: 1;
  /** 1 to 64 characters. */
  readonly name: string;
  /** A path of the same origin; a picture of at most 64 kB. */
  readonly logo?: string;
  /**
   * The shop is paid by these: addresses, or the one party that all money of an address goes to, as
   * CAIP-10: `eip155:8453:0x…`.
   */
  readonly accounts?: readonly string[];
  /** Ed25519 public keys, 32 bytes in base64, of those who sign its links. */
  readonly keys?: readonly string[];
};

export const manifestPath = "/.well-known/executable-address.json";

/** A link claims this, before the shop has agreed. */
export type ShopClaim = {
  /** A domain in lower case, with a port if it has one. */
  readonly shop: string;
  readonly order: string | undefined;
  /** 64 bytes in base64url. */
  readonly signature: string | undefined;
};

export type ProvedShop = {
  readonly shop: string;
  readonly name: string;
  /** On the shop's origin. */
  readonly logo: string | undefined;
  /** Is there where the shop signed it. */
  readonly order: string | undefined;
};

type LinkOptions = {
  /** The shop's domain, such as `shop.example`. */
  readonly shop: string;
  /** The payer knows the order by it: 1 to 64 characters. */
  readonly order: string;
  /** Ed25519, PKCS #8 in base64. Its public key stands in the shop's manifest. */
  readonly privateKey: string;
};

/**
 * The page of an address with the shop and the order on it.
 *
 * @param page `https://pay.example/a/0x…`
 * @throws {InvalidError} where the page is of no address, {TypeError} where shop or order cannot be
 *   shown, and on a malformed key, which it does not repeat
 */
export async function signShopLink(page: string, options: LinkOptions): Promise<string> {
  const url = new URL(page);
  const address = parseAddress(url.pathname.split("/")[2] ?? "", { path: ["page"] });
  const { shop, order } = options;
  if (originOf(shop) === undefined)
    throw new TypeError(`shop: expected a domain in lower case, found ${shown(shop)}`);
  if (!isName(order))
    throw new TypeError(`order: expected 1 to 64 characters that are seen, found ${shown(order)}`);
  const key = await privateKeyOf(options.privateKey);
  const signed = await crypto.subtle.sign("Ed25519", key, contentOf(address, shop, order));
  const bytes = new Uint8Array(signed);
  const signature = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
  for (const [name, value] of Object.entries({ shop, order, signature }))
    url.searchParams.set(name, name === "signature" ? value.replaceAll("=", "") : value);
  return url.href;
}

/** The beginning of a text, with what hides in it written out. */
function shown(value: unknown): string {
  if (typeof value !== "string") return describeType(value);
  const pieces = inertPieces(value.slice(0, 80));
  return `"${pieces.map(({ text }) => text).join("")}"`;
}

/** @param search of the page's URL; undefined where it names no shop */
export function readShopClaim(search: string): ShopClaim | undefined {
  const query = new URLSearchParams(search);
  const shop = query.get("shop");
  if (shop === null || originOf(shop) === undefined) return undefined;
  const order = query.get("order") ?? undefined;
  return { shop, order, signature: query.get("signature") ?? undefined };
}

/**
 * `https://` and the domain; on this machine `http://`. Undefined for what is no domain, such as an
 * address of a network.
 */
export function originOf(shop: string): string | undefined {
  if (/^(localhost|127\.0\.0\.1)(:\d{1,5})?$/.test(shop)) return `http://${shop}`;
  const isDomain = /^([a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}(:\d{1,5})?$/.test(shop);
  return isDomain && shop.length <= 253 ? `https://${shop}` : undefined;
}

/**
 * Gives what the shop says of itself, if `manifest` agrees to the claim: it names the address, or
 * the one party that all of the money goes to, or a key of it signed the link. An order is shown
 * only if it is signed, so a claimed order without a right signature refutes the claim.
 *
 * @throws where this browser cannot check a signature, which refutes nothing
 */
export async function proveShop(
  manifest: unknown,
  claim: ShopClaim,
  { address, intent }: { address: Hex; intent: Intent },
): Promise<ProvedShop | undefined> {
  const { version, name, logo, accounts, keys } = (manifest ?? {}) as Record<string, unknown>;
  if (version !== 1 || !isName(name)) return undefined;
  const { shop, order } = claim;
  const isSigned = await hasSigned(textsOf(keys), claim, address);
  if (order !== undefined && !isSigned) return undefined;
  const parties = new Set(partiesOf(intent));
  const paid = parties.size === 1 ? [...parties][0] : undefined;
  const named = textsOf(accounts).map((account) => account.toLowerCase());
  const isNamed = [address, paid].some(
    (party) => party && named.includes(`eip155:${intent.chainId}:${party.toLowerCase()}`),
  );
  if (!isSigned && !isNamed) return undefined;
  return { shop, name, order, logo: logoOf(logo, shop) };
}

/** The only functions by which the token itself may take part. */
const givesTo = /^(approve|transfer)\(address \w+, uint256 \w+\)$/;

/**
 * For each call, who it lets have the token: the contract called, or whom the token is told to give
 * to; undefined where that cannot be told. Lower case.
 */
export function partiesOf({ token, calls }: Pick<Intent, "token" | "calls">) {
  return calls.map(({ target, function: text, args }) => {
    if (!isSame(target, token)) return target.toLowerCase();
    return givesTo.test(text) ? args[0]!.toLowerCase() : undefined;
  });
}

async function hasSigned(keys: readonly string[], claim: ShopClaim, address: Hex) {
  const { shop, order, signature } = claim;
  if (order === undefined || signature === undefined || !isName(order)) return false;
  for (const text of keys) {
    try {
      const raw = bytesOf(text);
      const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
      const content = contentOf(address, shop, order);
      if (await crypto.subtle.verify("Ed25519", key, bytesOf(signature), content)) return true;
    } catch (error) {
      if (!crypto.subtle || (error as Error).name === "NotSupportedError") throw error;
      // A key or a signature of another form confirms nothing.
    }
  }
  return false;
}

/** Each part on its own line: an order has no line feed, since it is seen. */
const contentOf = (address: Hex, shop: string, order: string) =>
  new TextEncoder().encode(`executable-address order\n${shop}\n${address.toLowerCase()}\n${order}`);

const listedMax = 1_000;
const textsOf = (list: unknown): string[] =>
  (Array.isArray(list) ? list.slice(0, listedMax) : []).filter((item) => typeof item === "string");

function logoOf(logo: unknown, shop: string): string | undefined {
  const origin = originOf(shop)!;
  if (typeof logo !== "string" || !URL.canParse(logo, origin)) return undefined;
  const url = new URL(logo, origin);
  return url.origin === origin ? url.href : undefined;
}

/** @throws {TypeError} that does not repeat the key */
async function privateKeyOf(text: string) {
  try {
    return await crypto.subtle.importKey("pkcs8", bytesOf(text), "Ed25519", false, ["sign"]);
  } catch {
    throw new TypeError("expected an Ed25519 private key: PKCS #8 in base64");
  }
}

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
