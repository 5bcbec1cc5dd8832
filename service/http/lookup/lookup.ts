// GET and HEAD /address/{address}: spec/service.md §4.2. Public, and cacheable for good.

import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { Refusal } from "../errors.ts";
import { budget } from "../load/budget.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";

export function lookup(parts: Parts): Route {
  const { store, limits, metrics } = parts;
  const recent = recentTexts(limits.lookupCacheBytesMax);

  return {
    before: [budget(limits.lookupsInFlightMax, () => metrics.shed.inc({ route: "lookup" }))],
    handler(request, reply) {
      const digits = addressDigits(addressOf(request));
      const tags = request.headers["if-none-match"];
      const held = recent?.get(digits);
      if (held) return answer(digits, held, tags, reply);
      return store.findRecord(Buffer.from(digits, "hex")).then((found) => {
        if (!found) throw new Refusal("not_found", `no intent is held for 0x${digits}`);
        recent?.set(digits, found);
        return answer(digits, found, tags, reply);
      });
    },
  };
}

/** An estimate of an entry's key and links. */
const entryBytes = 300;

/** Verified answers; the least recently used leave first. */
const recentTexts = (bytesMax: number) =>
  bytesMax > 0
    ? new LRUCache<string, string>({
        maxSize: bytesMax,
        sizeCalculation: (text) => memoryBytes(text) + entryBytes,
      })
    : undefined;

/** V8 keeps a character in one byte where all are Latin-1, and in two otherwise. */
const memoryBytes = (text: string) =>
  Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;

/** The text of the path at `:address`. */
export const addressOf = ({ params }: FastifyRequest) => (params as { address?: string }).address;

/** The 40 digits in lower case: any letter case names the same address. */
export function addressDigits(text: string | undefined): string {
  if (text !== undefined && /^0x[0-9a-fA-F]{40}$/.test(text)) return text.slice(2).toLowerCase();
  const path = ["address"];
  const message = "expected an address: 0x and 40 hex digits";
  throw new Refusal("invalid_request", message, {
    issues: [{ path, code: "malformed_address", message }],
  });
}

/** The body of an address never changes, so the address itself is a strong validator. */
function answer(digits: string, body: string, tags: string | undefined, reply: FastifyReply) {
  reply.header("cache-control", "public, max-age=31536000, immutable");
  if (isKnown(`"${digits}"`, tags, reply)) return reply.send();
  reply.header("content-type", "application/json; charset=utf-8");
  return body;
}

/**
 * Names what is answered by `etag`, which has no comma. True, and the status 304, where the caller
 * has it: RFC 9110 §13.1.2, a weak comparison with a list, or with `*` alone.
 */
export function isKnown(etag: string, ifNoneMatch: string | undefined, reply: FastifyReply) {
  reply.header("etag", etag);
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (!tags?.includes(etag) && ifNoneMatch?.trim() !== "*") return false;
  reply.code(304);
  return true;
}
