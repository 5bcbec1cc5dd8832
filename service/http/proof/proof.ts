// GET /address/{address}/proof: spec/service.md, "Proof". Public; what became of an address, so
// that nobody has to believe the status.

import { InvalidError } from "executable-address";
import { z } from "zod";
import { networkOf } from "../../accounts/attempts.ts";
import type { Policy } from "../../accounts/limits.ts";
import { openProofs, type ProofBlock } from "../../chain/proof.ts";
import { perChain } from "../../chain/registry.ts";
import { foundText } from "../errors.ts";
import { addressOf, parseQuery } from "../input.ts";
import { budget, spend } from "../load/admission.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";
import { isKnown } from "../routes.ts";
import { metered } from "../simulation/simulation.ts";
import type { Statuses } from "../status/status.ts";

/** One client's proofs: 30 at once, then one in 2 s. */
const perClient: Policy = { name: "proof", intervalMs: 2_000, burst: 30 };

export const proofInput = z.strictObject({
  block: z
    .string()
    .meta({ pattern: "^(latest|finalized|0|[1-9][0-9]{0,14})$" })
    .default("latest")
    .transform(parseBlock)
    .describe("The newest block, the chain's last finalized block, or a block by its number."),
});

export function proof(parts: Parts, statuses: Statuses): Route {
  const { limits, metrics, keccak } = parts;
  const { limiter } = parts.accounts;
  const proveOn = perChain(parts, (chain) =>
    openProofs({ ...chain, keccak, rpc: metered(parts, chain, "proof-calls") }),
  );
  return {
    before: [budget(limits.lookupsInFlightMax, () => metrics.shed.inc({ route: "proof" }))],
    async handler(request, reply) {
      const { block } = parseQuery(proofInput, request);
      const subject = await statuses.readSubject(addressOf(request));
      await spend(limiter, perClient, networkOf(request.ip), "too many proofs");
      const found = await proveOn(subject.intent.chainId)(subject, block);
      // A proof stays one for good; which block a name or a number means may change.
      reply.header("cache-control", "public, max-age=2");
      const tags = request.headers["if-none-match"];
      // Where the node was slow to tell who paid, the same block has another answer later.
      const etag = `"${found.block.hash}-${found.payments.length}"`;
      return isKnown(etag, tags, reply) ? reply.send() : found;
    },
  };
}

function parseBlock(text: string): ProofBlock {
  if (text === "latest" || text === "finalized") return text;
  if (/^(0|[1-9][0-9]{0,14})$/.test(text)) return Number(text);
  const message = `expected "latest", "finalized" or a number, found ${foundText(text)}`;
  throw new InvalidError([{ path: ["block"], code: "wrong_block", message }]);
}
