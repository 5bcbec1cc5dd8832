// The store of a shop, in SQLite, in PostgreSQL, or your own. Every implementation passes
// store.test.ts.

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
  /** Base units of the intent's token that were returned to `recovery`, by transaction hash. */
  readonly returned: Readonly<Record<Hex, string>>;
  /** The transaction that paid for the goods. Null until `deliver` succeeded. */
  readonly deliveredFor: Hex | null;
  /** Restored from the service after a loss: its goods may have been delivered before. */
  readonly isRestored: boolean;
  /** The number of saves. 0 for an order that is new to the store. */
  readonly version: number;
};

/** An event that is stored until it is processed. */
export type KeptEvent = {
  readonly event: ServiceEvent;
  readonly attempts: number;
  /** The unique ID of this claim. */
  readonly claim: string;
};

type MaybePromise<T> = T | Promise<T>;

/** Each promise is durable when it resolves. */
export type ShopStore = {
  /**
   * Saves an order if the stored one has the same reference and `version`, or if there is none and
   * `version` is 0.
   *
   * @returns the order with its next version; undefined if another save came first
   */
  saveOrder(order: ShopOrder): MaybePromise<ShopOrder | undefined>;
  /** @param address in any case */
  findByAddress(address: Hex): MaybePromise<ShopOrder | undefined>;
  findByReference(reference: string): MaybePromise<ShopOrder | undefined>;
  /** The orders whose state is `made`. */
  findMade(): MaybePromise<readonly ShopOrder[]>;
  /**
   * Stores events, which are due immediately, and the cursor after them, in one transaction.
   * Ignores an event whose ID was ever stored.
   */
  keepEvents(events: readonly ServiceEvent[], cursor?: string): MaybePromise<void>;
  cursor(): MaybePromise<string | undefined>;
  /**
   * Claims the event that has been due the longest, except events of an address that has a claimed
   * one. The claim excludes other events of its address for `forMs`, or until the event is delayed
   * or ended. All servers use one clock.
   */
  claimEvent(forMs: number): MaybePromise<KeptEvent | undefined>;
  /** Ends the claim and makes the event due in `afterMs`. Does nothing after another claim. */
  delayEvent(claim: string, attempts: number, afterMs: number): MaybePromise<void>;
  /** Ends the claim and the event, but keeps its ID. Does nothing after another claim. */
  endEvent(claim: string): MaybePromise<void>;
};

/** Returns the form in which stores compare addresses. */
export const addressKey = (address: Hex): string => address.toLowerCase();
