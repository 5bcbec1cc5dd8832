// Runs the loops that send deliveries. Each lane has its own loop (lanes.ts). The endpoints of a
// lane take turns, regardless of how many deliveries each has waiting.

import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { limitLogs, messageKind } from "../flow/log-limit.ts";
import { type Together, together } from "../flow/together.ts";
import type { Store } from "../store/store.ts";
import { pruneDeliveries } from "./deliveries/list.ts";
import {
  type AttemptOutcome,
  type Claim,
  claim,
  type Finished,
  findDueEndpoints,
  finish,
} from "./deliveries/queue.ts";
import { endpointsMax } from "./endpoints.ts";
import {
  allLanes,
  changeLane,
  count,
  failingLane,
  goodMsMax,
  type InProgress,
  type Lane,
  openLanes,
  type Rule,
  recentUse,
  threeLanes,
} from "./lanes.ts";
import { isTaken, type Send, type Sent } from "./send.ts";
import { ensureSigningKeys, type SigningKey, signedHeaders } from "./sign.ts";

type DeliverParts = {
  store: Pick<Store, "db">;
  send: Send;
  /** Unix milliseconds. */
  now: () => number;
  random: () => number;
  pollMs: number;
  log: Pick<Logger, "info" | "warn">;
};

const faultMs = 2_000;
const pruneMs = 60_000;
/**
 * The maximum number of due endpoints to read from the database. All endpoints of 100 accounts can
 * be due simultaneously.
 */
const dueMax = 100 * endpointsMax;
/**
 * The maximum number of deliveries to claim in one commit. The limit keeps commits short, because
 * new deliveries may have to wait for them.
 */
export const claimedMax = 16;
/** The maximum number of results to store in one commit. Other statements wait for the commit. */
const resultsPerCommitMax = 64;

/** Starts the loops. `stop` resolves when the results of all pending requests are stored. */
export function startDelivery(parts: DeliverParts, rule = threeLanes): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const logLimited = limitLogs();
  const logFault = (text: string, err: unknown) =>
    logLimited(`${text} ${messageKind(String(err))}`, (leftOut) =>
      parts.log.warn({ err, leftOut }, text),
    );
  const lanes = openLanes();
  const shared = { parts, rule, lanes, use: recentUse(), logFault, signal: stopping.signal };
  const loops = allLanes.map((lane) => run(shared, lane));
  return {
    async stop() {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}

type Shared = {
  parts: DeliverParts;
  rule: Rule;
  lanes: Record<Lane, InProgress>;
  use: ReturnType<typeof recentUse>;
  logFault: (text: string, error: unknown) => void;
  signal: AbortSignal;
};

async function run(shared: Shared, lane: Lane): Promise<void> {
  const { parts, rule, logFault, signal } = shared;
  const { db } = parts.store;
  const running = new Set<Promise<void>>();
  // Results that arrive at the same time are stored in one commit. Successes and failures have
  // separate commits. So if hundreds of hanging requests fail in the same second, they do not delay
  // the commit of a success.
  const openSaver = () =>
    together((finished: Finished[]) => finish(db, finished, parts.random, rule), {
      sizeMax: resultsPerCommitMax,
    });
  const save = { taken: openSaver(), failed: openSaver() };
  let prunedAtMs = 0;
  while (!signal.aborted) {
    let waitMs = parts.pollMs;
    try {
      const claims = await claimNext(shared, lane);
      if (claims.length > 0) waitMs = 1;
      for (const one of claims) {
        const done = occupy(shared, lane, one, save).finally(() => running.delete(done));
        running.add(done);
      }
      if (lane === failingLane && parts.now() - prunedAtMs > pruneMs) {
        prunedAtMs = parts.now();
        await pruneDeliveries(db, prunedAtMs);
      }
    } catch (error) {
      logFault("deliveries could not be claimed; the service will try again", error);
      waitMs = faultMs;
    }
    await sleep(waitMs, undefined, { signal }).catch(() => {});
  }
  await Promise.all(running);
}

type Save = Record<"taken" | "failed", Together<Finished, AttemptOutcome>>;

/** A claimed delivery, with the service's keys that sign the delivery. */
type Signed = Claim & { keys: SigningKey[] };

/**
 * Claims the next deliveries in a lane. Skips accounts that use, or recently used, too many slots
 * of this lane (lanes.ts).
 */
async function claimNext({ parts, rule, lanes, use }: Shared, lane: Lane): Promise<Signed[]> {
  const { db } = parts.store;
  const inProgress = lanes[lane];
  const slots = rule.slots[lane];
  if (inProgress.all >= slots.all) return [];
  const nowMs = parts.now();
  const usedBy = (accountId: string) => use.of(accountId, nowMs);
  const busy = [...inProgress.byId.keys()].filter(
    (id) => !rule.mayHaveMore(slots, inProgress, id, usedBy(id)),
  );
  const due = await findDueEndpoints(db, lane, busy, nowMs, dueMax);
  if (due.length === 0) return [];
  const endpoints = rule.share(due, slots, inProgress, usedBy, claimedMax);
  if (endpoints.length === 0) return [];
  // Reads the keys each time, because an operator can rotate them in another process.
  const keys = await ensureSigningKeys(db, nowMs);
  return (await claim(db, endpoints, nowMs)).map((one) => ({ ...one, keys }));
}

/**
 * Sends a delivery. The delivery occupies a slot of its lane until the result is stored. A request
 * that started in the fast lane can move to the slow lane.
 */
async function occupy(
  { parts, rule, lanes, use, logFault }: Shared,
  lane: Lane,
  one: Signed,
  save: Save,
): Promise<void> {
  const { accountId } = one;
  const holder = { id: one.endpointId, accountId };
  let current = lanes[lane];
  count(current, holder, 1);
  const move = setInterval(() => {
    current = changeLane(lanes, current, holder, use.of(accountId, parts.now()), rule);
  }, goodMsMax);
  try {
    const { latencyMs } = await deliver(parts, one, save);
    use.add(accountId, latencyMs, parts.now());
  } catch (error) {
    logFault("the result of a delivery could not be saved; the delivery will be repeated", error);
  } finally {
    clearInterval(move);
    count(current, holder, -1);
  }
}

async function deliver(parts: DeliverParts, one: Signed, save: Save): Promise<Sent> {
  const { secrets, keys, eventId, body, url } = one;
  const headers = signedHeaders(eventId, body, { secrets, keys, atMs: parts.now() });
  const sent = await parts.send(url, headers, body);
  const saveOne = isTaken(sent) ? save.taken : save.failed;
  const outcome = await saveOne({ claim: one, sent, nowMs: parts.now() });
  if (outcome === "disabled") parts.log.warn({ endpoint: one.endpointId }, "webhook disabled");
  return sent;
}
