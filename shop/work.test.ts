// Tests events that fail, and a shop with two servers. A failing event must not block another
// event, and goods must be delivered once.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceEvent } from "executable-address/client";
import { proveEvent } from "executable-address/webhook";
import { type openShop, postgresStore, type ShopOrder, type ShopStore } from "./shop.ts";
import {
  deliverTo,
  describeOnEach,
  eventOf,
  intentFor,
  newShop,
  newStore,
  nextName,
  paidOrder,
  postgres,
  served,
  until,
} from "./test/kit.ts";

/**
 * On PostgreSQL, these tests run only in `npm run test:long`. The shorter test run already covers
 * PostgreSQL with store.test.ts and shop.test.ts.
 */
const onPostgres = { skip: process.env.TESTS !== "long" && "on PostgreSQL: npm run test:long" };

describeOnEach(
  "events that fail",
  () => {
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

    /**
     * Each function returns an event that cannot be processed. The event would stop a loop that
     * processes events in order.
     */
    const poisons: Record<string, (shop: ReturnType<typeof openShop>) => Promise<ServiceEvent>> = {
      async "whose goods cannot be delivered"(shop) {
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
      async "of a future block"(shop) {
        const event = await eventOf(
          await shop.order(nextName(), await intentFor()),
          "address.funded",
        );
        event.data.status.block.number += 1_000_000;
        return event;
      },
      async "of a block that a reorganization removed"(shop) {
        const event = await eventOf(await paidOrder(shop), "address.executed");
        await served.world.reorg(2);
        return event;
      },
    };

    /**
     * A simple loop that a shop might write without the kit. The loop processes events in order and
     * stops at an event that cannot be processed yet. The loop runs three times, and each time
     * continues from the event at which it stopped.
     *
     * @returns the number of processed events, and the references of the delivered orders
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
      test(`an event ${name} does not block later events`, async () => {
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

    test("a shop delivers once despite reorganizations", async () => {
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

    test("a slow delivery does not overwrite changes that another server has made", async () => {
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
            const stored = await store.saveOrder(order);
            isNoted ||= stored !== undefined && order.deliveredFor !== null;
            return stored;
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

    test("a shop ignores an event of an unknown type", async () => {
      const world = await newShop();
      const event = await eventOf(await paidOrder(world.shop), "address.executed");
      await deliverTo(world, { ...event, type: "address.later" as ServiceEvent["type"] });
      await until("it is ended", () => world.due() === 0);
      assert.deepEqual([world.delivered, world.warnings], [[], []]);
    });

    /** Opens a store that records the delay before each retry, but retries immediately. */
    async function newHastyStore() {
      const inner = await newStore();
      const delays: [retries: number, afterMs: number][] = [];
      const store: ShopStore = {
        ...inner,
        delayEvent(claim, retries, afterMs) {
          delays.push([retries, afterMs]);
          return inner.delayEvent(claim, retries, 0);
        },
      };
      return { store, delays };
    }

    test("a shop retries failed work after 1 s, 2 s, and so on", async () => {
      const { store, delays } = await newHastyStore();
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

    test("a shop abandons an event and warns after 50 retries over seven hours", async () => {
      const { store, delays } = await newHastyStore();
      let calls = 0;
      const world = await newShop({
        store,
        deliver() {
          calls += 1;
          throw new Error("shut");
        },
      });
      const event = await eventOf(await paidOrder(world.shop), "address.executed");
      await deliverTo(world, event);
      await until("it is abandoned", () => world.due() === 0);
      await world.shop.stop();
      assert.deepEqual(world.warnings, [`${event.id}: abandoned after 50 retries: shut`]);
      assert.equal(calls, 51);
      assert.deepEqual(
        delays.map(([retries]) => retries),
        Array.from({ length: 50 }, (_, nth) => nth + 1),
      );
      const delaysMs = delays.map(([, afterMs]) => afterMs);
      assert.deepEqual(delaysMs.slice(8, 12), [256_000, 512_000, 600_000, 600_000]);
      const hours = delaysMs.reduce((sum, ms) => sum + ms) / 3_600_000;
      assert.ok(hours > 6.9 && hours < 7, `${hours} hours`);
    });
  },
  onPostgres,
);

describe("two servers of one shop", () => {
  test("create one address per order, and deliver each order once", async () => {
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
