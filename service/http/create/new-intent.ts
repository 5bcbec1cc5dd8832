// Parses the intent of a create or check request. Adds this service's own rules for the chain, the
// token, and the expiration time.

import { deriveAddress, encodeNewIntent, type Intent, type Issue } from "executable-address";
import type { Chains } from "../../chain/registry.ts";
import type { Parts } from "../parts.ts";

type IntentParts = Pick<Parts, "chains" | "factory" | "keccak" | "limits" | "now">;

/** `address` is the 20 bytes of the intent's address. */
export type NewIntent = { address: Uint8Array; intent: Intent; terms: Uint8Array };

/**
 * Parses an intent, encodes its terms, and derives its address.
 *
 * @param body any JSON value; an intent without `salt` gets a random salt
 * @throws {InvalidError} if the intent is invalid; the error lists every fault
 */
export function parseNewIntent(body: unknown, parts: IntentParts): NewIntent {
  const { factory, keccak, chains } = parts;
  const { intent, terms } = encodeNewIntent(body, {
    ...{ factory, keccak },
    check: (fields) => [...findListingFaults(fields, chains), ...findExpiryFaults(fields, parts)],
  });
  return { address: deriveAddress(terms, { factory, keccak }), intent, terms };
}

/** spec §4.3: the chain must be listed, and the token must be listed for this chain. */
function findListingFaults({ chainId, token }: Partial<Intent>, chains: Chains): Issue[] {
  if (chainId === undefined) return [];
  const chain = chains.isListed(chainId) ? chains.find(chainId) : undefined;
  if (!chain) {
    const ids = chains.listed().map((each) => each.chainId);
    const message = `chain ${chainId} is not listed; expected one of: ${ids.join(", ") || "none"}`;
    return [{ path: ["chainId"], code: "chain_not_listed", message }];
  }
  if (token === undefined || chain.tokens.some(({ address }) => address === token)) return [];
  const similar = chain.lookalikes.find(({ address }) => address === token);
  if (similar) {
    const meant = chain.tokens.find(({ symbol }) => symbol === similar.looksLike)!;
    const message =
      `${similar.name} (${similar.symbol} ${token}) is not accepted on chain ${chainId} ` +
      `(${chain.name}); did you mean ${meant.symbol} ${meant.address}?`;
    return [{ path: ["token"], code: "token_not_listed", message }];
  }
  const listed = chain.tokens.map(({ symbol, address }) => `${symbol} ${address}`).join(", ");
  const message =
    `token ${token} is not listed for chain ${chainId} (${chain.name}); ` +
    `expected one of: ${listed}`;
  return [{ path: ["token"], code: "token_not_listed", message }];
}

/**
 * Requires an expiration time within the limits. Money that arrives later goes to `recovery` and
 * not to the payee.
 */
function findExpiryFaults(
  { expirationTimestamp }: Partial<Intent>,
  { limits, now }: IntentParts,
): Issue[] {
  if (expirationTimestamp === undefined) return [];
  const nowSeconds = Math.floor(now() / 1000);
  const earliest = nowSeconds + limits.expirySecondsMin;
  const latest = nowSeconds + limits.expirySecondsMax;
  if (expirationTimestamp >= earliest && expirationTimestamp <= latest) return [];
  const isEarly = expirationTimestamp < earliest;
  const asSeconds = Math.floor(expirationTimestamp / 1000);
  const isMilliseconds = asSeconds >= earliest && asSeconds <= latest;
  const hint = isMilliseconds ? `; the value looks like milliseconds: write ${asSeconds}` : "";
  const wanted = `expected Unix seconds from ${earliest} to ${latest}`;
  const message = `${wanted}, found ${expirationTimestamp}${hint}`;
  const code = isEarly ? "expires_too_soon" : "expires_too_late";
  return [{ path: ["expirationTimestamp"], code, message }];
}
