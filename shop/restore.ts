// Restores orders that the service has and the store has lost. The service is not trusted: an order
// is adopted only if its salt proves that the owner of the reference key requested exactly this
// intent under this reference. A stranger can create a cheap address with the reference and the
// salt of an expensive order, but cannot compute the valid salt of the cheap intent.

import { factoryAddress, type Hex, InvalidError } from "executable-address";
import type { Client, ListedAddress } from "executable-address/client";
import { verifyReference } from "executable-address/reference";
import type { ProveEventOptions } from "executable-address/webhook";
import { newOrder, requireStored } from "./order.ts";
import { addressKey, type ShopOrder, type ShopStore } from "./store.ts";

type RestoreParts = Pick<ProveEventOptions, "factory"> & {
  readonly store: ShopStore;
  readonly service: Client;
  readonly referenceKeys: readonly string[];
  isOurs?(reference: string): boolean;
  onRestored?(order: ShopOrder): unknown;
  warn(message: string): void;
};

/** The fields that identify an order, in an event or in the service's list of addresses. */
export type NamedAddress = Pick<ListedAddress, "address" | "reference" | "createdBy">;

export function openRestore(parts: RestoreParts) {
  const { store, service } = parts;
  const { adopt, adoptNamed } = openAdoption(parts);
  let newest: Promise<unknown> | undefined;

  /**
   * @param isNewestOnly whether to stop after a page that contains known orders but no lost orders
   */
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
   * Restores the orders that are newer than the store's newest order. The function does this once,
   * and usually finds no order. It restores all orders if the store is empty, and the orders since
   * the backup if the store is an old backup.
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
     * Returns the order to which an event's address belongs, and restores it if the store lacks it.
     * First restores the newest orders, so that the event cannot decide which address an order has.
     */
    async restoreOne(named: NamedAddress): Promise<ShopOrder | undefined> {
      await restoreNewest();
      return (await store.findByAddress(named.address)) ?? adoptNamed(named);
    },
    /**
     * Restores every order that the store has lost, regardless of its age.
     *
     * @returns the restored orders
     */
    restore: () => readBack(false),
  };
}

/** Returns the functions that verify and adopt orders that the service has. */
function openAdoption(parts: RestoreParts) {
  const { store, service, referenceKeys, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };

  /**
   * Stores the order of an address that the service has, if the salt proves that the shop requested
   * it. Replaces a stored order only if that order has no address yet.
   *
   * @returns the stored order of the reference, which may have a different address
   * @throws {InvalidError} if the record is not this order's
   */
  async function adopt(reference: string, address: Hex): Promise<ShopOrder> {
    const found = await service.lookup(address);
    // This replica of the service may lag behind the replica that sent the event or the list.
    if (!found) throw new Error(`${address}: the service has no record yet`);
    const record = verifyReference(found, reference, referenceKeys, trust);
    const stored = await store.findByReference(reference);
    if (stored && stored.state !== "made") return stored;
    const { version = 0 } = stored ?? {};
    const restored = { ...newOrder(reference, record, "open"), isRestored: true, version };
    const saved = await store.saveOrder(restored);
    if (!saved) return requireStored(store, reference);
    await parts.onRestored?.(saved);
    return saved;
  }

  async function adoptNamed({ address, reference, createdBy }: NamedAddress) {
    if (reference === null || createdBy !== "api_key") return undefined;
    if (parts.isOurs?.(reference) === false) return undefined;
    try {
      const order = await adopt(reference, address);
      if (addressKey(order.record.address) === addressKey(address)) return order;
      const own = order.record.address;
      warn(`${reference}: the order's address is ${own}, but ${address} has the same reference`);
      return undefined;
    } catch (error) {
      if (error instanceof InvalidError) return undefined;
      throw error;
    }
  }

  return { adopt, adoptNamed };
}

async function* ownAddresses(service: Client) {
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? {} : { cursor };
    // Skips addresses that were created with the client ID, because strangers can create many.
    const ours = { createdBy: "api_key", order: "newest", limit: 100 } as const;
    const page = await service.addresses({ ...ours, ...query });
    yield page.items;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}
