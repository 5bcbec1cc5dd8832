// The loop that delivers. Endpoints that take what they are sent share many places, those that do
// not, or have not yet, share a few: a thousand dead ones slow down nobody but each other.

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Store } from "../store/store.ts";
import { claim, type Endpoint, findDueEndpoints, finish, pruneDeliveries } from "./queue.ts";
import type { Send } from "./send.ts";
import { type SigningKey, signedHeaders } from "./sign.ts";

export type DeliverParts = {
  store: Pick<Store, "db">;
  send: Send;
  key: SigningKey;
  /** Unix milliseconds. */
  now: () => number;
  random: () => number;
  pollMs: number;
  log: Pick<Logger, "info" | "warn">;
};

/** Requests under way at once, for endpoints that work and for those that do not. */
const places = { fast: 128, slow: 32 };
/** Of one endpoint. */
const atOnce = { fast: 4, slow: 1 };
const faultMs = 2_000;
const pruneMs = 60_000;

/** @returns how to stop: resolves when the requests under way have been kept */
export function startDelivery(parts: DeliverParts): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const loops = [false, true].map((isSlow) => run(parts, isSlow, stopping.signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function run(parts: DeliverParts, isSlow: boolean, signal: AbortSignal): Promise<void> {
  const speed = isSlow ? "slow" : "fast";
  const underWay = new Map<string, number>();
  const running = new Set<Promise<void>>();
  let prunedAt = 0;

  const serve = async (endpoint: Endpoint, room: number) => {
    const claims = await claim(parts.store.db, endpoint.id, room, parts.now());
    if (claims.length === 0) return;
    underWay.set(endpoint.id, (underWay.get(endpoint.id) ?? 0) + claims.length);
    for (const each of claims) {
      const done = deliver(parts, each)
        .catch((err) => parts.log.warn({ err }, "a delivery was not kept; it will be repeated"))
        .finally(() => {
          running.delete(done);
          const left = underWay.get(endpoint.id)! - 1;
          if (left > 0) underWay.set(endpoint.id, left);
          else underWay.delete(endpoint.id);
        });
      running.add(done);
    }
  };

  while (!signal.aborted) {
    let wait = parts.pollMs;
    try {
      const free = places[speed] - running.size;
      const due = free > 0 ? await findDueEndpoints(parts.store.db, isSlow, parts.now(), 256) : [];
      for (const endpoint of due) {
        const room = Math.min(
          atOnce[speed] - (underWay.get(endpoint.id) ?? 0),
          places[speed] - running.size,
        );
        if (room > 0 && !signal.aborted) await serve(endpoint, room);
      }
      if (isSlow && parts.now() - prunedAt > pruneMs) {
        prunedAt = parts.now();
        await pruneDeliveries(parts.store.db, prunedAt);
      }
      if (due.length > 0) wait = 1;
    } catch (err) {
      parts.log.warn({ err }, "no deliveries were claimed; they will be");
      wait = faultMs;
    }
    // Full, or nothing due: until a place is free, or something may be.
    const idle = sleep(wait, undefined, { signal }).catch(() => {});
    await (running.size >= places[speed] ? Promise.race(running) : idle);
  }
  await Promise.all(running);
}

async function deliver(parts: DeliverParts, one: Awaited<ReturnType<typeof claim>>[number]) {
  const { secrets, eventId, body, url } = one;
  const headers = signedHeaders(eventId, body, { secrets, key: parts.key, atMs: parts.now() });
  const sent = await parts.send(url, headers, body);
  const outcome = await finish(parts.store.db, one, sent, {
    nowMs: parts.now(),
    random: parts.random,
  });
  if (outcome === "disabled") parts.log.warn({ endpoint: one.endpointId }, "webhook disabled");
}
