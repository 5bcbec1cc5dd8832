// Makes and compares the orders of a shop, and finds the one that is kept.

import { type AddressRecord, type Intent, InvalidError } from "executable-address";
import type { ShopOrder, ShopStore } from "./store.ts";

export function newOrder(
  reference: string,
  record: AddressRecord,
  state: ShopOrder["state"],
): ShopOrder {
  const nothingYet = { returned: {}, deliveredFor: null, isRestored: false, version: 0 };
  return { reference, record, state, ...nothingYet };
}

/** The order that another save has put in the place of what was known. */
export async function requireKept(store: ShopStore, reference: string): Promise<ShopOrder> {
  const kept = await store.findByReference(reference);
  if (kept) return kept;
  throw new Error(`${reference} is gone from the store`);
}

/** Whether two intents pay the same for the same customer; they may expire at different times. */
export function sameOrder(a: Intent, b: Intent): boolean {
  const texts = [a, b].map(({ expirationTimestamp: _, salt: __, ...rest }) =>
    JSON.stringify(Object.entries(rest).sort()),
  );
  return texts[0] === texts[1];
}

/** @throws {InvalidError} `reference_in_use` */
export function assertSame(kept: ShopOrder, { intent }: AddressRecord): ShopOrder {
  if (sameOrder(kept.record.intent, intent)) return kept;
  const message = `${kept.record.address} is called so, and pays for something else`;
  throw new InvalidError([{ path: ["reference"], code: "reference_in_use", message }]);
}
