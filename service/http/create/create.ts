// POST /address/create: spec/service.md §4.1. Idempotent: the same intent is answered by the same
// bytes, whoever asks and however often, once its record is durable.

import { deriveAddress } from "executable-address";
import { parseReference, referenceWriter } from "../../events/references.ts";
import { authorize } from "../authorize/authorize.ts";
import { missingBody } from "../errors.ts";
import { budget } from "../load/budget.ts";
import type { Parts } from "../parts.ts";
import { recordJson } from "../record.ts";
import type { Route } from "../routes.ts";
import { parseNewIntent } from "./new-intent.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by create's `before`, when the credential has passed. */
    caller?: Awaited<ReturnType<typeof authorize>>;
  }
}

export function create(parts: Parts): Route {
  const { store, keccak, factory, limits, metrics } = parts;
  const references = referenceWriter(store);
  return {
    // The credential comes before the body: nobody unknown has us read or parse one.
    before: [
      budget(limits.createsInFlightMax, () => metrics.shed.inc({ route: "create" })),
      async (request, reply) => {
        request.caller = await authorize(request, reply, parts);
      },
    ],
    async handler(request, reply) {
      if (request.body === undefined) throw missingBody(request.headers["content-type"]);
      const { reference: asked } = request.query as { reference?: unknown };
      const reference = asked === undefined ? undefined : parseReference(asked);
      const { intent, terms } = parseNewIntent(request.body, parts);
      const address = deriveAddress(terms, { factory, keccak });
      const { accountId, kind } = request.caller as NonNullable<typeof request.caller>;
      const isClientId = kind === "clientId";
      await store.saveRecord({ address, terms, accountId, isClientId, createdAtMs: parts.now() });
      if (reference !== undefined) await references({ accountId, address, reference });
      reply.header("content-type", "application/json; charset=utf-8");
      return recordJson(address, terms, intent, parts);
    },
  };
}
