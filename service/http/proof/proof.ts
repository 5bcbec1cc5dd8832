// GET /address/{address}/proof: spec/service.md, "Proof". Public. Returns the outcome of an address
// with a proof. Clients then do not have to trust the service.

import { InvalidError } from "executable-address";
import { z } from "zod";
import { policies } from "../../accounts/policies.ts";
import { openProofs, type ProofBlock } from "../../chain/proof.ts";
import { perChain } from "../../chain/registry.ts";
import { networkOf } from "../../flow/networks.ts";
import { foundText } from "../errors.ts";
import { isKnown } from "../headers.ts";
import { addressOf, parseQuery } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import { metered, takeOrRefuse } from "../load/rate-limit.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import type { Statuses } from "../status/status.ts";

export const proofInput = z.strictObject({
  block: z
    .string()
    .meta({ pattern: "^(latest|finalized|0|[1-9][0-9]{0,14})$" })
    .default("latest")
    .transform(parseBlock)
    .describe(
      "The block of the proof: the newest block, the newest finalized block, or a block number.",
    ),
});

export function proof(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics, keccak } = parts;
  const { limiter } = parts.accounts;
  const proveOn = perChain(parts, (chain) =>
    openProofs({ ...chain, keccak, rpc: metered(parts, chain, "proof") }),
  );
  return {
    before: [limitPending(metrics, "proof", limits.lookupsInFlightMax)],
    async handler(request, reply) {
      const { block } = parseQuery(proofInput, request);
      const subject = await statuses.readSubject(addressOf(request));
      await takeOrRefuse(limiter, policies.proofs, networkOf(request.ip), "too many proofs");
      const found = await proveOn(subject.intent.chainId)(subject, block);
      const tags = request.headers["if-none-match"];
      // A node can report a payment late, so two responses about the same block can differ.
      // Therefore, the ETag includes the number of payments.
      const etag = `"${found.block.hash}-${found.payments.length}"`;
      return isKnown(etag, tags, reply) ? reply.send() : found;
    },
  };
}

function parseBlock(text: string): ProofBlock {
  if (text === "latest" || text === "finalized") return text;
  if (/^(0|[1-9][0-9]{0,14})$/.test(text)) return Number(text);
  const message = `expected "latest", "finalized", or a block number, found ${foundText(text)}`;
  throw new InvalidError([{ path: ["block"], code: "wrong_block", message }]);
}
