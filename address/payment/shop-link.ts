// Creates and reads links to the payment page. A link can name a shop and an order. Anybody can
// create such a link, so the shop's origin must confirm it. A file at that origin lists the
// addresses, their recipients, or the keys that sign links. The page shows the shop's name together
// with its domain.

import { parseAddress } from "../abi/checksum.ts";
import { describeLength, describeType } from "../errors.ts";
import type { Hex, Intent } from "../intent/intent.ts";
import { inertPieces, isName } from "./inert.ts";
import { partiesOf } from "./parties.ts";

/**
 * The file `https://{shop}/.well-known/executable-address.json`, which the shop serves with
 * `Access-Control-Allow-Origin: *` and without redirects.
 */
export type ShopManifest = {
  readonly version: 1;
  /** 1 to 64 characters. */
  readonly name: string;
  /** The path of a picture on the same origin. The picture has at most 64 kB. */
  readonly logo?: string;
  /**
   * Accounts in CAIP-10 format: `eip155:8453:0x…`. An account matches an executable address if it
   * is that address. It also matches if it is the only account that receives money from that
   * address.
   */
  readonly accounts?: readonly string[];
  /** The shop's Ed25519 public keys, 32 bytes each in base64, which verify its links. */
  readonly keys?: readonly string[];
};

export const manifestPath = "/.well-known/executable-address.json";

/** The claim that a link makes, which the shop has not confirmed yet. */
export type ShopClaim = {
  /** A lowercase domain, with a port if it has one. */
  readonly shop: string;
  readonly order: string | undefined;
  /** 64 bytes in base64url. */
  readonly signature: string | undefined;
};

export type ProvedShop = {
  readonly shop: string;
  readonly name: string;
  /** A URL on the shop's origin. */
  readonly logo: string | undefined;
  /** Defined only if the shop signed the order. */
  readonly order: string | undefined;
};

type LinkOptions = {
  /** The shop's domain, such as `shop.example`. */
  readonly shop: string;
  /** The order's name or number, as the payer knows it, 1 to 64 characters. */
  readonly order: string;
  /** An Ed25519 key, PKCS #8 in base64, whose public key is in the shop's manifest. */
  readonly privateKey: string;
};

/**
 * Signs a link to an address's payment page. With this link, the page shows the shop and the order.
 *
 * @param page `https://pay.example/a/0x…`
 * @throws {InvalidError} if the page has no address
 * @throws {TypeError} if the shop, the order, or the key is malformed. The message does not contain
 *   the key
 */
export async function signShopLink(page: string, options: LinkOptions): Promise<string> {
  const url = new URL(page);
  const address = parseAddress(url.pathname.split("/")[2] ?? "", { path: ["page"] });
  const { shop, order } = options;
  if (originOf(shop) === undefined)
    throw new TypeError(`shop: expected a lowercase domain, found ${quote(shop)}`);
  if (!isName(order))
    throw new TypeError(`order: expected 1 to 64 visible characters, found ${quote(order)}`);
  const key = await importPrivateKey(options.privateKey);
  const signed = await crypto.subtle.sign("Ed25519", key, encodeContent(address, shop, order));
  const bytes = new Uint8Array(signed);
  const signature = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
  for (const [name, value] of Object.entries({ shop, order, signature }))
    url.searchParams.set(name, name === "signature" ? value.replaceAll("=", "") : value);
  return url.href;
}

/** Quotes the beginning of a text, with hidden characters written out. */
function quote(value: unknown): string {
  if (typeof value !== "string") return describeType(value);
  const pieces = inertPieces(value.slice(0, 80));
  return `"${pieces.map(({ text }) => text).join("")}"`;
}

/** Reads the claim in a page's query string. Returns undefined if it contains no shop. */
export function readShopClaim(search: string): ShopClaim | undefined {
  const query = new URLSearchParams(search);
  const shop = query.get("shop");
  if (shop === null || originOf(shop) === undefined) return undefined;
  const order = query.get("order") ?? undefined;
  return { shop, order, signature: query.get("signature") ?? undefined };
}

/**
 * Returns the origin of a domain, with `http` for `localhost` and `127.0.0.1`. Returns undefined
 * for anything else, such as a different IP address.
 */
export function originOf(shop: string): string | undefined {
  if (/^(localhost|127\.0\.0\.1)(:\d{1,5})?$/.test(shop)) return `http://${shop}`;
  const isDomain = /^([a-z0-9-]{1,63}\.){1,8}[a-z][a-z0-9-]{1,62}(:\d{1,5})?$/.test(shop);
  return isDomain && shop.length <= 253 ? `https://${shop}` : undefined;
}

/**
 * Returns the shop if its `manifest` file confirms the claim in a link. The file must contain one
 * of these:
 *
 * - the executable address
 * - the only account that receives money from the executable address
 * - the public key of the link's signature
 *
 * If the claim names an order, the file must contain the public key.
 *
 * @throws {Error} if this browser cannot verify signatures
 */
export async function proveShop(
  manifest: unknown,
  claim: ShopClaim,
  { address, intent }: { address: Hex; intent: Intent },
): Promise<ProvedShop | undefined> {
  const { version, name, logo, accounts, keys } = (manifest ?? {}) as Record<string, unknown>;
  if (version !== 1 || !isName(name)) return undefined;
  const { shop, order } = claim;
  const isSigned = await hasSigned(filterTexts(keys), claim, address);
  if (order !== undefined && !isSigned) return undefined;
  const parties = new Set(partiesOf(intent));
  const paid = parties.size === 1 ? [...parties][0] : undefined;
  const named = filterTexts(accounts).map((account) => account.toLowerCase());
  const isNamed = [address, paid].some(
    (party) => party && named.includes(`eip155:${intent.chainId}:${party.toLowerCase()}`),
  );
  if (!isSigned && !isNamed) return undefined;
  return { shop, name, order, logo: resolveLogo(logo, shop) };
}

async function hasSigned(keys: readonly string[], claim: ShopClaim, address: Hex) {
  const { shop, order, signature } = claim;
  if (order === undefined || signature === undefined || !isName(order)) return false;
  for (const text of keys) {
    try {
      const raw = decodeBase64(text);
      const key = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
      const content = encodeContent(address, shop, order);
      if (await crypto.subtle.verify("Ed25519", key, decodeBase64(signature), content)) return true;
    } catch (error) {
      if (!crypto.subtle || (error as Error).name === "NotSupportedError") throw error;
      // A malformed key or signature is treated like a wrong signature.
    }
  }
  return false;
}

/** Encodes the signed text, one part per line. The name of an order cannot contain a line feed. */
const encodeContent = (address: Hex, shop: string, order: string) =>
  new TextEncoder().encode(`executable-address order\n${shop}\n${address.toLowerCase()}\n${order}`);

const listedMax = 1_000;
const filterTexts = (list: unknown): string[] =>
  (Array.isArray(list) ? list.slice(0, listedMax) : []).filter((item) => typeof item === "string");

function resolveLogo(logo: unknown, shop: string): string | undefined {
  const origin = originOf(shop)!;
  if (typeof logo !== "string" || !URL.canParse(logo, origin)) return undefined;
  const url = new URL(logo, origin);
  return url.origin === origin ? url.href : undefined;
}

/** @throws {TypeError} whose message does not contain the key */
async function importPrivateKey(text: string) {
  try {
    return await crypto.subtle.importKey("pkcs8", decodeBase64(text), "Ed25519", false, ["sign"]);
  } catch {
    const found = describeLength(text);
    throw new TypeError(`expected an Ed25519 private key: PKCS #8 in base64, found ${found}`);
  }
}

const decodeBase64 = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
