// Tests the kit on a real chain with the real service: the effects of strangers, crashes, and
// failing events on a shop, with each store of the kit.

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Hex, InvalidError, makeRecord } from "executable-address";
import { type Client, createClient, type ServiceEvent } from "executable-address/client";
import { readStatus } from "executable-address/status";
import { proveEvent, WebhookError } from "executable-address/webhook";
import { findCredentials } from "../service/accounts/account.ts";
import { addOrigin } from "../service/accounts/origins/origin-list.ts";
import { findReferenceKeys } from "../service/accounts/reference-keys.ts";
import { listen } from "../service/testing/app.ts";
import { serveWorld } from "../service/testing/app-on-chain.ts";
import { startPostgres, type TestPostgres } from "../service/testing/postgres.ts";
import {
  openShop,
  type Paid,
  postgresStore,
  type ShopOptions,
  type ShopOrder,
  type ShopStore,
  sqliteStore,
} from "./shop.ts";

const wallet: Hex = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
const customer: Hex = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";
const secret = `whsec_${randomBytes(32).toString("base64")}`;

let served: Awaited<ReturnType<typeof serveWorld>>;
let service: { baseUrl: string; apiKey: string };
let referenceKey: string;
/** Creates an address as a stranger does who has read the client ID in the shop's page. */
let createAsPage: (intent: object, reference: string) => Promise<number>;
let postgres: TestPostgres;
/** An empty store of the tested kind. */
let newStore: () => Promise<ShopStore>;
let names = 0;

before(async () => {
  served = await serveWorld();
  postgres = await startPostgres();
  const { accountId, apiKey } = await served.server.newKey();
  service = { baseUrl: `http://127.0.0.1:${await listen(served.server)}/v1`, apiKey };
  const { db } = served.server.parts.store;
  [referenceKey] = await findReferenceKeys(db, accountId, Date.now());
  const origin = "https://shop.example.com";
  await addOrigin(db, accountId, origin, { atMs: Date.now() });
  const { clientId } = await findCredentials(db, accountId);
  createAsPage = async (payload, reference) => {
    const headers = { "x-client-id": clientId.client_id, origin };
    const url = `/v1/address/create?reference=${reference}`;
    return (await served.server.app.inject({ method: "POST", url, headers, payload })).statusCode;
  };
});
after(async () => {
  await served.stop();
  await postgres.stop();
});

const kinds: Record<string, typeof newStore> = {
  sqlite: async () => sqliteStore(new DatabaseSync(":memory:")),
  postgres: async () => postgresStore(postgres.newPool(await postgres.newDatabase())),
};
const describeOnEach = (name: string, define: () => void) => {
  for (const [kind, open] of Object.entries(kinds))
    describe(`${name}, on ${kind}`, () => {
      before(() => {
        newStore = open;
      });
      define();
    });
};
const nextName = () => `order-${++names}`;

async function intentFor(amount = "100") {
  const { token, client, chain } = served.world;
  const call = { target: token, function: "transfer(address to, uint256 amount)" };
  return {
    chainId: chain.chainId,
    ...{ token, amount },
    calls: [{ ...call, args: [wallet, amount] }],
    expirationTimestamp: Number((await client.getBlock()).timestamp) + 3600,
    recovery: customer,
  };
}

/** A shop that records its deliveries and notifications. */
async function newShop(given: Partial<ShopOptions> = {}) {
  const delivered: string[] = [];
  const refunded: string[] = [];
  const warnings: string[] = [];
  const inner = given.store ?? (await newStore());
  /** Events that are stored and not completed. */
  let due = 0;
  const store: ShopStore = {
    ...inner,
    async keepEvents(events, cursor) {
      due += events.length;
      await inner.keepEvents(events, cursor);
    },
    async endEvent(claim) {
      await inner.endEvent(claim);
      due -= 1;
    },
  };
  const shop = openShop({
    service,
    referenceKeys: [referenceKey],
    secrets: [secret],
    rpcs: [served.world.rpcUrl],
    confirmations: 0,
    deliver: ({ reference }) => delivered.push(reference),
    refund: (_, { recoveries }) => refunded.push(...recoveries.map(({ amount }) => amount)),
    warn: (message) => warnings.push(message),
    ...given,
    store,
  });
  return { shop, delivered, refunded, warnings, due: () => due };
}

async function eventOf(
  { record, reference }: Pick<ShopOrder, "record" | "reference">,
  type: ServiceEvent["type"],
  payment: ServiceEvent["data"]["payment"] = null,
): Promise<ServiceEvent> {
  const status = await readStatus(record, { rpc: served.world.rpcUrl });
  const place = type === "address.recovered" ? status.recoveries.at(-1) : status.execution;
  return {
    id: `evt_${randomBytes(8).toString("hex")}`,
    type,
    version: 1,
    timestamp: new Date().toISOString(),
    data: {
      address: record.address,
      reference,
      claimedReference: null,
      createdBy: "api_key",
      sequence: 1,
      recordUrl: `${service.baseUrl}/address/${record.address}`,
      transactionHash: place?.transactionHash ?? null,
      ...{ payment, payments: [], paymentsOmitted: 0 },
      status,
      recoveriesOmitted: 0,
    },
  };
}

/** Signs and sends the event as the service does. */
async function deliverTo({ shop }: { shop: ReturnType<typeof openShop> }, event: ServiceEvent) {
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice(6), "base64");
  const content = `${event.id}.${timestamp}.${body}`;
  const signature = `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
  const headers = { "webhook-id": event.id, "webhook-timestamp": timestamp };
  await shop.receive(body, { ...headers, "webhook-signature": signature });
}

async function paidOrder(shop: ReturnType<typeof openShop>, more = 0n) {
  const order = await shop.order(nextName(), await intentFor());
  await served.world.pay(order.record.address, 100n + more);
  await served.world.execute(order.record);
  return order;
}

async function until(what: string, isTrue: () => boolean | Promise<boolean>) {
  for (let tries = 0; tries < 400; tries++) {
    if (await isTrue()) return;
    await sleep(25);
  }
  assert.fail(`never: ${what}`);
}

test("openShop: TypeError for an unknown option", () => {
  const wrong = { referenceKeys: [referenceKey], rpcs: [], confirmations: 0, onPayments() {} };
  assert.throws(() => openShop(wrong as never), {
    name: "TypeError",
    message: /^onPayments: unknown option, expected one of store, service, referenceKeys, /,
  });
});

describeOnEach("order", () => {
  test("throws InvalidError for an invalid intent and for another order's reference", async () => {
    const { shop } = await newShop();
    const intent = await intentFor();
    await assert.rejects(shop.order(nextName(), { ...intent, recovery: "0x12" }), InvalidError);
    const name = nextName();
    await shop.order(name, intent);
    await assert.rejects(shop.order(name, { ...intent, recovery: wallet }), /reference/);
  });

  test("a double click and a shop that crashed before the response make one address", async () => {
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

  test("an order that is processed during a create keeps its progress", async () => {
    const inner = await newStore();
    const done = { state: "executed", deliveredFor: `0x${"11".repeat(32)}` } as const;
    const { shop } = await newShop({
      store: {
        ...inner,
        async saveOrder(order) {
          const [kept] = await inner.findMade();
          if (kept) await inner.saveOrder({ ...kept, ...done });
          return inner.saveOrder(order);
        },
      },
    });
    const name = nextName();
    const { state, deliveredFor } = await shop.order(name, await intentFor());
    assert.deepEqual({ state, deliveredFor }, done);
    assert.equal((await inner.findByReference(name))?.deliveredFor, done.deliveredFor);
  });

  test("a shop that lost its database finds the order again, proved by the key", async () => {
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

  test("restore reads every order that the key proves, and no other", async () => {
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
  test("throws WebhookError for an unsigned body and stores nothing", async () => {
    const store = await newStore();
    const { shop } = await newShop({ store });
    await assert.rejects(shop.receive("{}", { "webhook-id": "evt_1" }), WebhookError);
    assert.equal(await store.claimEvent(0), undefined);
  });

  test("stores the proved amount of a payment, not the reported one", async () => {
    const booked: Paid[] = [];
    const world = await newShop({ onPayment: (_, fact) => booked.push(fact) });
    const plain = await newShop();
    const { token } = served.world;
    for (const { shop } of [world, plain]) {
      const order = await shop.order(nextName(), await intentFor());
      const { address } = order.record;
      const { transactionHash, blockHash, blockNumber } = await served.world.pay(address, 40n);
      const place = { transactionHash, blockHash, blockNumber: Number(blockNumber), logIndex: 0 };
      const reported = { payer: wallet, token, amount: "999", kind: "asked" } as const;
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

  test("delivers once for a proved payment, regardless of repetitions", async () => {
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

  test("delivers nothing for a signed lie, and notifies a person", async () => {
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

  test("books returned money once for each transaction", async () => {
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
    const kept = await store.findByReference(order.reference);
    assert.deepEqual([kept?.state, Object.values(kept!.returned)], ["executed", ["7"]]);
  });

  test("responds before the work is done, so slow deliveries do not delay it", async () => {
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

  test("finds an order that the store lost by its event, and reports it to deliver", async () => {
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
 * A cheap address with the reference and the public salt of an expensive order, paid and executed.
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
  /** A backup from yesterday with an order and a cursor, but without today's data. */
  const backups = {
    "an empty database": newShop,
    async "yesterday's backup"(given: Partial<ShopOptions>) {
      const store = await newStore();
      await (await newShop({ store })).shop.order(nextName(), await intentFor());
      const { next } = await createClient(service).events({});
      await store.keepEvents([], next);
      return newShop({ ...given, store });
    },
  };
  for (const [name, open] of Object.entries(backups))
    for (const createdBy of ["client_id", "api_key"] as const)
      test(`${name}: delivers nothing for a forged 1 unit by ${createdBy}`, async () => {
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

  test("reads its orders again before it works on an event", async () => {
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

  test("keeps an event whose record the service does not find at first", async () => {
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

describeOnEach("events that fail", () => {
  const failures = new Set<string>();
  const hangs = new Set<string>();
  const deliverBadly =
    (delivered: string[], sayItHangs = () => {}) =>
    async ({ reference }: ShopOrder) => {
      if (failures.has(reference)) throw new Error("the warehouse is shut");
      if (hangs.has(reference)) {
        sayItHangs();
        await new Promise(() => {});
      }
      delivered.push(reference);
    };

  /** Each returns the event of an order that cannot be processed now. */
  const poisons: Record<string, (shop: ReturnType<typeof openShop>) => Promise<ServiceEvent>> = {
    async "whose goods cannot leave"(shop) {
      const order = await paidOrder(shop);
      failures.add(order.reference);
      return eventOf(order, "address.executed");
    },
    async "whose delivery hangs"(shop) {
      const order = await paidOrder(shop);
      hangs.add(order.reference);
      return eventOf(order, "address.executed");
    },
    "that is outdated": async (shop) => eventOf(await paidOrder(shop), "address.expired"),
    async "of a block to come"(shop) {
      const event = await eventOf(
        await shop.order(nextName(), await intentFor()),
        "address.funded",
      );
      event.data.status.block.number += 1_000_000;
      return event;
    },
    async "of a block that a reorganisation took away"(shop) {
      const event = await eventOf(await paidOrder(shop), "address.executed");
      await served.world.reorg(2);
      return event;
    },
  };

  /**
   * A simple loop as shops write it: events in order, each time from the event at which it stopped.
   * If a condition is not met yet, it throws, and tries again the next time.
   *
   * @returns the number of events processed after three rounds, and the goods delivered
   */
  async function takeInOrder(store: ShopStore, events: readonly ServiceEvent[]) {
    const delivered: string[] = [];
    const take = async (event: ServiceEvent) => {
      const order = (await store.findByAddress(event.data.address))!;
      const options = { rpcs: [served.world.rpcUrl], confirmations: 0 };
      const { fact } = await proveEvent(event, order.record, options);
      if (fact === "notYet" || fact === "outdated") throw new Error(fact);
      if (fact !== "executed") return;
      await new Promise<void>((resolve, reject) => {
        const hanging = () => reject(new Error("it would wait here for good"));
        deliverBadly(delivered, hanging)(order).then(resolve, reject);
      });
    };
    let done = 0;
    for (let times = 0; times < 3; times++) {
      try {
        for (; done < events.length; done++) await take(events[done]!);
      } catch {}
    }
    return { done, delivered };
  }

  for (const [name, poison] of Object.entries(poisons))
    test(`${name} does not block later events, but blocks a simple loop forever`, async () => {
      const delivered: string[] = [];
      const store = await newStore();
      const world = await newShop({ store, deliver: deliverBadly(delivered), patienceMs: 2000 });
      const bad = await poison(world.shop);
      const good = await paidOrder(world.shop);
      const goodEvent = await eventOf(good, "address.executed");
      for (const event of [bad, goodEvent]) await deliverTo(world, event);
      await until("goods behind it", () => delivered.length > 0);
      assert.deepEqual(delivered, [good.reference]);
      assert.deepEqual(await takeInOrder(store, [bad, goodEvent]), { done: 0, delivered: [] });
      assert.deepEqual(await takeInOrder(store, [goodEvent]), { done: 1, delivered });
    });

  test("delivers after a second payment if a reorganization removed the first", async () => {
    const world = await newShop();
    const order = await paidOrder(world.shop);
    const { world: chain } = served;
    const gone = await eventOf(order, "address.executed");
    await chain.reorg(2);
    await deliverTo(world, gone);
    await chain.pay(order.record.address, 100n);
    await chain.execute(order.record);
    await deliverTo(world, await eventOf(order, "address.executed"));
    await until("goods", () => world.delivered.length > 0);
    await chain.reorg(2);
    await deliverTo(world, await eventOf(order, "address.reverted"));
    await until("the warning", () => world.warnings.length > 0);
    assert.match(
      world.warnings[0]!,
      /a reorganization reverted a payment whose goods were delivered/,
    );
    await world.shop.stop();
    assert.deepEqual(world.delivered, [order.reference]);
  });

  test("a delivery that ends after another took over changes nothing", async () => {
    const store = await newStore();
    let calls = 0;
    let end = () => {};
    const isOver = new Promise<void>((resolve) => {
      end = resolve;
    });
    let isNoted = false;
    const slow = await newShop({
      store: {
        ...store,
        async saveOrder(order) {
          const kept = await store.saveOrder(order);
          isNoted ||= kept !== undefined && order.deliveredFor !== null;
          return kept;
        },
      },
      patienceMs: 1,
      deliver: () => (++calls === 1 ? isOver : undefined),
    });
    const order = await paidOrder(slow.shop, 7n);
    const executed = await eventOf(order, "address.executed");
    await deliverTo(slow, executed);
    await until("it hangs", () => calls === 1);
    await slow.shop.stop();
    const world = await newShop({ store });
    await served.world.recover(order.record, [served.world.token]);
    await deliverTo(world, { ...executed, id: "evt_executed_twin" });
    await until("goods", () => world.delivered.length === 1);
    await deliverTo(world, await eventOf(order, "address.recovered"));
    await until("the refund", () => world.refunded.length === 1);
    await world.shop.stop();
    const before = (await store.findByReference(order.reference))!;
    end();
    await until("it is noted", () => isNoted);
    const { state, returned, deliveredFor } = (await store.findByReference(order.reference))!;
    assert.deepEqual(
      { state, returned, deliveredFor },
      { state: "executed", returned: before.returned, deliveredFor: before.deliveredFor },
    );
    assert.deepEqual(Object.values(returned), ["7"]);
  });

  test("ignores an event of a type that this version does not know", async () => {
    const world = await newShop();
    const event = await eventOf(await paidOrder(world.shop), "address.executed");
    await deliverTo(world, { ...event, type: "address.later" as ServiceEvent["type"] });
    await until("it is ended", () => world.due() === 0);
    assert.deepEqual([world.delivered, world.warnings], [[], []]);
  });

  test("retries failed work, and then completes it", async () => {
    const inner = await newStore();
    const delays: [attempts: number, afterMs: number][] = [];
    const store: ShopStore = {
      ...inner,
      delayEvent(claim, attempts, afterMs) {
        delays.push([attempts, afterMs]);
        return inner.delayEvent(claim, attempts, 0);
      },
    };
    const delivered: string[] = [];
    const world = await newShop({
      store,
      deliver({ reference }) {
        if (delays.length < 2) throw new Error("shut");
        delivered.push(reference);
      },
    });
    const order = await paidOrder(world.shop);
    await deliverTo(world, await eventOf(order, "address.executed"));
    await until("goods", () => delivered.length > 0);
    await world.shop.stop();
    assert.deepEqual(delivered, [order.reference]);
    assert.deepEqual(delays, [
      [1, 1_000],
      [2, 2_000],
    ]);
  });
});

describe("two servers of one shop, on postgres", () => {
  test("a double click on both makes one address, and the goods are delivered once", async () => {
    const url = await postgres.newDatabase();
    const orders: string[] = [];
    const deliver = async ({ reference }: ShopOrder) => {
      await sleep(20);
      orders.push(reference);
    };
    const open = async () =>
      newShop({ store: await postgresStore(postgres.newPool(url)), deliver });
    const servers = [await open(), await open()];
    const name = nextName();
    const intent = await intentFor();
    const made = await Promise.all(
      servers.map(({ shop }, nth) =>
        shop.order(name, { ...intent, expirationTimestamp: intent.expirationTimestamp + nth }),
      ),
    );
    const { record } = await servers[0]!.shop.order(name, intent);
    assert.ok(made.some(({ record: { address } }) => address === record.address));
    await served.world.pay(record.address, 100n);
    await served.world.execute(record);
    const event = await eventOf({ record, reference: name }, "address.executed");
    await Promise.all(servers.map((server) => deliverTo(server, event)));
    const twin = { ...event, id: "evt_twin_of_two" };
    await Promise.all(servers.map((server) => deliverTo(server, twin)));
    const pool = postgres.newPool(url);
    const left = "select from shop_events where due_at is not null";
    await until("both are done", async () => (await pool.query(left)).rowCount === 0);
    await Promise.all(servers.map(({ shop }) => shop.stop()));
    assert.deepEqual(orders, [name]);
  });
});

describeOnEach("start", () => {
  test("fetches missed events and moves the cursor in the same commit", async () => {
    const kept: [number, string | undefined][] = [];
    const inner = await newStore();
    const store: ShopStore = {
      ...inner,
      keepEvents(events, cursor) {
        kept.push([events.length, cursor]);
        return inner.keepEvents(events, cursor);
      },
    };
    const { shop, warnings } = await newShop({ store });
    await shop.start();
    await shop.stop();
    assert.equal(kept.length, 1);
    assert.equal(await store.cursor(), kept[0]![1]);
    assert.deepEqual(warnings, []);
  });
});
