// `executable-address-shop`: handles orders from creation to delivery. The shop stores an order
// before customers can pay. The shop stores an event before it acknowledges the event. The shop
// delivers goods only after its own nodes have proved the payment.

import { type Client, type ClientOptions, createClient } from "executable-address/client";
import { type NamesOf, refuseUnknown } from "executable-address/client/internal";
import { type ProveEventOptions, verifyWebhook } from "executable-address/webhook";
import type { Elsewhere, Executed, Paid, Recovered } from "./facts.ts";
import { openCheckout } from "./order.ts";
import { openRestore } from "./restore.ts";
import type { ShopOrder, ShopStore } from "./store.ts";
import { openWork } from "./work.ts";

export { InvalidError } from "executable-address";
export { type ShopManifest, signShopLink } from "executable-address/payment";
export { type ProvedEvent, WebhookError } from "executable-address/webhook";
export type { Elsewhere, Executed, Paid, Recovered } from "./facts.ts";
export { type OrderIntent, sameOrder } from "./order.ts";
export { type PostgresPool, postgresStore } from "./postgres.ts";
export { type SqliteDatabase, sqliteStore } from "./sqlite.ts";
export type { OrderState, ShopOrder, ShopStore, StoredEvent } from "./store.ts";

export type ShopOptions = ProveEventOptions & {
  /** {@link sqliteStore}, {@link postgresStore}, or your own implementation. */
  readonly store: ShopStore;
  /** A client of the service with an API key, or the options to create one. */
  readonly service: Client | ClientOptions;
  /** The account's reference keys, newest first. */
  readonly referenceKeys: readonly string[];
  /**
   * The endpoint's secret (`whsec_…`), or both secrets during a rotation. Without a secret, the
   * shop only polls events.
   */
  readonly secrets?: readonly string[];
  /**
   * Delivers the goods of an order. Called only after the payment is proved. If `deliver` fails,
   * the shop calls it again later. The shop may also repeat a call after a crash, or if the call
   * takes longer than `patienceMs`. Use the order's address as an idempotency key.
   */
  deliver(order: ShopOrder, fact: Executed): unknown;
  /**
   * Records a refund: the amounts that one transaction returned to the customer. If `refund` fails,
   * the shop calls it again later. Use the address and the transaction hash as an idempotency key.
   */
  refund(order: ShopOrder, fact: Recovered): unknown;
  /**
   * Records a payment. The payment can be in any token, so check `fact.token`. The fact `payment`
   * contains all amounts that one transaction paid in one token. The fact `held` reports a payment
   * without a log, such as native coin. The fact `held` contains the current balance but no
   * transaction hash. Deliver goods in `deliver`, not in `onPayment`. The shop may call `onPayment`
   * more than once for a payment. Use the transaction hash and the token as an idempotency key. If
   * a transaction contains two payments in the same token, the shop calls `onPayment` twice. In
   * each call, `fact` contains both amounts.
   */
  onPayment?(order: ShopOrder, fact: Paid): unknown;
  /**
   * Called if money arrives at the order's address on another chain, or is returned there. Use this
   * function to inform the customer. The order is not affected. The shop can prove such events only
   * if `rpcs` contains nodes of the other chain. The function may be called again for the same
   * transaction.
   */
  onElsewhere?(order: ShopOrder, fact: Elsewhere): unknown;
  /** Receives messages for the shop's operators. Default `console.error`. */
  warn?(message: string): void;
  /**
   * Returns whether to restore an order that the store has lost. Use this option if several
   * programs share the account. By default, the shop restores each lost order whose salt matches a
   * reference key.
   */
  isOurs?(reference: string): boolean;
  /**
   * Called for each order that was restored from the service after a loss of the database. Use this
   * function to restore your own tables. The function may be called again for the same order after
   * a crash.
   */
  onRestored?(order: ShopOrder): unknown;
  /**
   * The time limit for processing one event. If processing takes longer, the shop continues with
   * other events and retries the event later. Default 60,000.
   */
  readonly patienceMs?: number;
  /** The interval at which the shop polls for events, in addition to webhooks. Default 10,000. */
  readonly reconcileMs?: number;
};

export type Shop = ReturnType<typeof openShop>;

const shopOptions: NamesOf<ShopOptions> = {
  store: 1,
  service: 1,
  referenceKeys: 1,
  secrets: 1,
  deliver: 1,
  refund: 1,
  onPayment: 1,
  onElsewhere: 1,
  warn: 1,
  isOurs: 1,
  onRestored: 1,
  patienceMs: 1,
  reconcileMs: 1,
  rpcs: 1,
  quorum: 1,
  confirmations: 1,
  factory: 1,
  keccak: 1,
};

/**
 * Opens a shop. With {@link postgresStore}, several servers can share one shop.
 *
 * @throws {TypeError} for options that are unknown or cannot work
 */
export function openShop(options: ShopOptions) {
  refuseUnknown(options, shopOptions, "option");
  const { store, secrets = [], reconcileMs = 10_000 } = options;
  const warn = options.warn ?? ((message) => console.error(message));
  const service = "lookup" in options.service ? options.service : createClient(options.service);
  const { adopt, restoreNewest, restoreOne, restore } = openRestore({ ...options, service, warn });
  const checkout = openCheckout({ ...options, service, warn, adopt });
  const work = openWork({ ...options, warn, restoreOne });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  /** Fetches the events since the last call, and stores them. */
  async function reconcile(): Promise<void> {
    for (;;) {
      const cursor = await store.cursor();
      const { items, next, hasMore } = await service.events(cursor === undefined ? {} : { cursor });
      await store.saveEvents(items, next);
      if (!hasMore) break;
    }
  }

  async function start(): Promise<void> {
    await restoreNewest().catch(warnAbout("orders"));
    await checkout.resume().catch(warnAbout("orders"));
    await reconcile().catch(warnAbout("events"));
    await work.run().catch(warnAbout("work"));
    if (!isStopped) timer = setTimeout(start, reconcileMs);
  }
  const warnAbout = (what: string) => (error: Error) => warn(`${what}: ${error.message}`);

  return {
    /** Creates an order and its address: {@link openCheckout}. */
    order: checkout.order,
    /**
     * Restores all lost orders from the service's records. `start` restores only the newest lost
     * orders.
     */
    restore,
    /**
     * Verifies the signature of a webhook and stores the webhook's event, which the shop processes
     * later. Answer 2xx as soon as the promise resolves.
     *
     * @param body the unchanged bytes or text of the request
     * @throws {WebhookError} if the signature is invalid. If another error is thrown, answer 5xx,
     *   so that the service sends the event again.
     */
    async receive(
      body: Parameters<typeof verifyWebhook>[0],
      headers: Parameters<typeof verifyWebhook>[1],
    ): Promise<void> {
      await store.saveEvents([await verifyWebhook(body, headers, { secret: secrets })]);
      setTimeout(() => void work.run().catch(warnAbout("work")), 0);
    },
    /**
     * Restores lost orders, and creates the missing addresses of stored orders. Then fetches and
     * processes events until the shop is stopped.
     */
    start,
    stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      return work.stop();
    },
  };
}
