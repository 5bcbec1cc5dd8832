// Applies a proved fact to its order: goods leave once, and what went back is booked once. A state
// is kept only in place of the order that was read before the fact was proved, so none takes the
// place of a newer one. What was done is noted afterwards, whatever else was kept meanwhile.

import type { ProvedEvent } from "executable-address/webhook";
import { addressKey, type OrderState, type ShopOrder, type ShopStore } from "./store.ts";

export type Executed = Extract<ProvedEvent, { fact: "executed" }>;
/** `held`: of money that left no log only what is there now can be proved. */
export type Paid = Extract<ProvedEvent, { fact: "payment" | "held" }>;
export type Recovered = Extract<ProvedEvent, { fact: "recovered" }>;

export type FactParts = {
  readonly store: ShopStore;
  deliver(order: ShopOrder, fact: Executed): unknown;
  refund(order: ShopOrder, fact: Recovered): unknown;
  onPayment?(order: ShopOrder, fact: Paid): unknown;
  warn(message: string): void;
};

/**
 * May be repeated: what was noted as done for a transaction is not done again.
 *
 * @param order as it was before the fact was proved
 * @throws {Error} where the order has changed since: prove it again
 */
export async function applyFact(
  order: ShopOrder,
  fact: ProvedEvent,
  parts: FactParts,
): Promise<void> {
  const { store, deliver, refund, warn } = parts;
  if (fact.fact === "payment" || fact.fact === "held") {
    await parts.onPayment?.(order, fact);
    return;
  }
  const { reference, deliveredFor, returned } = order;
  const kept = await store.saveOrder({ ...order, state: stateAfter(order.state, fact) });
  if (!kept) throw new Error(`${reference} changed while an event of it was proved`);
  if (fact.fact === "executed" && deliveredFor === null) {
    await deliver(kept, fact);
    await note(kept, store, (now) => ({ deliveredFor: now.deliveredFor ?? fact.transactionHash }));
  }
  if (fact.fact === "recovered" && !(fact.transactionHash in returned)) {
    await refund(kept, fact);
    const amount = amountOf(order, fact);
    await note(kept, store, (now) => ({
      returned: { ...now.returned, [fact.transactionHash]: amount },
    }));
  }
  if (fact.fact === "reverted" && deliveredFor !== null)
    warn(`${reference}: the chain took back a payment whose goods have left`);
}

/** Adds to the order what was done, and changes nothing else that it has by now. */
async function note(
  order: ShopOrder,
  store: ShopStore,
  done: (now: ShopOrder) => Partial<ShopOrder>,
): Promise<void> {
  for (let now: ShopOrder | undefined = order; now; ) {
    if (await store.saveOrder({ ...now, ...done(now) })) return;
    now = await store.findByAddress(order.record.address);
  }
  throw new Error(`${order.reference} is gone from the store`);
}

/** An executed order stays so, whatever returns of it later. */
function stateAfter(state: OrderState, fact: ProvedEvent): OrderState {
  switch (fact.fact) {
    case "reverted":
      return fact.state === "unfunded" || fact.state === "partially_funded" ? "open" : fact.state;
    case "executed":
      return "executed";
    case "funded":
    case "expired":
    case "recovered":
      return state === "executed" ? state : fact.fact;
    default:
      return state;
  }
}

/** Base units of the order's token. */
const amountOf = ({ record }: ShopOrder, { recoveries }: Recovered): string =>
  String(
    recoveries
      .filter(({ token }) => addressKey(token) === addressKey(record.intent.token))
      .reduce((sum, { amount }) => sum + BigInt(amount), 0n),
  );
