// From an order to its address. The order is stored before anything is sent, and its salt binds its
// intent to its reference. A crash, a double click and a lost database all lead to one address, and
// no stranger can make another address that passes for the order's.

import { encodeNewIntent, factoryAddress, type Hex, makeRecord } from "executable-address";
import type { Client, NewIntent } from "executable-address/client";
import { ServiceError } from "executable-address/client/parts";
import { parseReference, saltForOrder } from "executable-address/reference";
import type { ProveEventOptions } from "executable-address/webhook";
import { assertSame, newOrder, requireKept } from "./order.ts";
import type { ShopOrder, ShopStore } from "./store.ts";

const noSalt: Hex = `0x${"00".repeat(32)}`;

/** An order's intent. Its salt is made of the intent itself and of the order's reference. */
export type OrderIntent = Omit<NewIntent, "salt">;

type CheckoutParts = Pick<ProveEventOptions, "factory"> & {
  readonly store: ShopStore;
  readonly service: Client;
  readonly referenceKeys: readonly string[];
  warn(message: string): void;
  /** Keeps the order that the service already has; see restore.ts. */
  adopt(reference: string, address: Hex): Promise<ShopOrder>;
};

export function openCheckout(parts: CheckoutParts) {
  const { store, service, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };
  const [key] = parts.referenceKeys;
  if (key === undefined) throw new TypeError("referenceKeys: expected one or more");

  /**
   * The order called `reference`, with an address that the service has. Asking again gives the same
   * order while its price, its calls and its `recovery` are the same.
   *
   * @throws {InvalidError} with every fault of the intent, or `reference_in_use` where another
   *   order is called so
   */
  async function order(reference: string, intent: OrderIntent): Promise<ShopOrder> {
    const name = parseReference(reference);
    const { intent: parsed } = encodeNewIntent({ ...intent, salt: noSalt }, trust);
    const salt = saltForOrder(name, parsed, key!, trust);
    const record = makeRecord({ ...parsed, salt }, trust);
    const made =
      (await store.findByReference(name)) ??
      (await store.saveOrder(newOrder(name, record, "made"))) ??
      (await requireKept(store, name));
    return create(assertSame(made, record));
  }

  async function create(order: ShopOrder): Promise<ShopOrder> {
    if (order.state !== "made") return order;
    const { reference, record } = order;
    try {
      await service.create(record.intent, { reference });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "reference_in_use") throw error;
      const address = error.issues[0]?.message as Hex;
      return assertSame(await parts.adopt(reference, address), record);
    }
    // It may have been paid and worked off while the service answered.
    return (await store.saveOrder({ ...order, state: "open" })) ?? requireKept(store, reference);
  }

  return {
    order,
    /** Creates what was kept and not made; an order that expired meanwhile is left. */
    async resume(): Promise<void> {
      for (const made of await store.findMade()) {
        if (made.record.intent.expirationTimestamp * 1000 < Date.now()) continue;
        await create(made).catch(({ message }) => warn(`${made.reference}: ${message}`));
      }
    },
  };
}
