// The memory of a shop: in SQLite, in PostgreSQL, or in a store of the shop's own. All that the kit
// promises of a store is in store.test.ts.

import type { ServiceEvent } from "../client/lists.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";

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
};

/** An event that is kept until it is worked off. */
export type KeptEvent = { readonly event: ServiceEvent; readonly attempts: number };

type MaybePromise<T> = T | Promise<T>;

/** Each promise is durable when it resolves. */
export type ShopStore = {
  /** Keeps an order under its reference, in place of the one that has it. */
  saveOrder(order: ShopOrder): MaybePromise<void>;
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
   * Claims the event that is due the longest at `nowMs`, of an address none of whose events is
   * claimed. Nobody is given an event of that address until this one is delayed or ended, or until
   * `untilMs`.
   */
  claimEvent(nowMs: number, untilMs: number): MaybePromise<KeptEvent | undefined>;
  /** Ends the claim; tries the event again at `dueAtMs`. */
  delayEvent(id: string, attempts: number, dueAtMs: number): MaybePromise<void>;
  /** Ends the claim and the event; its id stays known. */
  endEvent(id: string): MaybePromise<void>;
};

/** The form in which a store compares addresses. */
export const addressKey = (address: Hex): string => address.toLowerCase();
