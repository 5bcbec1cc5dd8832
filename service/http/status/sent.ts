// POST /address/{address}/sent: spec/service.md, "Report". Public. Finds money that a payer sent by
// mistake, and asks the executor to return it. The client cannot choose the recipient, because the
// money goes to the intent's `recovery`.

import { formatAddress, type Hex, isAddress, toHex, zeroAddress } from "executable-address";
import type { SentMoney, SentToken } from "executable-address/client";
import { isSame } from "executable-address/status";
import { z } from "zod";
import { internalPolicies, policies } from "../../accounts/policies.ts";
import { perChain } from "../../chain/registry.ts";
import { openEndpoints } from "../../chain/rpc/endpoint.ts";
import { CallsSpent } from "../../chain/rpc/json-rpc.ts";
import { openSentReader } from "../../chain/sent.ts";
import { networkOf } from "../../flow/networks.ts";
import { addressOf, hexPattern, parseInput } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import { spend } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "./read.ts";

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
  .describe(
    "The hash of a transaction that paid the address, on the chain of the address's intent.",
  );

export const sentInput = z.union([z.strictObject({ token }), z.strictObject({ transactionHash })]);

export function sent(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics, chains, keccak, factory, executorClient } = parts;
  const { limiter } = parts.accounts;
  const readerOf = perChain(parts, ({ chainId }) => {
    const chain = chains.find(chainId)!;
    return openSentReader(chainId, factory, openEndpoints(chain, chain.rpcUrls, { timeoutMs }));
  });
  return {
    before: [limitPending(metrics, "sent", limits.lookupsInFlightMax)],
    async handler(request, reply): Promise<SentMoney> {
      const query = parseInput(sentInput, request.body) as Query;
      const { subject, terms } = await statuses.readRecord(addressOf(request));
      await spend(limiter, policies.reports, networkOf(request.ip), "too many reports");
      const { address, intent } = subject;
      const { chainId } = intent;
      const onChain = internalPolicies.reportsOnChain;
      const { admitted } = await limiter.take(`${onChain.name} ${chainId}`, onChain);
      if (!admitted) throw new CallsSpent(`too many reports for chain ${chainId}`);
      const found = await readerOf(chainId)(subject, toHex(terms), query);
      const { block, isOpen, problem, omitted } = found;
      const notBefore = isOpen ? intent.expirationTimestamp + 1 : null;
      const { tokens = [], lookalikes = [] } = chains.find(chainId) ?? {};
      const isListed = (each: Hex) =>
        each === zeroAddress ||
        [intent.token, ...[...tokens, ...lookalikes].map((entry) => entry.address)].some((known) =>
          isSame(known, each),
        );
      const fateOf = ({ token: each, amount, outcome }: (typeof found.tokens)[0]) => {
        if (amount === 0n) return "empty";
        if (isListed(each)) return isOpen && isSame(each, intent.token) ? "payment" : "automatic";
        return outcome === "stays" ? "unmovable" : undefined;
      };
      const fates = found.tokens.map(fateOf);
      const undecided = found.tokens.filter((_, index) => fates[index] === undefined);
      const saved = await executorClient.reportTokens({
        ...{ chainId, address, block, notBefore: notBefore ?? 0 },
        tokens: undecided.map((each) => each.token),
      });
      reply.header("cache-control", "no-store");
      return {
        ...{ address, chainId, recovery: intent.recovery, problem, omitted },
        block: { number: block.number, hash: block.hash, timestamp: block.timestamp },
        tokens: found.tokens.map((each, index): SentToken => {
          const fate = fates[index] ?? saved[undecided.indexOf(each)]!;
          const isReturned = fate === "queued" || fate === "automatic";
          return {
            token: formatAddress(each.token, keccak),
            amount: String(each.amount),
            ...{ symbol: each.symbol, decimals: each.decimals, fate },
            notBefore: isReturned ? notBefore : null,
          };
        }),
      };
    },
  };
}

type Query = { token: Hex } | { transactionHash: Hex };
