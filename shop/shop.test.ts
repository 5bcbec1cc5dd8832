// Tests how a shop reacts to forged orders, forged events, and crashes. Each test runs with every
// store, on a real chain with the real service.

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Hex, InvalidError, makeRecord } from "executable-address";
import { type Client, createClient } from "executable-address/client";
import { WebhookError } from "executable-address/webhook";
import { openShop, type Paid, type ShopOptions, type ShopOrder, type ShopStore } from "./shop.ts";
import {
  createAsPage,
  deliverTo,
  describeOnEach,
  eventOf,
  intentFor,
  newShop,
  newStore,
  nextName,
  paidOrder,
  referenceKey,
  served,
  service,
  until,
  wallet,
} from "./test/kit.ts";

test("openShop throws `TypeError` for an unknown option", () => {
  const wrong = { referenceKeys: [referenceKey], rpcs: [], confirmations: 0, onPayments() {} };
  assert.throws(() => openShop(wrong as never), {
    name: "TypeError",
    message: /^onPayments: unknown option, expected one of store, service, referenceKeys, /,
  });
});

test("openShop throws `TypeError` without a reference key", () => {
  assert.throws(
    () => openShop({ service: { baseUrl: "http://127.0.0.1" }, referenceKeys: [] } as never),
    {
      name: "TypeError",
      message: "referenceKeys: expected one or more, found none",
    },
  );
});

describeOnEach("order", () => {
  test("`order` throws if the intent is invalid or the reference is in use", async () => {
    const { shop } = await newShop();
    const intent = await intentFor();
    await assert.rejects(shop.order(nextName(), { ...intent, recovery: "0x12" }), InvalidError);
    const name = nextName();
    await shop.order(name, intent);
    await assert.rejects(shop.order(name, { ...intent, recovery: wallet }), /reference/);
  });

  test("`order` creates only one address for a reference", async () => {
    const store = await newStore();
    const name = nextName();
    const intent = await intentFor();
    const dead = await newShop({
      store,
      service: { ...service, baseUrl: "http://127.0.0.1:9/v1", retriesMax: 0 },
    });
    await assert.rejects(dead.shop.order(name, intent), /NetworkError|reach|connect/i);
    assert.equal((await store.findMade()).length, 1);
    const { shop } = await newShop({ store });
    const later = { ...intent, expirationTimestamp: intent.expirationTimestamp + 5 };
    const made = await Promise.all([shop.order(name, later), shop.order(name, intent)]);
    assert.equal(made[0]!.record.address, made[1]!.record.address);
    assert.equal(made[0]!.state, "open");
    assert.deepEqual(await store.findMade(), []);
  });

  test("`order` does not overwrite a simultaneous change of the order", async () => {
    const inner = await newStore();
    const done = { state: "executed", deliveredFor: `0x${"11".repeat(32)}` } as const;
    const { shop } = await newShop({
      store: {
        ...inner,
        async saveOrder(order) {
          const [stored] = await inner.findMade();
          if (stored) await inner.saveOrder({ ...stored, ...done });
          return inner.saveOrder(order);
        },
      },
    });
    const name = nextName();
    const { state, deliveredFor } = await shop.order(name, await intentFor());
    assert.deepEqual({ state, deliveredFor }, done);
    assert.equal((await inner.findByReference(name))?.deliveredFor, done.deliveredFor);
  });

  test("`order` restores an order that the database lost", async () => {
    const name = nextName();
    const intent = await intentFor();
    const { record } = await (await newShop()).shop.order(name, intent);
    const again = { ...intent, expirationTimestamp: intent.expirationTimestamp + 9 };
    const plain = createClient(service).create(again, { reference: name });
    await assert.rejects(plain, /reference_in_use/, "as a shop without the kit");
    const found = await (await newShop()).shop.order(name, again);
    assert.deepEqual([found.record, found.isRestored], [record, true]);
    const other = (await newShop()).shop.order(name, { ...again, recovery: wallet });
    await assert.rejects(other, /reference/);
    const stranger = await newShop({ referenceKeys: [`svc_ref_${"0".repeat(64)}`] });
    await assert.rejects(stranger.shop.order(name, again), InvalidError);
  });

  test("`restore` restores only orders that the shop's key signed", async () => {
    const name = nextName();
    const { record } = await (await newShop()).shop.order(name, await intentFor());
    const forged = nextName();
    const salted = { ...(await intentFor()), salt: `0x${"77".repeat(32)}` as Hex };
    await createClient(service).create(salted, { reference: forged });
    const store = await newStore();
    const found = await (await newShop({ store })).shop.restore();
    assert.ok(found.some(({ reference }) => reference === name));
    assert.ok(!found.some(({ reference }) => reference === forged));
    assert.deepEqual((await store.findByReference(name))?.record, record);
    assert.deepEqual(await (await newShop({ store })).shop.restore(), []);
  });
});

describeOnEach("receive", () => {
  test("`receive` throws `WebhookError` if the body is not signed", async () => {
    const store = await newStore();
    const { shop } = await newShop({ store });
    await assert.rejects(shop.receive("{}", { "webhook-id": "evt_1" }), WebhookError);
    assert.equal(await store.claimEvent(0), undefined);
  });

  test("a shop uses the amount that its nodes prove, not the event's amount", async () => {
    const booked: Paid[] = [];
    const world = await newShop({ onPayment: (_, fact) => booked.push(fact) });
    const plain = await newShop();
    const { token } = served.world;
    for (const { shop } of [world, plain]) {
      const order = await shop.order(nextName(), await intentFor());
      const { address } = order.record;
      const { transactionHash, blockHash, blockNumber } = await served.world.pay(address, 40n);
      const place = { transactionHash, blockHash, blockNumber: Number(blockNumber), logIndex: 0 };
      const reported = { payer: wallet, token, amount: "999", kind: "requested" } as const;
      const payment = { ...place, ...reported, isLate: false, isLast: false };
      const to = shop === world.shop ? world : plain;
      await deliverTo(to, await eventOf(order, "address.payment", payment));
      const lie = { ...payment, transactionHash: `0x${"4".repeat(64)}` as const };
      await deliverTo(to, await eventOf(order, "address.payment", lie));
    }
    await until("booked", () => booked.length > 0 && world.warnings.length > 0);
    await until("the other is done", () => plain.warnings.length > 0);
    for (const { shop, delivered } of [world, plain]) {
      await shop.stop();
      assert.deepEqual(delivered, []);
    }
    assert.equal(booked.length, 1);
    assert.deepEqual("payments" in booked[0]! && booked[0].payments.map(({ amount }) => amount), [
      "40",
    ]);
  });

  test("a shop delivers only once even if events are repeated", async () => {
    const world = await newShop();
    const order = await paidOrder(world.shop);
    const event = await eventOf(order, "address.executed");
    await deliverTo(world, event);
    await until("goods", () => world.delivered.length > 0);
    await deliverTo(world, event);
    await deliverTo(world, { ...event, id: "evt_twin" });
    await deliverTo(world, await eventOf(order, "address.executed"));
    await world.shop.stop();
    assert.deepEqual(world.delivered, [order.reference]);
  });

  test("a shop delivers nothing for a forged event and warns the operator", async () => {
    const world = await newShop();
    const paid = await paidOrder(world.shop);
    const unpaid = await world.shop.order(nextName(), await intentFor());
    const lie = structuredClone(await eventOf(paid, "address.executed"));
    lie.data.address = unpaid.record.address;
    lie.data.status.address = unpaid.record.address;
    await deliverTo(world, lie);
    await until("the warning", () => world.warnings.length > 0);
    assert.match(world.warnings[0]!, /: refused: /);
    assert.deepEqual(world.delivered, []);
  });

  test("a shop counts a refund only once", async () => {
    const store = await newStore();
    const world = await newShop({ store });
    const order = await paidOrder(world.shop, 7n);
    await served.world.recover(order.record, [served.world.token]);
    const recovered = await eventOf(order, "address.recovered");
    await deliverTo(world, recovered);
    await deliverTo(world, { ...recovered, id: "evt_recovered_twin" });
    await until("the refund", () => world.refunded.length > 0);
    await deliverTo(world, await eventOf(order, "address.executed"));
    await until("goods", () => world.delivered.length > 0);
    await world.shop.stop();
    assert.deepEqual(world.refunded, ["7"]);
    const stored = await store.findByReference(order.reference);
    assert.deepEqual([stored?.state, Object.values(stored!.returned)], ["executed", ["7"]]);
  });

  test("`receive` resolves before the event is processed", async () => {
    let open = () => {};
    const isOpen = new Promise<void>((resolve) => {
      open = resolve;
    });
    const delivered: string[] = [];
    const world = await newShop({
      async deliver({ reference }) {
        await isOpen;
        delivered.push(reference);
      },
    });
    const order = await paidOrder(world.shop);
    const event = await eventOf(order, "address.executed");
    for (let i = 0; i < 20; i++) await deliverTo(world, { ...event, id: `evt_${i}` });
    assert.deepEqual(delivered, []);
    open();
    await until("goods", () => delivered.length > 0);
    await world.shop.stop();
    assert.deepEqual(delivered, [order.reference]);
  });

  test("a shop restores a lost order when an event of the order arrives", async () => {
    const order = await paidOrder((await newShop()).shop);
    const orders: ShopOrder[] = [];
    const world = await newShop({ deliver: (each) => orders.push(each) });
    await deliverTo(world, await eventOf(order, "address.executed"));
    await until("goods", () => orders.length > 0);
    assert.equal(orders[0]!.isRestored, true);
    const { shop } = await newShop({ isOurs: (reference) => reference !== order.reference });
    const names = (await shop.restore()).map(({ reference }) => reference);
    assert.ok(names.length > 0 && !names.includes(order.reference));
    assert.equal(orders[0]!.record.address, order.record.address);
  });
});

/**
 * Creates, pays, and executes an address with a low amount. Copies the reference and the salt of an
 * expensive order. Salts are public.
 */
async function forgeOrder({ record, reference }: ShopOrder) {
  const { chainId, salt } = record.intent;
  const cheap = { ...(await intentFor("1")), chainId, salt };
  assert.equal(await createAsPage(cheap, reference), 200);
  const forged = makeRecord(cheap);
  await served.world.pay(forged.address, 1n);
  await served.world.execute(forged);
  return { forged, event: await eventOf({ record: forged, reference }, "address.executed") };
}

describeOnEach("a shop without its newest orders", () => {
  /**
   * Functions that open a shop whose database lacks today's orders. Yesterday's backup contains one
   * order and a cursor.
   */
  const backups = {
    "an empty database": newShop,
    async "yesterday's backup"(given: Partial<ShopOptions>) {
      const store = await newStore();
      await (await newShop({ store })).shop.order(nextName(), await intentFor());
      const { next } = await createClient(service).events({});
      await store.saveEvents([], next);
      return newShop({ ...given, store });
    },
  };
  for (const [name, open] of Object.entries(backups))
    for (const createdBy of ["client_id", "api_key"] as const)
      test(`with ${name}, an order forged with ${createdBy} is not delivered`, async () => {
        const dear = await (await newShop()).shop.order(nextName(), await intentFor("25000000"));
        const { forged, event } = await forgeOrder(dear);
        event.data.createdBy = createdBy;
        const store = await newStore();
        const world = await open({ store });
        await deliverTo(world, event);
        await world.shop.start();
        await until("nothing is due", () => world.due() === 0);
        await world.shop.stop();
        assert.deepEqual(world.delivered, []);
        const { record } = await world.shop.order(dear.reference, await intentFor("25000000"));
        assert.notEqual(record.address, forged.address);
        assert.equal(record.address, dear.record.address);
      });

  test("a shop restores a lost order even if the event contains no reference", async () => {
    const order = await paidOrder((await newShop()).shop);
    const event = await eventOf(order, "address.executed");
    event.data.reference = null;
    const orders: ShopOrder[] = [];
    const restored: string[] = [];
    const world = await newShop({
      deliver: (each) => orders.push(each),
      onRestored: ({ reference }) => restored.push(reference),
    });
    await deliverTo(world, event);
    await until("goods", () => orders.length > 0);
    assert.ok(restored.includes(order.reference));
    assert.deepEqual(
      orders.map(({ reference, isRestored }) => ({ reference, isRestored })),
      [{ reference: order.reference, isRestored: true }],
    );
  });

  test("a shop retries an event if the service has no record yet", async () => {
    const order = await paidOrder((await newShop()).shop);
    const client = createClient(service);
    let misses = 0;
    const world = await newShop({
      service: {
        ...client,
        addresses: async () => ({ items: [], next: null }),
        lookup: async (address: Hex) => (++misses === 1 ? undefined : client.lookup(address)),
      } as unknown as Client,
      reconcileMs: 100,
    });
    await world.shop.start();
    await deliverTo(world, await eventOf(order, "address.executed"));
    await until("goods", () => world.delivered.length > 0);
    await world.shop.stop();
    assert.ok(misses >= 2);
  });
});

describeOnEach("start", () => {
  test("`start` stores the missed events and the new cursor in one call", async () => {
    const stored: [number, string | undefined][] = [];
    const inner = await newStore();
    const store: ShopStore = {
      ...inner,
      saveEvents(events, cursor) {
        stored.push([events.length, cursor]);
        return inner.saveEvents(events, cursor);
      },
    };
    const { shop, warnings } = await newShop({ store });
    await shop.start();
    await shop.stop();
    assert.equal(stored.length, 1);
    assert.equal(await store.cursor(), stored[0]![1]);
    assert.deepEqual(warnings, []);
  });
});
