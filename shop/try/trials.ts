// The trials that a webhook receiver must pass. The trials send genuine, forged, and repeated
// events, and simulate reorganizations. The name of each trial is the expected behavior.

import { secretPrefix } from "executable-address/client/internal";
import type { ServiceEvent } from "executable-address/webhook";
import type { TryChain } from "./chain.ts";
import { isTaken, type Spoiled, type Taken } from "./deliver.ts";
import type { Made } from "./service.ts";

/** The functions that trials use. */
export type Hands = {
  readonly chain: TryChain;
  /** Makes the shop create an order. */
  order(): Promise<Made>;
  /**
   * Creates an address that the shop did not request. The address's reference is null or copied
   * from an order of the shop. The service stores the address like any other address.
   */
  strange(reference: string | null): Made;
  eventOf(made: Made, type: ServiceEvent["type"]): Promise<ServiceEvent>;
  /** Attempts one delivery. */
  send(event: ServiceEvent, spoiled?: Spoiled): Promise<Taken>;
  /** Retries the delivery every 0.1 s, until the receiver acknowledges it or 10 s have passed. */
  deliver(event: ServiceEvent, spoiled?: Spoiled): Promise<void>;
  /**
   * Returns whether the goods of an order were delivered exactly `count` times. Waits up to
   * `withinMs` for the expected deliveries. Then waits 1.5 s for unexpected deliveries.
   */
  goodsAre(made: Made, count: number, withinMs?: number): Promise<boolean>;
};

export type Trial = {
  readonly name: string;
  /** True if the trial must create orders in the shop and count their deliveries. */
  readonly needsGoods: boolean;
  run(hands: Hands): Promise<boolean>;
};

async function paid({ chain, order }: Hands): Promise<Made> {
  const made = await order();
  chain.pay(made.record, BigInt(made.record.intent.amount));
  chain.execute(made.record);
  return made;
}

/**
 * Returns a forged event. The event reports an execution of `made`, but contains the data of
 * `other`.
 */
async function borrowed({ eventOf }: Hands, made: Made, other: Made): Promise<ServiceEvent> {
  const event = structuredClone(await eventOf(other, "address.executed"));
  const { address } = made.record;
  const status = { ...event.data.status, address };
  return { ...event, data: { ...event.data, address, reference: made.reference, status } };
}

/**
 * Returns a genuine event about an address that an attacker created, paid, and executed. The
 * address has the reference of `made`.
 */
async function strangeEvent({ chain, strange, eventOf }: Hands, made: Made): Promise<ServiceEvent> {
  const other = strange(made.reference);
  chain.pay(other.record, BigInt(other.record.intent.amount));
  chain.execute(other.record);
  return eventOf(other, "address.executed");
}

/**
 * Returns an event about money at the order's address on another chain. The event reports that the
 * money arrived, or that it was returned. A receiver must not change the order because of this
 * event.
 */
async function elsewhere(
  { chain, eventOf }: Hands,
  made: Made,
  type: "address.payment" | "address.recovered",
  from: Made,
): Promise<ServiceEvent> {
  const event = structuredClone(await eventOf(made, type));
  const { transactionHash: hash, ...paid } = chain.paymentTo(from.record)!;
  const { token, amount } = paid;
  const news = { kind: "other_chain" as const, isLate: false, isLast: false };
  const payment = type === "address.payment" ? { ...paid, transactionHash: hash, ...news } : null;
  const returned = payment ? [] : [{ token, amount }];
  const chainId = event.data.status.chainId + 1;
  const more = { chainId, transactionHash: hash, payment, payments: [], returned };
  return { ...event, data: { ...event.data, ...more } };
}

const renamed = (event: ServiceEvent): ServiceEvent => ({ ...event, id: `${event.id}_again` });

const rejects = (name: string, spoiled: Spoiled): Trial => ({
  name: `rejects ${name}`,
  needsGoods: false,
  async run({ strange, eventOf, send }) {
    return !isTaken(await send(await eventOf(strange(null), "address.funded"), spoiled));
  },
});

const withGoods = (name: string, run: Trial["run"]): Trial => ({ name, needsGoods: true, run });

/**
 * A receiver must reject deliveries that are not from the service. A receiver must acknowledge all
 * deliveries from the service, regardless of the event's type.
 */
const ofDeliveries: readonly Trial[] = [
  rejects("a delivery without a valid signature", { signature: () => "v1,AAAA" }),
  rejects("a delivery signed with another secret", {
    secret: `${secretPrefix}${btoa("another secret")}`,
  }),
  rejects("a delivery signed ten minutes ago", { secondsAgo: 600 }),
  rejects("a delivery signed ten minutes in the future", { secondsAgo: -600 }),
  rejects("a modified body", { body: '{"type":"address.executed"}' }),
  rejects("an event with another event's ID", { id: "evt_another" }),
  {
    name: "accepts an event of an unknown type",
    needsGoods: false,
    async run({ strange, eventOf, send }) {
      const event = await eventOf(strange(null), "address.funded");
      return isTaken(await send({ ...event, type: "address.later" as ServiceEvent["type"] }));
    },
  },
];

/** Genuine events may arrive more than once and in any order. Each order must be delivered once. */
const ofTruths: readonly Trial[] = [
  withGoods("delivers if the signed body contains extra spaces", async (hands) => {
    const made = await paid(hands);
    const write = (event: ServiceEvent) => JSON.stringify(event, null, 1);
    await hands.deliver(await hands.eventOf(made, "address.executed"), { write });
    return hands.goodsAre(made, 1);
  }),
  withGoods(
    "delivers if there are two signatures, as after a rotation of the secret",
    async (hands) => {
      const made = await paid(hands);
      const signature = (right: string) => `v1,${btoa("x".repeat(32))} v1a,AAAA ${right}`;
      await hands.deliver(await hands.eventOf(made, "address.executed"), { signature });
      return hands.goodsAre(made, 1);
    },
  ),
  withGoods("delivers once if the event is repeated later with the same ID", async (hands) => {
    const made = await paid(hands);
    const event = await hands.eventOf(made, "address.executed");
    await hands.deliver(event);
    if (!(await hands.goodsAre(made, 1))) return false;
    await hands.deliver(event);
    return hands.goodsAre(made, 1);
  }),
  withGoods("delivers a paid order once", async (hands) => {
    const made = await paid(hands);
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    return hands.goodsAre(made, 1);
  }),
  withGoods("delivers once if the event arrives five times simultaneously", async (hands) => {
    const made = await paid(hands);
    const event = await hands.eventOf(made, "address.executed");
    await Promise.all([1, 2, 3, 4, 5].map(() => hands.deliver(event)));
    return hands.goodsAre(made, 1);
  }),
  withGoods("delivers once if two events report the same execution", async (hands) => {
    const made = await paid(hands);
    const event = await hands.eventOf(made, "address.executed");
    await hands.deliver(event);
    await hands.deliver(renamed(event));
    return hands.goodsAre(made, 1);
  }),
  withGoods("accepts address.payment events, and delivers once", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    await hands.deliver(await hands.eventOf(made, "address.payment"));
    await hands.deliver(await hands.eventOf(made, "address.funded"));
    hands.chain.execute(made.record);
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    await hands.deliver(await hands.eventOf(made, "address.payment"));
    return hands.goodsAre(made, 1);
  }),
  withGoods("delivers once if address.executed arrives before address.funded", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    const funded = await hands.eventOf(made, "address.funded");
    hands.chain.execute(made.record);
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    await hands.deliver(funded);
    return hands.goodsAre(made, 1);
  }),
];

/**
 * A receiver must not deliver goods because of these events. Some of the events contain false
 * statements. The others are true, but do not report an execution of the order.
 */
const ofLies: readonly Trial[] = [
  withGoods("delivers nothing for an order that is only funded", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    await hands.deliver(await hands.eventOf(made, "address.funded"));
    return hands.goodsAre(made, 0);
  }),
  withGoods("delivers nothing for an order whose money was returned", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    hands.chain.recover(made.record);
    await hands.deliver(await hands.eventOf(made, "address.recovered"));
    const isRight = await hands.goodsAre(made, 0);
    // Removes the newest block, because its time is after the order's expiry. Otherwise, the orders
    // of the next trials would expire almost immediately.
    hands.chain.takeBack(1);
    return isRight;
  }),
  withGoods("delivers nothing for a reverted execution", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    await hands.deliver(await hands.eventOf(made, "address.reverted"));
    return hands.goodsAre(made, 0);
  }),
  withGoods(
    "delivers nothing if another order's event contains this order's reference",
    async (hands) => {
      const [made, other] = [await hands.order(), await paid(hands)];
      const event = structuredClone(await hands.eventOf(other, "address.executed"));
      event.data.reference = made.reference;
      await hands.send(event);
      return hands.goodsAre(made, 0);
    },
  ),
  withGoods("delivers nothing for an address.payment event before the execution", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    await hands.deliver(await hands.eventOf(made, "address.payment"));
    return hands.goodsAre(made, 0);
  }),
  withGoods(
    "delivers nothing if an event attributes another order's payment to this order",
    async (hands) => {
      const [made, other] = [await hands.order(), await paid(hands)];
      const event = structuredClone(await hands.eventOf(other, "address.payment"));
      Object.assign(event.data, { address: made.record.address, reference: made.reference });
      event.data.status.address = made.record.address;
      await hands.send(event);
      return hands.goodsAre(made, 0);
    },
  ),
  withGoods("delivers nothing for a payment that arrived on a different chain", async (hands) => {
    const [made, other] = [await hands.order(), await paid(hands)];
    await hands.deliver(await elsewhere(hands, made, "address.payment", other));
    return hands.goodsAre(made, 0);
  }),
  withGoods(
    "delivers a paid order after money was returned on a different chain",
    async (hands) => {
      const [made, other] = [await hands.order(), await paid(hands)];
      await hands.deliver(await elsewhere(hands, made, "address.recovered", other));
      hands.chain.pay(made.record, BigInt(made.record.intent.amount));
      hands.chain.execute(made.record);
      await hands.deliver(await hands.eventOf(made, "address.executed"));
      return hands.goodsAre(made, 1);
    },
  ),
  withGoods("delivers nothing if an unpaid order is reported as executed", async (hands) => {
    const made = await hands.order();
    await hands.send(await borrowed(hands, made, await paid(hands)));
    return hands.goodsAre(made, 0);
  }),
  withGoods("delivers nothing for an order that is paid but not executed", async (hands) => {
    const made = await hands.order();
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    await hands.send(await borrowed(hands, made, await paid(hands)));
    return hands.goodsAre(made, 0);
  }),
  withGoods(
    "delivers nothing if an unrelated address claims the order's reference and is executed",
    async (hands) => {
      const made = await hands.order();
      await hands.send(await strangeEvent(hands, made));
      return hands.goodsAre(made, 0);
    },
  ),
  withGoods(
    "delivers nothing if an event claims that the shop created an unrelated address",
    async (hands) => {
      const made = await hands.order();
      const event = structuredClone(await strangeEvent(hands, made));
      const { reference } = made;
      Object.assign(event.data, { reference, claimedReference: null, createdBy: "api_key" });
      await hands.send(event);
      return hands.goodsAre(made, 0);
    },
  ),
  withGoods("delivers a paid order after a false event about it", async (hands) => {
    const made = await hands.order();
    await hands.send(await borrowed(hands, made, await paid(hands)));
    if (!(await hands.goodsAre(made, 0))) return false;
    hands.chain.pay(made.record, BigInt(made.record.intent.amount));
    hands.chain.execute(made.record);
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    return hands.goodsAre(made, 1);
  }),
  withGoods("delivers a paid order after outdated and malformed events", async (hands) => {
    const [old, made] = [await paid(hands), await paid(hands)];
    const outdated = await hands.eventOf(old, "address.executed");
    const poison = { ...outdated, id: "evt_outdated", type: "address.expired" } as ServiceEvent;
    await hands.send(poison);
    await hands.send({ ...poison, id: "evt_bare", data: { ...poison.data, status: null! } });
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    return hands.goodsAre(made, 1);
  }),
];

/** In these trials, a reorganization removes blocks, or the node does not respond. */
const ofChains: readonly Trial[] = [
  withGoods("delivers nothing for a payment that a reorganization removed", async (hands) => {
    const made = await paid(hands);
    const event = await hands.eventOf(made, "address.executed");
    hands.chain.takeBack(2);
    for (let mined = 0; mined < 3; mined++) hands.chain.mine();
    await hands.send(event);
    return hands.goodsAre(made, 0);
  }),
  withGoods(
    "delivers once if a reorganization removes and restores the execution",
    async (hands) => {
      const made = await paid(hands);
      const first = await hands.eventOf(made, "address.executed");
      hands.chain.takeBack(1);
      hands.chain.execute(made.record);
      hands.chain.mine();
      await hands.send(first);
      await hands.deliver(await hands.eventOf(made, "address.executed"));
      return hands.goodsAre(made, 1);
    },
  ),
  withGoods("delivers after the node responds again", async (hands) => {
    const made = await paid(hands);
    const event = await hands.eventOf(made, "address.executed");
    hands.chain.trouble.isSilent = true;
    const taken = await hands.send(event);
    hands.chain.trouble.isSilent = false;
    // The service does not resend an event after a 2xx response.
    if (!isTaken(taken)) await hands.deliver(event);
    return hands.goodsAre(made, 1, 30_000);
  }),
  withGoods("delivers once if the execution is repeated after a reorganization", async (hands) => {
    const made = await paid(hands);
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    if (!(await hands.goodsAre(made, 1))) return false;
    hands.chain.takeBack(1);
    hands.chain.mine();
    await hands.deliver(await hands.eventOf(made, "address.reverted"));
    hands.chain.execute(made.record);
    await hands.deliver(await hands.eventOf(made, "address.executed"));
    return hands.goodsAre(made, 1);
  }),
  withGoods("acknowledges the webhook without waiting for the node", async (hands) => {
    const made = await paid(hands);
    const event = await hands.eventOf(made, "address.executed");
    let letNodeAnswer = () => {};
    hands.chain.trouble.heldUntil = new Promise((done) => {
      letNodeAnswer = done;
    });
    const taken = await hands.send(event);
    letNodeAnswer();
    await hands.deliver(event);
    return isTaken(taken) && (await hands.goodsAre(made, 1));
  }),
];

export const trials: readonly Trial[] = [...ofDeliveries, ...ofTruths, ...ofLies, ...ofChains];
