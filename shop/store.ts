// The interface of a shop's store. The library implements it for SQLite and PostgreSQL, and you can
// implement your own. Every implementation must pass store.test.ts.

import type { AddressRecord, Hex } from "executable-address";
import type { ServiceEvent } from "executable-address/webhook";

/**
 * `made`: the order is stored, but the service may not have its address yet. `open`: the order
 * waits for its payment.
 */
export type OrderState = "made" | "open" | "funded" | "executed" | "expired" | "recovered";

export type ShopOrder = {
  /** The shop's ID of the order, such as `order-1`. */
  readonly reference: string;
  readonly record: AddressRecord;
  readonly state: OrderState;
  /**
   * The amounts that each transaction returned to `recovery`, in base units of the intent's token.
   */
  readonly returned: Readonly<Record<Hex, string>>;
  /** The transaction that paid for the delivered goods. Null until `deliver` has succeeded. */
  readonly deliveredFor: Hex | null;
  /**
   * True if the order was restored from the service after a loss of the database. The shop may have
   * delivered the goods before the loss.
   */
  readonly isRestored: boolean;
  /** The number of times that this order has been saved. 0 for a new order. */
  readonly version: number;
};

/** An event that is stored until it is processed. */
export type StoredEvent = {
  readonly event: ServiceEvent;
  readonly attempts: number;
  /** The unique ID of this claim. */
  readonly claim: string;
};

type MaybePromise<T> = T | Promise<T>;

/** When a promise resolves, the change is durable. */
export type ShopStore = {
  /**
   * Saves an order if its `version` equals that of the stored order with the same reference. Saves
   * a new order if its `version` is 0 and no stored order has its reference.
   *
   * @returns the order with its next version, or undefined if another save came first
   */
  saveOrder(order: ShopOrder): MaybePromise<ShopOrder | undefined>;
  /** @param address in any letter case */
  findByAddress(address: Hex): MaybePromise<ShopOrder | undefined>;
  findByReference(reference: string): MaybePromise<ShopOrder | undefined>;
  /** The orders whose state is `made`. */
  findMade(): MaybePromise<readonly ShopOrder[]>;
  /**
   * Stores events and the cursor for the next request, in one transaction. The events can be
   * processed immediately. Ignores an event whose ID is stored, even if the event is already
   * completed.
   */
  saveEvents(events: readonly ServiceEvent[], cursor?: string): MaybePromise<void>;
  cursor(): MaybePromise<string | undefined>;
  /**
   * Claims the event that has been due for the longest time. Skips addresses that have a claimed
   * event. A claim ends after `forMs`, or when its event is delayed or completed. All servers must
   * use the same clock.
   */
  claimEvent(forMs: number): MaybePromise<StoredEvent | undefined>;
  /**
   * Ends the claim. The event becomes due again after `afterMs`. Does nothing if a later claim has
   * replaced this claim.
   */
  delayEvent(claim: string, attempts: number, afterMs: number): MaybePromise<void>;
  /**
   * Ends the claim and completes the event. The event's ID stays stored. Does nothing if a later
   * claim has replaced this claim.
   */
  endEvent(claim: string): MaybePromise<void>;
};

/** Returns the address in lowercase. The shop's store compares addresses in lowercase. */
export const addressKey = (address: Hex): string => address.toLowerCase();
