// Works off the events that are kept. Each is proved when its turn comes, so what is known of an
// order is always newer than what was known before. An event that fails waits by itself: it delays
// no other.

import { within } from "executable-address/client/parts";
import {
  type ProveEventOptions,
  proveEvent,
  type ServiceEvent,
  WebhookError,
} from "executable-address/webhook";
import { applyFact, type FactParts } from "./facts.ts";
import type { NamedAddress } from "./restore.ts";
import type { KeptEvent, ShopOrder } from "./store.ts";

type WorkParts = ProveEventOptions &
  FactParts & {
    readonly patienceMs?: number;
    restoreOne(named: NamedAddress): Promise<ShopOrder | undefined>;
  };

/** Events worked on at once, each of another address: a slow node delays few. */
const eventsAtOnce = 8;
/** A claim lasts longer than the work that it is for. */
const claimMsMore = 5_000;

/** 1 s, 2 s, 4 s … to ten minutes: fifty attempts take about seven hours. */
const attemptsMax = 50;
const delayMs = (attempts: number) => Math.min(1000 * 2 ** attempts, 600_000);

export function openWork(parts: WorkParts) {
  const { store, warn, patienceMs = 60_000 } = parts;
  const busy = new Set<Promise<void>>();
  let isLooking = false;
  let isAskedAgain = false;
  let isStopped = false;

  /** Begins with what is due; goes on by itself until nothing is. */
  async function look(): Promise<void> {
    isAskedAgain = true;
    if (isLooking) return;
    isLooking = true;
    try {
      while (isAskedAgain && !isStopped && busy.size < eventsAtOnce) {
        isAskedAgain = false;
        const kept = await store.claimEvent(patienceMs + claimMsMore);
        if (!kept) continue;
        isAskedAgain = true;
        begin(kept);
      }
    } finally {
      isLooking = false;
    }
  }

  function begin(kept: KeptEvent): void {
    const work = workOff(kept)
      .catch(({ message }) => warn(`${kept.event.id}: ${message}`))
      .then(() => {
        busy.delete(work);
        look().catch(({ message }) => warn(message));
      });
    busy.add(work);
  }

  async function workOff(kept: KeptEvent): Promise<void> {
    const { event, claim } = kept;
    try {
      const ended = await within(patienceMs, take(event, parts));
      if (!ended) return await again(kept, `not done in ${patienceMs} ms`);
      if ("error" in ended) throw ended.error;
      if (ended.found) return await store.endEvent(claim);
      await again(kept, "not deep enough yet");
    } catch (error) {
      const { message } = error as Error;
      if (!(error instanceof WebhookError)) return again(kept, message);
      warn(`${event.id} is refused: ${message}`);
      await store.endEvent(claim);
    }
  }

  async function again({ event, attempts, claim }: KeptEvent, reason: string): Promise<void> {
    if (attempts < attemptsMax) return store.delayEvent(claim, attempts + 1, delayMs(attempts));
    warn(`${event.id} is given up after ${attempts} attempts: ${reason}`);
    await store.endEvent(claim);
  }

  return {
    look,
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(busy);
    },
  };
}

/** @returns whether the event is done with */
async function take(event: ServiceEvent, parts: WorkParts): Promise<boolean> {
  const { address } = event.data;
  const order = (await parts.store.findByAddress(address)) ?? (await parts.restoreOne(event.data));
  // Another program of the same account made the address.
  if (!order) return true;
  const { rpcs, quorum, confirmations, factory, keccak } = parts;
  const fact = await proveEvent(event, order.record, {
    ...{ rpcs, confirmations },
    ...(quorum !== undefined && { quorum }),
    ...(factory && { factory }),
    ...(keccak && { keccak }),
  });
  if (fact.fact === "notYet") return false;
  await applyFact(order, fact, parts);
  return true;
}
