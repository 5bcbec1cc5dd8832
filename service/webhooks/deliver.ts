// The loop that delivers. Endpoints that take what they are sent share many places, those that do
// not, or have not yet, share a few: a thousand dead ones slow down nobody but each other.

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Together, together } from "../flow/together.ts";
import type { Store } from "../store/store.ts";
import { type Claim, claim, findDueEndpoints } from "./deliveries/claim.ts";
import { type Finished, finish, type Outcome } from "./deliveries/finish.ts";
import { pruneDeliveries } from "./deliveries/list.ts";
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
  // What is answered in the same moment shares a commit.
  const keep = together((finished: Finished[]) => finish(parts.store.db, finished, parts.random), {
    sizeMax: 256,
  });
  let prunedAt = 0;

  const serve = async (endpoints: { id: string; room: number }[]) => {
    for (const each of await claim(parts.store.db, endpoints, parts.now())) {
      const { endpointId } = each;
      underWay.set(endpointId, (underWay.get(endpointId) ?? 0) + 1);
      const done = deliver(parts, each, keep)
        .catch((err) => parts.log.warn({ err }, "a delivery was not kept; it will be repeated"))
        .finally(() => {
          running.delete(done);
          const left = underWay.get(endpointId)! - 1;
          if (left > 0) underWay.set(endpointId, left);
          else underWay.delete(endpointId);
        });
      running.add(done);
    }
  };

  while (!signal.aborted) {
    let wait = parts.pollMs;
    try {
      const free = places[speed] - running.size;
      const due = free > 0 ? await findDueEndpoints(parts.store.db, isSlow, parts.now(), 256) : [];
      let room = free;
      const endpoints = due.flatMap(({ id }) => {
        const mine = Math.min(room, atOnce[speed] - (underWay.get(id) ?? 0));
        room -= Math.max(0, mine);
        return mine > 0 ? [{ id, room: mine }] : [];
      });
      if (endpoints.length > 0) await serve(endpoints);
      if (isSlow && parts.now() - prunedAt > pruneMs) {
        prunedAt = parts.now();
        await pruneDeliveries(parts.store.db, prunedAt);
      }
      if (endpoints.length > 0) wait = 1;
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

async function deliver(parts: DeliverParts, one: Claim, keep: Together<Finished, Outcome>) {
  const { secrets, eventId, body, url } = one;
  const headers = signedHeaders(eventId, body, { secrets, key: parts.key, atMs: parts.now() });
  const sent = await parts.send(url, headers, body);
  const outcome = await keep({ claim: one, sent, nowMs: parts.now() });
  if (outcome === "disabled") parts.log.warn({ endpoint: one.endpointId }, "webhook disabled");
}
