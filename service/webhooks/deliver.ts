// The loop that delivers. Endpoints that answer well share many places. Those that fail, are slow,
// or have not answered yet share a few, so that a thousand dead ones delay only each other.
// Endpoints take turns, however many deliveries one of them has waiting.

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { kindOf, seldom } from "../flow/seldom.ts";
import { type Together, together } from "../flow/together.ts";
import type { Store } from "../store/store.ts";
import { type Claim, claim, type Endpoint, findDueEndpoints } from "./deliveries/claim.ts";
import { type Finished, finish, type Outcome } from "./deliveries/finish.ts";
import { pruneDeliveries } from "./deliveries/list.ts";
import type { Send } from "./send.ts";
import { type SigningKey, signedHeaders } from "./sign.ts";

type DeliverParts = {
  store: Pick<Store, "db">;
  send: Send;
  key: SigningKey;
  /** Unix milliseconds. */
  now: () => number;
  random: () => number;
  pollMs: number;
  log: Pick<Logger, "info" | "warn">;
};

/** Requests under way at once: of all endpoints, of an account's and of one. */
const places = {
  fast: { all: 128, account: 16, endpoint: 4 },
  slow: { all: 32, account: 4, endpoint: 1 },
};
const faultMs = 2_000;
const pruneMs = 60_000;

/** @returns how to stop: resolves when the requests under way have been kept */
export function startDelivery(parts: DeliverParts): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const tell = seldom();
  const tellFault = (text: string, err: unknown) =>
    tell(`${text} ${kindOf(String(err))}`, (leftOut) => parts.log.warn({ err, leftOut }, text));
  const loops = [false, true].map((isSlow) => run(parts, isSlow, tellFault, stopping.signal));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

async function run(
  parts: DeliverParts,
  isSlow: boolean,
  tellFault: (text: string, error: unknown) => void,
  signal: AbortSignal,
): Promise<void> {
  const most = places[isSlow ? "slow" : "fast"];
  /** By the ids of endpoints and accounts. */
  const underWay = new Map<string, number>();
  const running = new Set<Promise<void>>();
  // What is answered in the same moment shares a commit.
  const keep = together((finished: Finished[]) => finish(parts.store.db, finished, parts.random), {
    sizeMax: 64,
  });
  let prunedAtMs = 0;

  const count = (id: string, by: 1 | -1) => {
    const counted = (underWay.get(id) ?? 0) + by;
    if (counted > 0) underWay.set(id, counted);
    else underWay.delete(id);
  };
  const serve = async (endpoints: Room[]) => {
    for (const each of await claim(parts.store.db, endpoints, parts.now())) {
      const ids = [each.endpointId, each.accountId];
      for (const id of ids) count(id, 1);
      const done = deliver(parts, each, keep)
        .catch((error) => tellFault("a delivery was not kept; it will be repeated", error))
        .finally(() => {
          running.delete(done);
          for (const id of ids) count(id, -1);
        });
      running.add(done);
    }
  };

  while (!signal.aborted) {
    let waitMs = parts.pollMs;
    try {
      const free = most.all - running.size;
      const due = free > 0 ? await findDueEndpoints(parts.store.db, isSlow, parts.now(), 256) : [];
      const endpoints = share(due, free, most, underWay);
      if (endpoints.length > 0) await serve(endpoints);
      if (isSlow && parts.now() - prunedAtMs > pruneMs) {
        prunedAtMs = parts.now();
        await pruneDeliveries(parts.store.db, prunedAtMs);
      }
      if (endpoints.length > 0) waitMs = 1;
    } catch (error) {
      tellFault("no deliveries were claimed; they will be", error);
      waitMs = faultMs;
    }
    // Full, or nothing due: until a place is free, or something may be.
    const idle = sleep(waitMs, undefined, { signal }).catch(() => {});
    await (running.size >= most.all ? Promise.race(running) : idle);
  }
  await Promise.all(running);
}

type Room = Endpoint & { room: number };

/** Shares the free places among the endpoints that are due, in their order. */
function share(
  due: Endpoint[],
  free: number,
  most: { account: number; endpoint: number },
  underWay: Map<string, number>,
): Room[] {
  let left = free;
  const given = new Map<string, number>();
  return due.flatMap(({ id, accountId }) => {
    const ofAccount = (underWay.get(accountId) ?? 0) + (given.get(accountId) ?? 0);
    const mine = most.endpoint - (underWay.get(id) ?? 0);
    const room = Math.min(left, mine, most.account - ofAccount);
    if (room <= 0) return [];
    left -= room;
    given.set(accountId, (given.get(accountId) ?? 0) + room);
    return [{ id, accountId, room }];
  });
}

async function deliver(parts: DeliverParts, one: Claim, keep: Together<Finished, Outcome>) {
  const { secrets, eventId, body, url } = one;
  const headers = signedHeaders(eventId, body, { secrets, key: parts.key, atMs: parts.now() });
  const sent = await parts.send(url, headers, body);
  const outcome = await keep({ claim: one, sent, nowMs: parts.now() });
  if (outcome === "disabled") parts.log.warn({ endpoint: one.endpointId }, "webhook disabled");
}
