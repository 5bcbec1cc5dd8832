// From an order to its address. The order is kept before anything is sent and its salt is made of
// its reference, so a crash, a double click and a lost database all lead to the same address.

import type { Client, ListedAddress, NewIntent } from "../client/client.ts";
import { ServiceError } from "../client/errors.ts";
import type { ProveEventOptions } from "../client/webhook.ts";
import { factoryAddress } from "../deployment.ts";
import { InvalidError } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { encodeNewIntent } from "../intent/parse.ts";
import { makeRecord } from "../record.ts";
import { parseReference, saltFor, verifyReference } from "./reference.ts";
import { addressKey, type ShopOrder, type ShopStore } from "./store.ts";

/** An order's intent. Its salt is made of the order's reference. */
export type OrderIntent = Omit<NewIntent, "salt">;

type CheckoutParts = Pick<ProveEventOptions, "factory"> & {
  readonly store: ShopStore;
  readonly service: Client;
  readonly referenceKeys: readonly string[];
  isOurs?(reference: string): boolean;
  warn(message: string): void;
};

export function openCheckout(parts: CheckoutParts) {
  const { store, service, referenceKeys, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };
  const [key] = referenceKeys;
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
    const salted = { ...intent, salt: saltFor(name, key!) };
    const record = makeRecord(encodeNewIntent(salted, trust).intent, trust);
    const made =
      (await store.findByReference(name)) ??
      (await store.saveOrder(newOrder(name, record, "made"))) ??
      (await keptAs(name));
    return create(assertSame(made, record));
  }

  /** The order that another save has put in the place of what was known. */
  async function keptAs(reference: string): Promise<ShopOrder> {
    const kept = await store.findByReference(reference);
    if (kept) return kept;
    throw new Error(`${reference} is gone from the store`);
  }

  async function create(order: ShopOrder): Promise<ShopOrder> {
    if (order.state !== "made") return order;
    const { reference, record } = order;
    try {
      await service.create(record.intent, { reference });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "reference_in_use") throw error;
      const address = error.issues[0]?.message as Hex;
      return assertSame(await adopt(reference, address), record);
    }
    // It may have been paid and worked off while the service answered.
    return (await store.saveOrder({ ...order, state: "open" })) ?? keptAs(reference);
  }

  /**
   * Keeps the order that the service already has, if the reference key shows it is the shop's. It
   * takes the place of one that was not made, and of no other.
   *
   * @returns the order that is kept under the reference, perhaps with another address
   */
  async function adopt(reference: string, address: Hex): Promise<ShopOrder> {
    const record = verifyReference(await service.lookup(address), reference, referenceKeys, trust);
    const kept = await store.findByReference(reference);
    if (kept && kept.state !== "made") return kept;
    const { version = 0 } = kept ?? {};
    const restored = { ...newOrder(reference, record, "open"), isRestored: true, version };
    return (await store.saveOrder(restored)) ?? keptAs(reference);
  }

  /** An order that the store does not know, found by what an event or a list says of it. */
  async function restoreOne({ address, reference }: Named): Promise<ShopOrder | undefined> {
    if (reference === null || parts.isOurs?.(reference) === false) return undefined;
    try {
      const order = await adopt(reference, address);
      if (addressKey(order.record.address) === addressKey(address)) return order;
      warn(`${reference} is ${order.record.address}; ${address} is called so too`);
      return undefined;
    } catch (error) {
      if (error instanceof InvalidError) return undefined;
      throw error;
    }
  }

  return {
    order,
    restoreOne,
    /** Creates what was kept and not made; an order that expired meanwhile is left. */
    async resume(): Promise<void> {
      for (const made of await store.findMade()) {
        if (made.record.intent.expirationTimestamp * 1000 < Date.now()) continue;
        await create(made).catch(({ message }) => warn(`${made.reference}: ${message}`));
      }
    },
    /**
     * Reads back the orders that the store has lost, each proved by the reference key.
     *
     * @returns the orders that were read back
     */
    async restore(): Promise<ShopOrder[]> {
      const found: ShopOrder[] = [];
      for await (const row of ownAddresses(service)) {
        if (row.createdBy !== "api_key" || (await store.findByAddress(row.address))) continue;
        const restored = await restoreOne(row);
        if (restored) found.push(restored);
      }
      return found;
    },
  };
}

type Named = Pick<ListedAddress, "address" | "reference">;

async function* ownAddresses(service: Client) {
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? {} : { cursor };
    const page = await service.addresses({ order: "newest", limit: 100, ...query });
    yield* page.items;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}

function newOrder(reference: string, record: AddressRecord, state: ShopOrder["state"]): ShopOrder {
  const nothingYet = { returned: {}, deliveredFor: null, isRestored: false, version: 0 };
  return { reference, record, state, ...nothingYet };
}

/** Whether two intents pay the same for the same customer; they may expire at different times. */
export function sameOrder(a: Intent, b: Intent): boolean {
  const texts = [a, b].map(({ expirationTimestamp: _, salt: __, ...rest }) =>
    JSON.stringify(Object.entries(rest).sort()),
  );
  return texts[0] === texts[1];
}

/** @throws {InvalidError} `reference_in_use` */
function assertSame(kept: ShopOrder, { intent }: AddressRecord): ShopOrder {
  if (sameOrder(kept.record.intent, intent)) return kept;
  const message = `${kept.record.address} is called so, and pays for something else`;
  throw new InvalidError([{ path: ["reference"], code: "reference_in_use", message }]);
}
