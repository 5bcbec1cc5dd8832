// `executable-address-shop`: what stands between an order and its goods. An order has its address
// before anybody can pay it, an event is kept before it is answered, and goods leave when the
// shop's own nodes prove the payment, never on the word of an event.

import { type Client, type ClientOptions, createClient } from "executable-address/client";
import { refuseUnknown } from "executable-address/client/parts";
import { type ProveEventOptions, verifyWebhook } from "executable-address/webhook";
import { openCheckout } from "./checkout.ts";
import type { Executed, Paid, Recovered } from "./facts.ts";
import { openRestore } from "./restore.ts";
import type { ShopOrder, ShopStore } from "./store.ts";
import { openWork } from "./work.ts";

export { InvalidError } from "executable-address";
export { type ShopManifest, signShopLink } from "executable-address/payment";
export { type ProvedEvent, WebhookError } from "executable-address/webhook";
export type { OrderIntent } from "./checkout.ts";
export type { Executed, Paid, Recovered } from "./facts.ts";
export { sameOrder } from "./order.ts";
export { type PostgresPool, postgresStore } from "./postgres.ts";
export { type SqliteDatabase, sqliteStore } from "./sqlite.ts";
export type { KeptEvent, OrderState, ShopOrder, ShopStore } from "./store.ts";

export type ShopOptions = ProveEventOptions & {
  /** {@link sqliteStore}, {@link postgresStore}, or a store of the shop's own. */
  readonly store: ShopStore;
  /** The service, by a client of its API key or the options to make one. */
  readonly service: Client | ClientOptions;
  /** The account's reference key; after a rotation the newest, then the older ones. */
  readonly referenceKeys: readonly string[];
  /** `whsec_…` of the endpoint; during a rotation both. Without one, events are only fetched. */
  readonly secrets?: readonly string[];
  /**
   * Sends the goods of an order, whose payment is proved. It is called until it has succeeded once,
   * and perhaps once more with the same order: after a crash, or beside a call that takes longer
   * than `patienceMs`. Make the order's address the key of what it does.
   */
  deliver(order: ShopOrder, fact: Executed): unknown;
  /**
   * Books what one transaction sent back to the customer; called as `deliver` is. Make address and
   * transaction the key of what it does.
   */
  refund(order: ShopOrder, fact: Recovered): unknown;
  /**
   * Books a payment: all that one transaction paid in one token, which may be any: look at
   * `fact.token`. It pays for nothing before `deliver`. It is called once or more for each event,
   * and two payments of one transaction give the same fact: make transaction and token the key.
   */
  onPayment?(order: ShopOrder, fact: Paid): unknown;
  /** Hears of what a person should look at. Default `console.error`. */
  warn?(message: string): void;
  /**
   * Whether an order that the store does not know is this shop's: for accounts that more than one
   * program uses. Default: all that the reference keys prove.
   */
  isOurs?(reference: string): boolean;
  /**
   * Hears of each order that was read back from the service after a loss of the database, so that
   * the shop's own tables can have it again. It may be called again after a crash.
   */
  onRestored?(order: ShopOrder): unknown;
  /** How long one event may be worked on before others take its place. Default 60,000. */
  readonly patienceMs?: number;
  /** How often events are fetched, whatever webhooks came. Default 10,000. */
  readonly reconcileMs?: number;
};

export type Shop = ReturnType<typeof openShop>;

const shopOptions =
  "store, service, referenceKeys, secrets, deliver, refund, onPayment, warn, isOurs, onRestored, " +
  "patienceMs, reconcileMs, rpcs, quorum, confirmations, factory, keccak";

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

  /** Fetches what the service said since the last time: all of it is kept, none is judged. */
  async function reconcile(): Promise<void> {
    for (;;) {
      const cursor = await store.cursor();
      const { items, next, hasMore } = await service.events(cursor === undefined ? {} : { cursor });
      await store.keepEvents(items, next);
      if (!hasMore) break;
    }
  }

  async function start(): Promise<void> {
    await restoreNewest().catch(say("orders"));
    await checkout.resume().catch(say("orders"));
    await reconcile().catch(say("events"));
    await work.look().catch(say("work"));
    if (!isStopped) timer = setTimeout(start, reconcileMs);
  }
  const say = (what: string) => (error: Error) => warn(`${what}: ${error.message}`);

  return {
    /** Makes the address of an order; see {@link openCheckout}. */
    order: checkout.order,
    /**
     * Reads every order that the store does not have back from the service. `start` does so for the
     * newest ones.
     */
    restore,
    /**
     * Keeps the event of a webhook: answer 2xx as soon as this resolves. The work comes after.
     *
     * @param body as it came
     * @throws {WebhookError} unless it is signed; any other error: answer 5xx, it comes again
     */
    async receive(
      body: Parameters<typeof verifyWebhook>[0],
      headers: Parameters<typeof verifyWebhook>[1],
    ): Promise<void> {
      await store.keepEvents([await verifyWebhook(body, headers, { secret: secrets })]);
      setTimeout(() => void work.look().catch(say("work")), 0);
    },
    /**
     * Reads back the orders that the database lost, continues what was interrupted, then fetches
     * events and works on them until it is stopped.
     */
    start,
    stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      return work.stop();
    },
  };
}
