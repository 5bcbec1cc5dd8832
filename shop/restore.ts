// Reads orders back that the service has and the store has lost. The service's word is not enough:
// an order is adopted only if its salt shows that the holder of the reference key asked for exactly
// this intent under this reference. A stranger can name a cheap address after a dear order and use
// its salt again, but cannot make that salt.

import { factoryAddress, type Hex, InvalidError } from "executable-address";
import type { Client, ListedAddress } from "executable-address/client";
import { verifyReference } from "executable-address/reference";
import type { ProveEventOptions } from "executable-address/webhook";
import { newOrder, requireKept } from "./order.ts";
import { addressKey, type ShopOrder, type ShopStore } from "./store.ts";

type RestoreParts = Pick<ProveEventOptions, "factory"> & {
  readonly store: ShopStore;
  readonly service: Client;
  readonly referenceKeys: readonly string[];
  isOurs?(reference: string): boolean;
  onRestored?(order: ShopOrder): unknown;
  warn(message: string): void;
};

/** What an event or a list says of an address. */
export type NamedAddress = Pick<ListedAddress, "address" | "reference" | "createdBy">;

export function openRestore(parts: RestoreParts) {
  const { store, service, referenceKeys, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };
  let newest: Promise<unknown> | undefined;

  /**
   * Stores the order that the service already has, if the reference key shows that it is the
   * shop's. It replaces an order that was not made, and no other.
   *
   * @returns the order that is stored under the reference, perhaps with another address
   * @throws {InvalidError} if the record is not this order's
   */
  async function adopt(reference: string, address: Hex): Promise<ShopOrder> {
    const found = await service.lookup(address);
    // A replica of the service may be behind what the event or the list says.
    if (!found) throw new Error(`the service has no record of ${address} yet`);
    const record = verifyReference(found, reference, referenceKeys, trust);
    const kept = await store.findByReference(reference);
    if (kept && kept.state !== "made") return kept;
    const { version = 0 } = kept ?? {};
    const restored = { ...newOrder(reference, record, "open"), isRestored: true, version };
    const saved = await store.saveOrder(restored);
    if (!saved) return requireKept(store, reference);
    await parts.onRestored?.(saved);
    return saved;
  }

  async function adoptNamed({ address, reference, createdBy }: NamedAddress) {
    if (reference === null || createdBy !== "api_key") return undefined;
    if (parts.isOurs?.(reference) === false) return undefined;
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

  /** @param isNewestOnly stops at a page of addresses that has known orders and no lost ones */
  async function readBack(isNewestOnly: boolean): Promise<ShopOrder[]> {
    const found: ShopOrder[] = [];
    for await (const rows of ownAddresses(service)) {
      const before = found.length;
      let known = 0;
      for (const row of rows) {
        if (await store.findByAddress(row.address)) {
          known += 1;
          continue;
        }
        const restored = await adoptNamed(row);
        if (restored) found.push(restored);
      }
      if (isNewestOnly && known > 0 && found.length === before) break;
    }
    return found;
  }

  /**
   * Reads back the orders that are newer than the store, once: all of them if the store is empty,
   * those since the backup if it was restored from one, usually none.
   */
  function restoreNewest(): Promise<unknown> {
    newest ??= readBack(true).catch((error) => {
      newest = undefined;
      throw error;
    });
    return newest;
  }

  return {
    adopt,
    restoreNewest,
    /**
     * Finds an order that the store does not have, for an event of its address. The newest orders
     * are read back first, so no event decides which address an order has.
     */
    async restoreOne(named: NamedAddress): Promise<ShopOrder | undefined> {
      await restoreNewest();
      return (await store.findByAddress(named.address)) ?? adoptNamed(named);
    },
    /**
     * Reads back every order that the store has lost, however old.
     *
     * @returns the orders that were read back
     */
    restore: () => readBack(false),
  };
}

async function* ownAddresses(service: Client) {
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? {} : { cursor };
    // What strangers create with the client ID would be read at each start, however much it is.
    const ours = { createdBy: "api_key", order: "newest", limit: 100 } as const;
    const page = await service.addresses({ ...ours, ...query });
    yield page.items;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}
