// Tests that each store of the kit keeps the guarantees of `ShopStore`. You can run these tests
// with your own store.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, beforeEach, describe, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import type { ServiceEvent } from "executable-address/client";
import { startPostgres, type TestPostgres } from "../service/testing/postgres.ts";
import { postgresStore, type ShopOrder, type ShopStore, sqliteStore } from "./shop.ts";

const newAddress = (): Hex => `0x${randomBytes(20).toString("hex").toUpperCase()}`;

/** Returns an event with only the fields that a store uses. */
const eventAt = (address: Hex): ServiceEvent =>
  ({ id: `evt_${randomBytes(8).toString("hex")}`, data: { address } }) as ServiceEvent;

const orderAt = (address: Hex, given: Partial<ShopOrder> = {}): ShopOrder => ({
  reference: `order-${randomBytes(4).toString("hex")}`,
  record: { address } as AddressRecord,
  ...{ state: "made", returned: {}, deliveredFor: null, isRestored: false, version: 0 },
  ...given,
});

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the shop's database, on ${dialect}`, () => {
    let postgres: TestPostgres;
    let directory: string;
    let database: string;
    let store: ShopStore;

    /** Opens the store as a separate process would. */
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

    const hourMs = 3_600_000;
    const claimedId = async (forMs: number, by = store) => (await by.claimEvent(forMs))?.event.id;

    test("the store finds an order by its reference or address", async () => {
      const address = newAddress();
      const order = await store.saveOrder(orderAt(address));
      assert.ok(order);
      const lower = address.toLowerCase() as Hex;
      assert.deepEqual(await store.findByAddress(lower), order);
      assert.deepEqual(await store.findByReference(order.reference), order);
      assert.equal(await store.findByReference("order"), undefined);
      assert.equal(await store.findByAddress(newAddress()), undefined);
    });

    test("saving an order again replaces the stored order", async () => {
      const order = (await store.saveOrder(orderAt(newAddress())))!;
      assert.equal(order.version, 1);
      assert.deepEqual(await store.findMade(), [order]);
      const change = { state: "open" as const, returned: { "0x01": "7" } };
      const open = (await store.saveOrder({ ...order, ...change }))!;
      assert.deepEqual(open, { ...order, ...change, version: 2 });
      assert.deepEqual(await store.findByReference(order.reference), open);
      assert.deepEqual(await store.findMade(), []);
      const thief = orderAt(order.record.address);
      await assert.rejects(async () => store.saveOrder(thief));
      assert.deepEqual(await store.findByAddress(order.record.address), open);
    });

    test("saving an outdated version of an order returns undefined", async () => {
      const read = (await store.saveOrder(orderAt(newAddress())))!;
      const { reference } = read;
      const paid = await store.saveOrder({ ...read, state: "executed", deliveredFor: "0x01" });
      assert.equal(await store.saveOrder({ ...read, state: "open" }), undefined);
      assert.equal(await store.saveOrder(orderAt(newAddress(), { reference })), undefined);
      assert.equal(await store.saveOrder(orderAt(newAddress(), { version: 1 })), undefined);
      assert.deepEqual(await store.findByReference(reference), paid);
    });

    test("only one of several simultaneous saves succeeds", async () => {
      const servers = dialect === "postgres" ? [store, await open(), await open()] : [store, store];
      const all = [...servers, ...servers];
      const { reference } = orderAt(newAddress());
      const made = await Promise.all(
        all.map((server) => server.saveOrder(orderAt(newAddress(), { reference }))),
      );
      const [order, ...others] = made.filter((each) => each !== undefined);
      assert.deepEqual([await store.findByReference(reference), others], [order, []]);
      const saved = await Promise.all(
        all.map((server, nth) => server.saveOrder({ ...order!, returned: { "0x01": `${nth}` } })),
      );
      const stored = saved.filter((each) => each !== undefined);
      assert.deepEqual(stored, [await store.findByReference(reference)]);
    });

    test("the store ignores an event that is already stored", async () => {
      const event = eventAt(newAddress());
      await store.saveEvents([event, event]);
      await store.saveEvents([event]);
      const { claim, ...stored } = (await store.claimEvent(hourMs))!;
      assert.deepEqual(stored, { event, attempts: 0 });
      assert.equal(await claimedId(0), undefined);
      await store.endEvent(claim);
      await store.saveEvents([event]);
      assert.equal(await claimedId(0), undefined);
    });

    test("the store saves events and their cursor in one transaction", async () => {
      assert.equal(await store.cursor(), undefined);
      const [first, second] = [eventAt(newAddress()), eventAt(newAddress())];
      await store.saveEvents([first], "5");
      await store.saveEvents([second]);
      assert.equal(await store.cursor(), "5");
      const broken = { ...eventAt(newAddress()), id: null as unknown as string };
      await assert.rejects(async () => store.saveEvents([eventAt(newAddress()), broken], "9"));
      assert.equal(await store.cursor(), "5");
      assert.equal(await claimedId(hourMs), first.id);
      assert.equal(await claimedId(hourMs), second.id);
      assert.equal(await claimedId(hourMs), undefined);
    });

    test("the events of an address are claimed in order", async () => {
      const [one, other] = [newAddress(), newAddress()];
      const events = [eventAt(one), eventAt(one.toLowerCase() as Hex), eventAt(other)];
      await store.saveEvents(events);
      const [first, behind, beside] = events.map(({ id }) => id);
      const claimed = (await store.claimEvent(hourMs))!;
      assert.equal(claimed.event.id, first);
      assert.equal(await claimedId(0), beside);
      assert.equal(await claimedId(hourMs), beside, "its claim is over");
      assert.equal(await claimedId(hourMs), undefined, "the address of the first is claimed");
      await store.delayEvent(claimed.claim, 1, 0);
      const next = (await store.claimEvent(hourMs))!;
      assert.equal(next.event.id, behind);
      await store.endEvent(next.claim);
      const { claim, ...again } = (await store.claimEvent(hourMs))!;
      assert.deepEqual(again, { event: events[0], attempts: 1 });
      await store.delayEvent(claim, 2, hourMs);
      assert.equal(await claimedId(hourMs), undefined, "it is not due for an hour");
    });

    test("many events of one address do not delay other addresses", async () => {
      const many = newAddress();
      await store.saveEvents(Array.from({ length: 1_000 }, () => eventAt(many)));
      const other = eventAt(newAddress());
      await store.saveEvents([other]);
      assert.notEqual(await claimedId(hourMs), other.id);
      assert.equal(await claimedId(hourMs), other.id);
    });

    test("two servers cannot claim the same event", async () => {
      const events = Array.from({ length: 20 }, () => eventAt(newAddress()));
      await store.saveEvents(events);
      const servers = dialect === "postgres" ? [store, await open(), await open()] : [store, store];
      const claimed: string[] = [];
      const work = async (server: ShopStore) => {
        for (let id: string | undefined; ; ) {
          id = await claimedId(hourMs, server);
          if (id === undefined) return;
          claimed.push(id);
        }
      };
      await Promise.all([...servers, ...servers].map(work));
      assert.deepEqual(claimed.toSorted(), events.map(({ id }) => id).toSorted());
    });

    test("another server can claim an event after the claim has expired", async () => {
      const event = eventAt(newAddress());
      await store.saveEvents([event]);
      assert.equal(await claimedId(0), event.id);
      const next = await open();
      assert.equal(await claimedId(hourMs, next), event.id);
      // On PostgreSQL, a claim is a row, which remains when the process exits. On SQLite, a claim
      // ends with the process.
      const last = await claimedId(hourMs, await open());
      assert.equal(last, dialect === "postgres" ? undefined : event.id);
    });

    test("a server whose claim expired cannot change the event", async () => {
      const event = eventAt(newAddress());
      await store.saveEvents([event]);
      const late = (await store.claimEvent(0))!;
      const holder = (await store.claimEvent(hourMs))!;
      assert.notEqual(late.claim, holder.claim);
      await store.delayEvent(late.claim, 9, 0);
      await store.endEvent(late.claim);
      assert.equal(await claimedId(hourMs), undefined, "the holder has it");
      await store.delayEvent(holder.claim, 1, 0);
      const { claim, attempts } = (await store.claimEvent(hourMs))!;
      assert.equal(attempts, 1);
      await store.endEvent(claim);
      await store.delayEvent(claim, 2, 0);
      assert.equal(await claimedId(hourMs), undefined, "it has ended for good");
    });

    if (dialect === "postgres")
      test("the end of a claim does not depend on the servers' clocks", async (t) => {
        const [event, delayed] = [eventAt(newAddress()), eventAt(newAddress())];
        await store.saveEvents([event]);
        assert.equal(await claimedId(60_000), event.id);
        await store.saveEvents([delayed]);
        await store.delayEvent((await store.claimEvent(60_000))!.claim, 1, 60_000);
        t.mock.timers.enable({ apis: ["Date"], now: Date.now() + hourMs });
        assert.equal(await claimedId(60_000, await open()), undefined);
      });

    test("several servers can create the tables simultaneously", async () => {
      const stores = await Promise.all([open(), open(), open()]);
      for (const one of stores) await one.saveEvents([eventAt(newAddress())]);
    });
  });
}
