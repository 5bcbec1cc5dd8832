// Applies a proved fact to its order. A delivery or a refund that the order already records is not
// repeated. The order is loaded before the fact is proved. The new state is stored only if the
// order has not changed since then. An old fact therefore never replaces a newer fact. If the order
// changes during `deliver` or `refund`, the delivery or refund is recorded in the newest version.

import type { ProvedEvent } from "executable-address/webhook";
import { addressKey, type OrderState, type ShopOrder, type ShopStore } from "./store.ts";

export type Executed = Extract<ProvedEvent, { fact: "executed" }>;
/**
 * A payment to the order's address. A payment without a log, such as native coin, cannot be proved.
 * The fact is then `held`, which contains only the current balance of the address.
 */
export type Paid = Extract<ProvedEvent, { fact: "payment" | "held" }>;
/** A payment or a return on a chain other than the order's chain. It does not affect the order. */
export type Elsewhere = Extract<ProvedEvent, { fact: "paidElsewhere" | "returnedElsewhere" }>;
export type Recovered = Extract<ProvedEvent, { fact: "recovered" }>;

export type FactParts = {
  readonly store: ShopStore;
  deliver(order: ShopOrder, fact: Executed): unknown;
  refund(order: ShopOrder, fact: Recovered): unknown;
  onPayment?(order: ShopOrder, fact: Paid): unknown;
  onElsewhere?(order: ShopOrder, fact: Elsewhere): unknown;
  warn(message: string): void;
};

/**
 * Applies a proved fact to an order. The fact can be applied again after a failure, because
 * recorded deliveries and refunds are skipped. Calls `onPayment` and `onElsewhere` even if the fact
 * was applied before.
 *
 * @param order the order as read before the fact was proved
 * @throws {Error} if the stored order has changed since `order` was read. After this error, the
 *   caller must prove the event again.
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
  if (fact.fact === "paidElsewhere" || fact.fact === "returnedElsewhere") {
    await parts.onElsewhere?.(order, fact);
    return;
  }
  const { reference, deliveredFor, returned } = order;
  const stored = await store.saveOrder({ ...order, state: nextState(order.state, fact) });
  if (!stored) throw new Error(`${reference}: the order changed while its event was being proved`);
  if (fact.fact === "executed" && deliveredFor === null) {
    await deliver(stored, fact);
    await recordDone(stored, store, (now) => ({
      deliveredFor: now.deliveredFor ?? fact.transactionHash,
    }));
  }
  if (fact.fact === "recovered" && !(fact.transactionHash in returned)) {
    await refund(stored, fact);
    const amount = sumRefunds(order, fact);
    await recordDone(stored, store, (now) => ({
      returned: { ...now.returned, [fact.transactionHash]: amount },
    }));
  }
  if (fact.fact === "reverted" && deliveredFor !== null)
    warn(`${reference}: a reorganization reverted a payment whose goods were delivered`);
}

/** Records a delivery or a refund in the newest version of the order. */
async function recordDone(
  order: ShopOrder,
  store: ShopStore,
  done: (now: ShopOrder) => Partial<ShopOrder>,
): Promise<void> {
  for (let now: ShopOrder | undefined = order; now; ) {
    if (await store.saveOrder({ ...now, ...done(now) })) return;
    now = await store.findByAddress(order.record.address);
  }
  throw new Error(`${order.reference}: expected an order in the store, found none`);
}

/**
 * Applies a proved fact to the state of an order, and returns the new state. An executed order
 * stays executed if money is returned later.
 */
function nextState(state: OrderState, fact: ProvedEvent): OrderState {
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

/** Returns the refunded amount in base units of the order's token. */
const sumRefunds = ({ record }: ShopOrder, { recoveries }: Recovered): string =>
  String(
    recoveries
      .filter(({ token }) => addressKey(token) === addressKey(record.intent.token))
      .reduce((sum, { amount }) => sum + BigInt(amount), 0n),
  );
