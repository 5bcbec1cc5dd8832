// What create asks of an intent beyond the library's rules: what the service lists, and when it
// expires. Every fault of both kinds is reported at once.

import { type Intent, InvalidError, type Issue, parseIntent, toHex } from "executable-address";
import type { Chains } from "../chain/registry.ts";
import type { Parts } from "./parts.ts";

/**
 * @param body any JSON value; without a `salt` it gets one of its own
 * @param newSalt 32 random bytes
 * @throws {InvalidError}
 */
export function parseNewIntent(
  body: unknown,
  parts: Pick<Parts, "chains" | "factory" | "keccak" | "limits" | "now">,
  newSalt: () => Uint8Array,
): Intent {
  const isObject = typeof body === "object" && body !== null && !Array.isArray(body);
  const value =
    isObject && !Object.hasOwn(body, "salt") ? { ...body, salt: toHex(newSalt()) } : body;
  const issues: Issue[] = [];
  let intent: Intent | undefined;
  try {
    intent = parseIntent(value, parts);
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    issues.push(...error.issues);
  }
  const fields: Partial<Record<keyof Intent, unknown>> = intent ?? (isObject ? body : {});
  const isWellFormed = (field: string) => !issues.some((issue) => issue.path[0] === field);
  const found: Issue[] = [];
  if (isWellFormed("chainId")) {
    found.push(...listing(fields, isWellFormed("token"), parts.chains));
  }
  if (isWellFormed("expirationTimestamp")) {
    found.push(...expiry(fields.expirationTimestamp, parts));
  }
  issues.push(...found);
  if (intent === undefined || issues.length > 0) throw new InvalidError(issues);
  return intent;
}

/** spec §4.3: the chain must be listed, and the token among those of that chain. */
function listing(
  { chainId, token }: Partial<Record<keyof Intent, unknown>>,
  isTokenWellFormed: boolean,
  chains: Chains,
): Issue[] {
  if (typeof chainId !== "number") return [];
  const chain = chains.isListed(chainId) ? chains.find(chainId) : undefined;
  if (!chain) {
    const listed = chains
      .listed()
      .map((each) => each.chainId)
      .join(", ");
    const message = `chain ${chainId} is not listed; listed are: ${listed || "none"}`;
    return [{ path: ["chainId"], code: "chain_not_listed", message }];
  }
  if (!isTokenWellFormed || typeof token !== "string") return [];
  const wanted = token.toLowerCase();
  if (chain.tokens.some(({ address }) => address.toLowerCase() === wanted)) return [];
  const listed = chain.tokens.map(({ symbol, address }) => `${symbol} ${address}`).join(", ");
  const message = `not listed for chain ${chainId} (${chain.name}), which lists: ${listed}`;
  return [{ path: ["token"], code: "token_not_listed", message }];
}

/** Near expiry a late payer's money would go to the creator's `recovery`, so it must lie ahead. */
function expiry(expiresAt: unknown, { limits, now }: Pick<Parts, "limits" | "now">): Issue[] {
  if (typeof expiresAt !== "number") return [];
  const nowSeconds = Math.floor(now() / 1000);
  const earliest = nowSeconds + limits.expirySecondsMin;
  const latest = nowSeconds + limits.expirySecondsMax;
  if (expiresAt >= earliest && expiresAt <= latest) return [];
  const [code, fault] =
    expiresAt < earliest ? ["expires_too_soon", "too soon"] : ["expires_too_late", "too late"];
  const asSeconds = Math.floor(expiresAt / 1000);
  const hint =
    asSeconds >= earliest && asSeconds <= latest
      ? `; it looks like milliseconds: write ${asSeconds}`
      : "";
  const message = `${fault}: expected Unix seconds from ${earliest} to ${latest}${hint}`;
  return [{ path: ["expirationTimestamp"], code, message }];
}
