// GET and HEAD /address/{address}: spec/service.md §4.2. Public. Clients can cache a record
// forever.

import type { FastifyReply } from "fastify";
import { LRUCache } from "lru-cache";
import { jsonType, noIntent } from "../errors.ts";
import { isKnown } from "../headers.ts";
import { addressDigits, addressOf } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";

export function lookup(parts: Parts): Route {
  const { store, limits, metrics } = parts;
  const recent = recentTexts(limits.lookupCacheBytesMax);

  return {
    before: [limitPending(metrics, "lookup", limits.lookupsInFlightMax)],
    handler(request, reply) {
      const digits = addressDigits(addressOf(request));
      const tags = request.headers["if-none-match"];
      const cached = recent?.get(digits);
      if (cached) return answer(digits, cached, tags, reply);
      return store.findRecord(Buffer.from(digits, "hex")).then((found) => {
        if (!found) throw noIntent(digits);
        recent?.set(digits, found);
        return answer(digits, found, tags, reply);
      });
    },
  };
}

/** The estimated size of a cache entry, not including its value. */
const entryBytes = 300;

/**
 * The cache of verified responses. The least recently used responses are evicted first. Cached
 * lookups are about twice as fast as uncached lookups (bench/http.ts, rows "hot" and "random").
 */
const recentTexts = (bytesMax: number) =>
  bytesMax > 0
    ? new LRUCache<string, string>({
        maxSize: bytesMax,
        sizeCalculation: (text) => memoryBytes(text) + entryBytes,
      })
    : undefined;

/**
 * Returns the size of a text in V8's memory. V8 uses one byte per character for Latin-1 text, and
 * two for other text.
 */
const memoryBytes = (text: string) =>
  Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;

/** The address itself is the ETag, because the record of an address never changes. */
function answer(digits: string, body: string, tags: string | undefined, reply: FastifyReply) {
  if (isKnown(`"${digits}"`, tags, reply)) return reply.send();
  reply.header("content-type", jsonType);
  return body;
}
