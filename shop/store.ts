// The memory of a shop: in SQLite, in PostgreSQL, or in a store of the shop's own. All that the kit
// promises of a store is in store.test.ts.

import type { AddressRecord, Hex } from "executable-address";
import type { ServiceEvent } from "executable-address/webhook";

/** `made`: kept, while the service may not have its address yet; `open`: waits for its payment. */
export type OrderState = "made" | "open" | "funded" | "executed" | "expired" | "recovered";

export type ShopOrder = {
  /** The shop's own name for the order, such as `order-1`. */
  readonly reference: string;
  readonly record: AddressRecord;
  readonly state: OrderState;
  /** Base units of the intent's token that went back to `recovery`, by transaction. */
  readonly returned: Readonly<Record<Hex, string>>;
  /** The transaction that paid for the goods; null until `deliver` has done its work. */
  readonly deliveredFor: Hex | null;
  /** It was read back from the service after a loss: its goods may have left before. */
  readonly isRestored: boolean;
  /** How often it was saved: 0 of an order that is new to the store. */
  readonly version: number;
};

/** An event that is kept until it is worked off. */
export type KeptEvent = {
  readonly event: ServiceEvent;
  readonly attempts: number;
  /** The name of this claim, which no other ever has. */
  readonly claim: string;
};

type MaybePromise<T> = T | Promise<T>;

/** Each promise is durable when it resolves. */
export type ShopStore = {
  /**
   * Keeps an order in place of the one it was made of: the one that has its reference and its
   * `version`, or none for 0.
   *
   * @returns the order with its next version; undefined, where another save came between and
   *   nothing was kept
   */
  saveOrder(order: ShopOrder): MaybePromise<ShopOrder | undefined>;
  /** @param address in any letter case */
  findByAddress(address: Hex): MaybePromise<ShopOrder | undefined>;
  findByReference(reference: string): MaybePromise<ShopOrder | undefined>;
  /** The orders whose state is `made`. */
  findMade(): MaybePromise<readonly ShopOrder[]>;
  /**
   * Keeps events, due now, and the cursor behind them if there is one, all or nothing. An event
   * whose id was ever kept is passed by.
   */
  keepEvents(events: readonly ServiceEvent[], cursor?: string): MaybePromise<void>;
  cursor(): MaybePromise<string | undefined>;
  /**
   * Claims the event that is due the longest, of an address none of whose events is claimed. Nobody
   * is given an event of that address for `forMs`, or until this one is delayed or ended. Time is
   * by one clock for all servers.
   */
  claimEvent(forMs: number): MaybePromise<KeptEvent | undefined>;
  /** Ends the claim; the event is due again in `afterMs`. Does nothing once another claimed it. */
  delayEvent(claim: string, attempts: number, afterMs: number): MaybePromise<void>;
  /** Ends the claim and the event; its id stays known. Does nothing once another claimed it. */
  endEvent(claim: string): MaybePromise<void>;
};

/** The form in which a store compares addresses. */
export const addressKey = (address: Hex): string => address.toLowerCase();
