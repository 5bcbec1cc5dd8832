// Reads orders back that the service has and the store does not, each proved by the reference key.

import { factoryAddress, type Hex, InvalidError } from "executable-address";
import type { Client, ListedAddress } from "executable-address/client";
import { verifyReference } from "executable-address/reference";
import type { ProveEventOptions } from "executable-address/webhook";
import { keptAs, newOrder } from "./order.ts";
import { addressKey, type ShopOrder, type ShopStore } from "./store.ts";

type RestoreParts = Pick<ProveEventOptions, "factory"> & {
  readonly store: ShopStore;
  readonly service: Client;
  readonly referenceKeys: readonly string[];
  isOurs?(reference: string): boolean;
  warn(message: string): void;
};

type Named = Pick<ListedAddress, "address" | "reference">;

export function openRestore(parts: RestoreParts) {
  const { store, service, referenceKeys, warn } = parts;
  const trust = { factory: parts.factory ?? factoryAddress };

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
    return (await store.saveOrder(restored)) ?? keptAs(store, reference);
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

  /**
   * Reads back the orders that the store has lost.
   *
   * @returns the orders that were read back
   */
  async function restore(): Promise<ShopOrder[]> {
    const found: ShopOrder[] = [];
    for await (const row of ownAddresses(service)) {
      if (row.createdBy !== "api_key" || (await store.findByAddress(row.address))) continue;
      const restored = await restoreOne(row);
      if (restored) found.push(restored);
    }
    return found;
  }

  return { adopt, restoreOne, restore };
}

async function* ownAddresses(service: Client) {
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? {} : { cursor };
    const page = await service.addresses({ order: "newest", limit: 100, ...query });
    yield* page.items;
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
}
