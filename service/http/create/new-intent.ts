// Create has rules beyond the library's: the chain and the token are listed, and the expiry lies
// within a window. Faults of both kinds are reported together.

import { encodeNewIntent, type Intent, type Issue } from "executable-address";
import type { Chains } from "../../chain/registry.ts";
import type { Parts } from "../parts.ts";

type IntentParts = Pick<Parts, "chains" | "factory" | "keccak" | "limits" | "now">;

/**
 * @param body any JSON value; an intent without `salt` gets one of its own
 * @returns the intent and its terms
 * @throws {InvalidError} with every fault
 */
export function parseNewIntent(body: unknown, parts: IntentParts) {
  return encodeNewIntent(body, {
    factory: parts.factory,
    keccak: parts.keccak,
    check: (fields) => [...listing(fields, parts.chains), ...expiry(fields, parts)],
  });
}

/** spec §4.3: the chain must be listed, and the token among those of that chain. */
function listing({ chainId, token }: Partial<Intent>, chains: Chains): Issue[] {
  if (chainId === undefined) return [];
  const chain = chains.isListed(chainId) ? chains.find(chainId) : undefined;
  if (!chain) {
    const ids = chains.listed().map((each) => each.chainId);
    const message = `chain ${chainId} is not listed; listed are: ${ids.join(", ") || "none"}`;
    return [{ path: ["chainId"], code: "chain_not_listed", message }];
  }
  if (token === undefined || chain.tokens.some(({ address }) => address === token)) return [];
  const listed = chain.tokens.map(({ symbol, address }) => `${symbol} ${address}`).join(", ");
  const message = `not listed for chain ${chainId} (${chain.name}), which lists: ${listed}`;
  return [{ path: ["token"], code: "token_not_listed", message }];
}

/** Near expiry a late payer's money would go to the creator's `recovery`, so it must lie ahead. */
function expiry({ expirationTimestamp }: Partial<Intent>, { limits, now }: IntentParts): Issue[] {
  if (expirationTimestamp === undefined) return [];
  const nowSeconds = Math.floor(now() / 1000);
  const earliest = nowSeconds + limits.expirySecondsMin;
  const latest = nowSeconds + limits.expirySecondsMax;
  if (expirationTimestamp >= earliest && expirationTimestamp <= latest) return [];
  const isEarly = expirationTimestamp < earliest;
  const asSeconds = Math.floor(expirationTimestamp / 1000);
  const isMilliseconds = asSeconds >= earliest && asSeconds <= latest;
  const hint = isMilliseconds ? `; it looks like milliseconds: write ${asSeconds}` : "";
  const message = `expected Unix seconds from ${earliest} to ${latest}${hint}`;
  const code = isEarly ? "expires_too_soon" : "expires_too_late";
  return [{ path: ["expirationTimestamp"], code, message }];
}
