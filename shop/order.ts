// Creates the address of an order. The order is stored before the address is created. The salt is
// derived from the order's intent and reference. The address therefore stays the same after a crash
// or a double click. The shop accepts an address only if its salt was derived with a reference key.

import {
  type AddressRecord,
  encodeNewIntent,
  factoryAddress,
  type Hex,
  type Intent,
  InvalidError,
  makeRecord,
} from "executable-address";
import type { Client, NewIntent } from "executable-address/client";
import { ServiceError } from "executable-address/client/internal";
import { parseReference, saltForOrder } from "executable-address/reference";
import type { ProveEventOptions } from "executable-address/webhook";
import type { ShopOrder, ShopStore } from "./store.ts";

const noSalt: Hex = `0x${"00".repeat(32)}`;

/**
 * An order's intent without the salt. The kit derives the salt from the intent and the reference.
 */
export type OrderIntent = Omit<NewIntent, "salt">;

type CheckoutParts = Pick<ProveEventOptions, "factory"> & {
  readonly store: ShopStore;
  readonly service: Client;
  readonly referenceKeys: readonly string[];
  warn(message: string): void;
  /** Stores an order that the service already has (restore.ts). */
  adopt(reference: string, address: Hex): Promise<ShopOrder>;
};

export function openCheckout(parts: CheckoutParts) {
  const { store, service, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };
  const [key] = parts.referenceKeys;
  if (key === undefined) throw new TypeError("referenceKeys: expected one or more, found none");

  /**
   * Creates the order with this `reference`, and the order's address. The call is idempotent if the
   * amount, the calls, and `recovery` stay the same.
   *
   * @throws {InvalidError} if the intent is invalid; the error lists every fault. Also throws
   *   `reference_in_use` if another order has this reference
   */
  async function order(reference: string, intent: OrderIntent): Promise<ShopOrder> {
    const name = parseReference(reference);
    const { intent: parsed } = encodeNewIntent({ ...intent, salt: noSalt }, trust);
    const salt = saltForOrder(name, parsed, key!, trust);
    const record = makeRecord({ ...parsed, salt }, trust);
    const made =
      (await store.findByReference(name)) ??
      (await store.saveOrder(newOrder(name, record, "made"))) ??
      (await requireStored(store, name));
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
    // Another server may already have saved the order as paid or delivered.
    return (await store.saveOrder({ ...order, state: "open" })) ?? requireStored(store, reference);
  }

  return {
    order,
    /** Creates the missing addresses of stored orders that have not expired. */
    async resume(): Promise<void> {
      for (const made of await store.findMade()) {
        if (made.record.intent.expirationTimestamp * 1000 < Date.now()) continue;
        await create(made).catch(({ message }) => warn(`${made.reference}: ${message}`));
      }
    },
  };
}

export function newOrder(
  reference: string,
  record: AddressRecord,
  state: ShopOrder["state"],
): ShopOrder {
  const nothingYet = { returned: {}, deliveredFor: null, isRestored: false, version: 0 };
  return { reference, record, state, ...nothingYet };
}

/**
 * Returns the stored order with this `reference`. Used if a save fails because another server has
 * already saved the order.
 */
export async function requireStored(store: ShopStore, reference: string): Promise<ShopOrder> {
  const stored = await store.findByReference(reference);
  if (stored) return stored;
  throw new Error(`${reference}: expected an order in the store, found none`);
}

/** Returns whether two intents are for the same order. Ignores the salt and the expiration time. */
export function sameOrder(a: Intent, b: Intent): boolean {
  const texts = [a, b].map(({ expirationTimestamp: _, salt: __, ...rest }) =>
    JSON.stringify(Object.entries(rest).sort()),
  );
  return texts[0] === texts[1];
}

/** Describes the fields in which two intents differ. Does not show the calls, which can be long. */
function describeDifferences(wanted: Intent, found: Intent): string {
  const names = ["token", "amount", "recovery", "chainId"] as const;
  const differences = names.filter((name) => wanted[name] !== found[name]);
  const texts = differences.map((name) => `${name} ${wanted[name]}, found ${found[name]}`);
  return `expected ${texts.join("; ") || "the same calls, found other calls"}`;
}

/** @throws {InvalidError} `reference_in_use`, with the values that differ */
export function assertSame(stored: ShopOrder, { intent }: AddressRecord): ShopOrder {
  if (sameOrder(stored.record.intent, intent)) return stored;
  const { address } = stored.record;
  const differences = describeDifferences(stored.record.intent, intent);
  const message = `${address} has this reference, but a different intent: ${differences}`;
  throw new InvalidError([{ path: ["reference"], code: "reference_in_use", message }]);
}
