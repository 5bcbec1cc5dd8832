// If the store has lost orders, restores them from the service's records. The shop does not trust
// the service. The salt of a record must prove that the shop requested this intent for this
// reference. For example, an attacker can copy an order's reference and salt, but lower the amount.
// The salt does not match the lower amount, so the shop rejects the record.

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

/** The fields that identify an order, in an event or in a list item. */
export type NamedAddress = Pick<ListedAddress, "address" | "reference" | "createdBy">;

export function openRestore(parts: RestoreParts) {
  const { store, service } = parts;
  const { adopt, adoptNamed } = openAdoption(parts);
  let newest: Promise<unknown> | undefined;

  /**
   * Restores lost orders from the service's list of addresses, newest first.
   *
   * @param isNewestOnly whether to stop after the first page that has stored orders and nothing to
   *   restore
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
   * Restores all lost orders that are newer than the newest stored order. May also restore some
   * older ones. Usually, no orders are lost. If the store is empty, restores all orders. If the
   * store is an old backup, restores the orders since the backup. After a success, later calls do
   * nothing.
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
     * Returns the shop's order for the address in an event. Restores the order if the store lacks
     * it. First restores the newest lost orders from the service's list. Otherwise, a forged event
     * could choose between several addresses with the same reference.
     */
    async restoreOne(named: NamedAddress): Promise<ShopOrder | undefined> {
      await restoreNewest();
      return (await store.findByAddress(named.address)) ?? adoptNamed(named);
    },
    /**
     * Restores all orders that the store has lost, regardless of their age.
     *
     * @returns the restored orders
     */
    restore: () => readBack(false),
  };
}

/** Returns the functions that verify and restore orders from the service. */
function openAdoption(parts: RestoreParts) {
  const { store, service, referenceKeys, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };

  /**
   * Stores the order of an address if the salt proves that the shop requested the address. Replaces
   * a stored order only if the order's state is `made`.
   *
   * @returns the order that is now stored for `reference`; its address may differ from `address`
   * @throws {InvalidError} if the record's salt does not prove this reference and intent
   */
  async function adopt(reference: string, address: Hex): Promise<ShopOrder> {
    const found = await service.lookup(address);
    // This replica of the service may lag behind the replica that sent the event or list.
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
      warn(`${reference}: the order has the address ${own}, but ${address} has the same reference`);
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
    // Skips addresses that were created with the client ID. The client ID is public, so anyone can
    // create many of these addresses.
    const ours = { createdBy: "api_key", order: "newest", limit: 100 } as const;
    const page = await service.addresses({ ...ours, ...query });
    yield page.items;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}
