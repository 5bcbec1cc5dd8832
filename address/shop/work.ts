// Works off the events that are kept. Each is proved when its turn comes, so what is known of an
// order is always newer than what was known before. An event that fails waits by itself: it delays
// no other.

import type { ServiceEvent } from "../client/lists.ts";
import { type ProveEventOptions, proveEvent, WebhookError } from "../client/webhook.ts";
import { applyFact, type FactParts } from "./facts.ts";
import { addressKey, type KeptEvent, type ShopOrder } from "./store.ts";

type WorkParts = ProveEventOptions &
  FactParts & {
    readonly patienceMs?: number;
    restore(
      named: Pick<ServiceEvent["data"], "address" | "reference">,
    ): Promise<ShopOrder | undefined>;
  };

/** A look takes so many events, and works on so many addresses at once: a slow node delays few. */
const eventsPerLook = 200;
const addressesAtOnce = 8;

/** 1 s, 2 s, 4 s … to ten minutes: fifty attempts take about seven hours. */
const attemptsMax = 50;
const delayMs = (attempts: number) => Math.min(1000 * 2 ** attempts, 600_000);

export function openWork(parts: WorkParts) {
  const { store, warn, patienceMs = 60_000 } = parts;
  /** By address: the events of one are worked off one by one. */
  const busy = new Map<string, Promise<void>>();
  let isLooking = false;
  let isAskedAgain = false;
  let isStopped = false;

  /** Begins with what is due; goes on by itself until nothing is. */
  async function look(): Promise<void> {
    isAskedAgain = true;
    if (isLooking) return;
    isLooking = true;
    try {
      while (isAskedAgain && !isStopped) {
        isAskedAgain = false;
        begin(await store.dueEvents(Date.now(), eventsPerLook));
      }
    } finally {
      isLooking = false;
    }
  }

  function begin(due: readonly KeptEvent[]): void {
    for (const kept of due) {
      const key = addressKey(kept.event.data.address);
      if (isStopped || busy.size >= addressesAtOnce) return;
      if (busy.has(key)) continue;
      const work = workOff(kept)
        .catch(({ message }) => warn(`${kept.event.id}: ${message}`))
        .then(() => {
          busy.delete(key);
          look().catch(({ message }) => warn(message));
        });
      busy.set(key, work);
    }
  }

  async function workOff({ event, attempts }: KeptEvent): Promise<void> {
    try {
      const isDone = await within(take(event), patienceMs);
      if (isDone) return await store.endEvent(event.id);
      await again(event, attempts, "not deep enough yet");
    } catch (error) {
      const { message } = error as Error;
      if (!(error instanceof WebhookError)) return again(event, attempts, message);
      warn(`${event.id} is refused: ${message}`);
      await store.endEvent(event.id);
    }
  }

  async function again({ id }: ServiceEvent, attempts: number, reason: string): Promise<void> {
    if (attempts < attemptsMax)
      return store.delayEvent(id, attempts + 1, Date.now() + delayMs(attempts));
    warn(`${id} is given up after ${attempts} attempts: ${reason}`);
    await store.endEvent(id);
  }

  /** @returns whether the event is done with */
  async function take(event: ServiceEvent): Promise<boolean> {
    const { address } = event.data;
    const order = (await store.findByAddress(address)) ?? (await parts.restore(event.data));
    // Another program of the same account made the address.
    if (!order) return true;
    const fact = await proveEvent(event, order.record, parts);
    if (fact.fact === "notYet") return false;
    await applyFact(order, fact, parts);
    return true;
  }

  return {
    look,
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(busy.values());
    },
  };
}

async function within<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, failed) => {
    timer = setTimeout(() => failed(new Error(`not done in ${limitMs} ms`)), limitMs);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}
