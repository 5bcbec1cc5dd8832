// The promises of a store, kept by each that the kit has. A shop's own can be put to them too.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, describe, test } from "node:test";
import { startPostgres, type TestPostgres } from "../../service/testing/postgres.ts";
import type { ServiceEvent } from "../client/client.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { postgresStore, type ShopOrder, type ShopStore, sqliteStore } from "./shop.ts";

const newAddress = (): Hex => `0x${randomBytes(20).toString("hex").toUpperCase()}`;

/** What a store reads of an event. */
const eventAt = (address: Hex): ServiceEvent =>
  ({ id: `evt_${randomBytes(8).toString("hex")}`, data: { address } }) as ServiceEvent;

const orderAt = (address: Hex, given: Partial<ShopOrder> = {}): ShopOrder => ({
  reference: `order-${randomBytes(4).toString("hex")}`,
  record: { address } as AddressRecord,
  ...{ state: "made", returned: {}, deliveredFor: null, isRestored: false },
  ...given,
});

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`a shop's store, on ${dialect}`, () => {
    let postgres: TestPostgres;
    let directory: string;
    let database: string;
    let store: ShopStore;

    /** The store as a process opens it. */
    const open = async () =>
      dialect === "postgres"
        ? postgresStore(postgres.newPool(database))
        : sqliteStore(new DatabaseSync(database));

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "shop-"));
      if (dialect === "postgres") postgres = await startPostgres();
    });
    after(async () => {
      await postgres?.stop();
      rmSync(directory, { recursive: true });
    });
    beforeEach(async () => {
      const name = randomBytes(4).toString("hex");
      database = dialect === "postgres" ? await postgres.newDatabase() : join(directory, name);
      store = await open();
    });

    const claimedId = async (nowMs: number, untilMs = nowMs, by = store) =>
      (await by.claimEvent(nowMs, untilMs))?.event.id;

    test("an order is found by its reference and by its address in any letter case", async () => {
      const address = newAddress();
      const order = orderAt(address);
      await store.saveOrder(order);
      const lower = address.toLowerCase() as Hex;
      assert.deepEqual(await store.findByAddress(lower), order);
      assert.deepEqual(await store.findByReference(order.reference), order);
      assert.equal(await store.findByReference("order"), undefined);
      assert.equal(await store.findByAddress(newAddress()), undefined);
    });

    test("saved again it takes its own place, and no other order's address", async () => {
      const order = orderAt(newAddress());
      await store.saveOrder(order);
      const open = { ...order, state: "open" as const, returned: { "0x01": "7" } };
      assert.deepEqual(await store.findMade(), [order]);
      await store.saveOrder(open);
      assert.deepEqual(await store.findByReference(order.reference), open);
      assert.deepEqual(await store.findMade(), []);
      const thief = orderAt(order.record.address);
      await assert.rejects(async () => store.saveOrder(thief));
      assert.deepEqual(await store.findByAddress(order.record.address), open);
    });

    test("an event is kept once, whatever came of it", async () => {
      const event = eventAt(newAddress());
      await store.keepEvents([event, event]);
      await store.keepEvents([event]);
      assert.deepEqual(await store.claimEvent(1, 2), { event, attempts: 0 });
      assert.equal(await claimedId(1), undefined);
      await store.endEvent(event.id);
      await store.keepEvents([event]);
      assert.equal(await claimedId(1_000), undefined);
    });

    test("events and their cursor are kept together, or neither", async () => {
      assert.equal(await store.cursor(), undefined);
      const [first, second] = [eventAt(newAddress()), eventAt(newAddress())];
      await store.keepEvents([first], "5");
      await store.keepEvents([second]);
      assert.equal(await store.cursor(), "5");
      const broken = { ...eventAt(newAddress()), id: null as unknown as string };
      await assert.rejects(async () => store.keepEvents([eventAt(newAddress()), broken], "9"));
      assert.equal(await store.cursor(), "5");
      assert.equal(await claimedId(0, 1), first.id);
      assert.equal(await claimedId(0, 1), second.id);
      assert.equal(await claimedId(0, 1), undefined);
    });

    test("the longest due comes first, and of one address one at a time", async () => {
      const [one, other] = [newAddress(), newAddress()];
      const events = [eventAt(one), eventAt(one.toLowerCase() as Hex), eventAt(other)];
      await store.keepEvents(events);
      const [first, behind, beside] = events.map(({ id }) => id);
      assert.equal(await claimedId(10, 20), first);
      assert.equal(await claimedId(10, 20), beside);
      assert.equal(await claimedId(10, 20), undefined, "the address of the first is claimed");
      await store.delayEvent(first!, 1, 50);
      assert.equal(await claimedId(10, 20), behind);
      await store.endEvent(behind!);
      assert.equal(await claimedId(49, 60), beside, "its claim is over");
      assert.equal(await claimedId(49, 60), undefined);
      assert.deepEqual(await store.claimEvent(50, 60), { event: events[0], attempts: 1 });
    });

    test("a thousand events of one address hide no other's", async () => {
      const many = newAddress();
      await store.keepEvents(Array.from({ length: 1_000 }, () => eventAt(many)));
      const other = eventAt(newAddress());
      await store.keepEvents([other]);
      assert.notEqual(await claimedId(1, 2), other.id);
      assert.equal(await claimedId(1, 2), other.id);
    });

    test("who claim at once get an event each, every event once", async () => {
      const events = Array.from({ length: 20 }, () => eventAt(newAddress()));
      await store.keepEvents(events);
      const servers = dialect === "postgres" ? [store, await open(), await open()] : [store, store];
      const claimed: string[] = [];
      const work = async (server: ShopStore) => {
        for (let id: string | undefined; ; ) {
          id = await claimedId(1, 1_000, server);
          if (id === undefined) return;
          claimed.push(id);
        }
      };
      await Promise.all([...servers, ...servers].map(work));
      assert.deepEqual(claimed.toSorted(), events.map(({ id }) => id).toSorted());
    });

    test("what a server had claimed when it crashed is another's", async () => {
      const event = eventAt(newAddress());
      await store.keepEvents([event]);
      assert.equal(await claimedId(1, 1_000), event.id);
      const next = await open();
      // A row outlives the process that wrote it; the claims of SQLite are the process's own.
      if (dialect === "postgres") assert.equal(await claimedId(999, 2_000, next), undefined);
      assert.equal(await claimedId(1_000, 2_000, next), event.id);
    });

    test("servers that start at once make the tables once", async () => {
      const stores = await Promise.all([open(), open(), open()]);
      for (const one of stores) await one.keepEvents([eventAt(newAddress())]);
    });
  });
}
