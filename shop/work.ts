// Processes the stored events. The shop proves each event with the chain's current state. An old
// event therefore cannot return an order to an earlier state. The shop retries a failing event
// later. Until then, the shop continues with the events of other addresses, unless eight events
// hang simultaneously.

import { within } from "executable-address/client/internal";
import {
  type ProveEventOptions,
  proveEvent,
  type ServiceEvent,
  WebhookError,
} from "executable-address/webhook";
import { applyFact, type FactParts } from "./facts.ts";
import type { NamedAddress } from "./restore.ts";
import type { ShopOrder, StoredEvent } from "./store.ts";

type WorkParts = ProveEventOptions &
  FactParts & {
    readonly patienceMs?: number;
    restoreOne(named: NamedAddress): Promise<ShopOrder | undefined>;
  };

/**
 * The maximum number of events that a server processes simultaneously. Each event is about a
 * different address. If one event waits for a slow node, the other events continue.
 */
const eventsAtOnce = 8;
/**
 * The claim of an event lasts this much longer than the time limit for processing (`patienceMs`).
 */
const claimMsMore = 5_000;

/**
 * The maximum number of retries of an event. The delay before a retry doubles from 1 s up to ten
 * minutes. Fifty retries take about seven hours.
 */
const retriesMax = 50;
const delayMs = (retries: number) => Math.min(1000 * 2 ** retries, 600_000);

export function openWork(parts: WorkParts) {
  const { store, warn, patienceMs = 60_000 } = parts;
  const busy = new Set<Promise<void>>();
  let isRunning = false;
  let isRequested = false;
  let isStopped = false;

  /** Processes events until none is due. */
  async function run(): Promise<void> {
    isRequested = true;
    if (isRunning) return;
    isRunning = true;
    try {
      while (isRequested && !isStopped && busy.size < eventsAtOnce) {
        isRequested = false;
        const stored = await store.claimEvent(patienceMs + claimMsMore);
        if (!stored) continue;
        isRequested = true;
        begin(stored);
      }
    } finally {
      isRunning = false;
    }
  }

  function begin(stored: StoredEvent): void {
    const work = handle(stored)
      .catch(({ message }) => warn(`${stored.event.id}: ${message}`))
      .then(() => {
        busy.delete(work);
        run().catch(({ message }) => warn(message));
      });
    busy.add(work);
  }

  async function handle(stored: StoredEvent): Promise<void> {
    const { event, claim } = stored;
    try {
      const ended = await within(patienceMs, processEvent(event, parts));
      if (!ended) return await retryLater(stored, `not processed within ${patienceMs} ms`);
      if ("error" in ended) throw ended.error;
      if (ended.found) return await store.endEvent(claim);
      await retryLater(stored, "not enough confirmations yet");
    } catch (error) {
      const { message } = error as Error;
      if (!(error instanceof WebhookError)) return retryLater(stored, message);
      warn(`${event.id}: refused: ${message}`);
      await store.endEvent(claim);
    }
  }

  async function retryLater(
    { event, attempts: retries, claim }: StoredEvent,
    reason: string,
  ): Promise<void> {
    if (retries < retriesMax) return store.delayEvent(claim, retries + 1, delayMs(retries));
    warn(`${event.id}: abandoned after ${retries} retries: ${reason}`);
    await store.endEvent(claim);
  }

  return {
    run,
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(busy);
    },
  };
}

/**
 * Proves an event and applies the proved fact to the event's order.
 * @returns false if the fact is not on the chain yet or has too few confirmations. In this case,
 *   the event must be retried later
 */
async function processEvent(event: ServiceEvent, parts: WorkParts): Promise<boolean> {
  const { address } = event.data;
  const order = (await parts.store.findByAddress(address)) ?? (await parts.restoreOne(event.data));
  // If no order is found, the address does not belong to this shop. There is nothing to do.
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
