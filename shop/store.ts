// The interface of a shop's store: in SQLite, in PostgreSQL, or your own. Every implementation
// passes store.test.ts.

import type { AddressRecord, Hex } from "executable-address";
import type { ServiceEvent } from "executable-address/webhook";

/**
 * `made`: stored, but the service may not have its address yet. `open`: waiting for its payment.
 */
export type OrderState = "made" | "open" | "funded" | "executed" | "expired" | "recovered";

export type ShopOrder = {
  /** The shop's ID of the order, such as `order-1`. */
  readonly reference: string;
  readonly record: AddressRecord;
  readonly state: OrderState;
  /**
   * The amounts that were returned to `recovery`, in base units of the intent's token, by
   * transaction hash.
   */
  readonly returned: Readonly<Record<Hex, string>>;
  /** The transaction that paid for the goods. Null until `deliver` succeeds. */
  readonly deliveredFor: Hex | null;
  /**
   * True if the order was restored from the service after a loss. The order's goods may already
   * have been delivered.
   */
  readonly isRestored: boolean;
  /** How often the store has saved the order; 0 for a new order. */
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

/** Each change is durable when the promise resolves. */
export type ShopStore = {
  /**
   * Saves an order if the stored order with the same reference has the same `version`. Saves a new
   * order if its `version` is 0 and no order with its reference is stored.
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
   * Stores events and the cursor after these events in one transaction. The events are due
   * immediately. Ignores an event whose ID is stored, even if the event has ended.
   */
  saveEvents(events: readonly ServiceEvent[], cursor?: string): MaybePromise<void>;
  cursor(): MaybePromise<string | undefined>;
  /**
   * Claims the event that has been due the longest. Skips the events of an address that already has
   * a claimed event. A claim ends after `forMs`, or when its event is delayed or ended. All servers
   * use one clock.
   */
  claimEvent(forMs: number): MaybePromise<StoredEvent | undefined>;
  /**
   * Ends the claim and makes the event due again after `afterMs`. Does nothing if a later claim has
   * replaced this claim.
   */
  delayEvent(claim: string, attempts: number, afterMs: number): MaybePromise<void>;
  /**
   * Ends the claim and the event. Only the event's ID stays stored. Does nothing if a later claim
   * has replaced this claim.
   */
  endEvent(claim: string): MaybePromise<void>;
};

/** Returns the address in lower case, which is the form in which stores compare addresses. */
export const addressKey = (address: Hex): string => address.toLowerCase();
