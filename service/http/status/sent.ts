// POST /address/{address}/sent: spec/service.md, "Report". Public. Finds money that a payer sent by
// mistake, and asks the executor to return it. The client cannot choose the recipient, because the
// money goes to the intent's `recovery`.

import {
  formatAddress,
  type Hex,
  type Intent,
  isAddress,
  toHex,
  zeroAddress,
} from "executable-address";
import type { SentMoney, SentQuery, SentToken } from "executable-address/client";
import { isSame, type StatusSubject } from "executable-address/status";
import { z } from "zod";
import { describePolicy, internalPolicies, policies } from "../../accounts/policies.ts";
import type { Chain } from "../../chain/chains.ts";
import { perChain } from "../../chain/registry.ts";
import { openEndpoints } from "../../chain/rpc/endpoint.ts";
import { type FoundToken, openSentReader } from "../../chain/sent.ts";
import { networkOf } from "../../flow/networks.ts";
import { addressOf, hexPattern, parseInput } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import { takeOrRefuse, takeShared } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "./status.ts";

/**
 * The time limit for each request to an endpoint. It is shorter than `requestTimeoutMs`, because a
 * report sends up to five requests in sequence.
 */
const timeoutMs = 4_000;

const token = z
  .string()
  .refine((text) => isAddress(text), "expected an address: 0x and 40 hex digits")
  .meta({ pattern: hexPattern(20).source })
  .describe("The contract of the token. The zero address means the native coin.");
const transactionHash = z
  .string()
  .regex(hexPattern(32), "expected 0x and 64 hex digits")
  .describe("The hash of a transaction on the intent's chain that paid the address.");

export const sentInput = z.union([z.strictObject({ token }), z.strictObject({ transactionHash })]);

/** A report contains one address or one hash. Anyone can send many reports simultaneously. */
const sentBytesMax = 1024;

export function sent(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics, chains, keccak, executorClient } = parts;
  const { limiter } = parts.accounts;
  const findMoney = openFindMoney(parts);
  return {
    bodyBytesMax: sentBytesMax,
    before: [limitPending(metrics, "sent", limits.lookupsInFlightMax)],
    async handler(request): Promise<SentMoney> {
      const query = parseInput(sentInput, request.body) as SentQuery;
      const { subject, terms } = await statuses.readRecord(addressOf(request));
      await takeOrRefuse(limiter, policies.reports, networkOf(request.ip), "too many reports");
      const { address, intent } = subject;
      const { chainId, recovery } = intent;
      const found = await findMoney(subject, terms, query);
      const { block, isOpen, problem, omitted } = found;
      const notBefore = isOpen ? intent.expirationTimestamp + 1 : null;
      const chain = chains.find(chainId);
      const fates = new Map<Hex, SentToken["fate"]>();
      const undecided: Hex[] = [];
      for (const each of found.tokens) {
        const fate = fateOf(each, { intent, isOpen, chain });
        if (fate) fates.set(each.token, fate);
        else undecided.push(each.token);
      }
      const report = { chainId, address, tokens: undecided, block, notBefore: notBefore ?? 0 };
      const saved = await executorClient.reportTokens(report);
      for (const [index, each] of undecided.entries()) fates.set(each, saved[index]!);
      return {
        ...{ address, chainId, recovery, problem, omitted },
        block: { number: block.number, hash: block.hash, timestamp: block.timestamp },
        tokens: found.tokens.map(({ token, amount, symbol, decimals }): SentToken => {
          const fate = fates.get(token)!;
          const isReturned = fate === "queued" || fate === "automatic";
          return {
            token: formatAddress(token, keccak),
            amount: String(amount),
            ...{ symbol, decimals, fate },
            notBefore: isReturned ? notBefore : null,
          };
        }),
      };
    },
  };
}

/** Returns a function that reads the reported tokens, up to a rate limit for each chain. */
function openFindMoney(parts: Parts) {
  const { chains, factory } = parts;
  const readerOf = perChain(parts, ({ chainId }) => {
    const chain = chains.find(chainId)!;
    return openSentReader(chainId, factory, openEndpoints(chain, chain.rpcUrls, { timeoutMs }));
  });
  return async (subject: StatusSubject, terms: Uint8Array, query: SentQuery) => {
    const { chainId } = subject.intent;
    const onChain = internalPolicies.reportsOnChain;
    const limit = describePolicy(onChain, `reports for chain ${chainId}`);
    await takeShared(parts, onChain, chainId, limit);
    return readerOf(chainId)(subject, toHex(terms), query);
  };
}

/**
 * Returns the `fate` of a token for which the report has no effect. Returns undefined if the
 * executor decides the token's fate.
 */
function fateOf(
  { token, amount, outcome }: FoundToken,
  { intent, isOpen, chain }: { intent: Intent; isOpen: boolean; chain: Chain | undefined },
): SentToken["fate"] | undefined {
  if (amount === 0n) return "empty";
  if (isOpen && isSame(token, intent.token)) return "payment";
  const listed = [...(chain?.tokens ?? []), ...(chain?.lookalikes ?? [])];
  const automatic = [zeroAddress, intent.token, ...listed.map(({ address }) => address)];
  if (automatic.some((each) => isSame(each, token))) return "automatic";
  return outcome === "stays" ? "unmovable" : undefined;
}
