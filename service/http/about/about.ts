// Serves the API's GET /chains and GET /openapi.json. Also serves the contact for security reports,
// and answers the probes of supervisors and load balancers.

import { readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import type { Chain } from "../../chain/chains.ts";
import { dayMs, toIso } from "../../flow/days.ts";
import { jsonType, Refusal } from "../errors.ts";
import type { Parts } from "../parts.ts";
import { mount, type Route } from "../routes.ts";

export function chains({ chains, factory }: Pick<Parts, "chains" | "factory">): Route {
  return {
    handler: () => ({ factory, chains: chains.listed().map(showChain) }),
  };
}

/** Returns a chain with only the fields that the response of GET /chains contains. */
export function showChain({ chainId, name, tokens }: Chain) {
  const fields = tokens.map(({ symbol, address, decimals }) => ({ symbol, address, decimals }));
  return { chainId, name, tokens: fields };
}

export function openapi(): Route {
  const body = readFileSync(new URL("../../../spec/openapi.json", import.meta.url));
  return {
    handler(_request, reply) {
      reply.header("content-type", jsonType);
      return body;
    },
  };
}

const notReady = "this server is shutting down and accepts no new requests";

/**
 * Mounts the probes. `/livez` succeeds if the process's event loop runs. `/readyz` fails if the
 * database is not readable, a commit was lost, or the process is draining.
 */
export function mountProbes(app: FastifyInstance, { store, draining, metrics }: Parts): void {
  mount(app, metrics, "/livez", {
    GET: { handler: async () => ({ status: "ok" }) },
  });
  mount(app, metrics, "/readyz", {
    GET: {
      async handler() {
        if (draining.aborted) throw new Refusal("service_unavailable", notReady);
        await store.check();
        return { status: "ok" };
      },
    },
  });
}

/**
 * The number of days until the expiry in security.txt. RFC 9116 requires an expiry within a year.
 * The server computes the expiry for each request, so the text is always valid.
 */
const daysValid = 180;

export const securityTxtPath = "/.well-known/security.txt";

export function securityTxt({ publicUrl, now }: Parts, contact: string): Route {
  return {
    handler(_request, reply) {
      const expires = toIso((Math.floor(now() / dayMs) + daysValid) * dayMs);
      reply.header("content-type", "text/plain; charset=utf-8");
      reply.header("cache-control", "public, max-age=86400");
      const canonical = `${publicUrl}${securityTxtPath}`;
      return `Contact: ${contact}\nExpires: ${expires}\nCanonical: ${canonical}\n`;
    },
  };
}
