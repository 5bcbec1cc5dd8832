// Tests the delivery of webhooks over real connections.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { pruneEvents } from "../events/list.ts";
import type { Store } from "../store/store.ts";
import { type EmptyStore, openEmptyStore } from "../testing/empty-store.ts";
import {
  addHook,
  type Delivery,
  happen,
  newAccount,
  type Reply,
  startReceiver,
} from "../testing/webhooks/world.ts";
import { startDelivery } from "./deliver.ts";
import { addTestDelivery, enqueue, replay } from "./deliveries/enqueue.ts";
import { listDeliveries } from "./deliveries/list.ts";
import { claim, finish } from "./deliveries/queue.ts";
import { attemptsMax } from "./deliveries/retries.ts";
import { findEndpoint, listEndpoints, removeEndpoint, setPaused } from "./endpoints.ts";
import { newLaneState } from "./lanes.ts";
import { sender } from "./send.ts";

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the delivery of webhooks on ${dialect}`, () => {
    let opened: EmptyStore;
    let store: Store;
    let aheadMs = 0;
    let stops: (() => unknown)[] = [];

    before(async () => {
      opened = await openEmptyStore(dialect);
      store = opened.store;
    });
    after(() => opened.stop());
    beforeEach(() => {
      aheadMs = 0;
    });
    afterEach(async () => {
      for (const stop of stops.toReversed()) await stop();
      stops = [];
      const { db } = store;
      for (const table of ["webhook_attempts", "webhook_deliveries", "webhook_endpoints"] as const)
        await db.deleteFrom(table).execute();
    });

    const now = () => Date.now() + aheadMs;
    const start = () => {
      const log = pino({ level: "silent" });
      const parts = { store, now, random: () => 0.5, pollMs: 10, log };
      const delivery = startDelivery({ ...parts, send: sender("any", 500) });
      stops.push(() => delivery.stop());
    };
    const receive = async (answer?: (delivery: Delivery) => Reply) => {
      const receiver = await startReceiver(answer);
      stops.push(() => receiver.close());
      return receiver;
    };
    const until = async (isSo: () => unknown) => {
      while (!(await isSo())) await sleep(5);
    };
    const deliveries = (endpointId: string) => listDeliveries(store.db, endpointId, 100);
    const isDone = async (endpointId: string) =>
      (await deliveries(endpointId)).every(
        ({ state }) => state === "delivered" || state === "failed",
      );

    test("sends only events of the endpoint's account and of subscribed types", async () => {
      const receiver = await receive();
      const [mine, other] = [await newAccount(store), await newAccount(store)];
      const hook = await addHook(store, mine, receiver.url, ["address.executed"]);
      await happen(store, other, { type: "address.executed" });
      await happen(store, mine, { type: "address.funded" });
      await setPaused(store.db, mine, hook.id, true, { atMs: now() });
      await happen(store, mine, { type: "address.executed" });
      await setPaused(store.db, mine, hook.id, false, { atMs: now() });
      const wanted = await happen(store, mine, { type: "address.executed" });
      start();
      await until(() => receiver.taken.length > 0 && isDone(hook.id));
      assert.deepEqual(
        receiver.taken.map(({ headers }) => headers["webhook-id"]),
        [wanted],
      );
    });

    test("after a failure, delays only the later events of the same address", async () => {
      const failing = new Set<string>();
      const receiver = await receive(({ headers }) =>
        failing.has(String(headers["webhook-id"])) ? { status: 500 } : { status: 200 },
      );
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url);
      const address = randomBytes(20);
      const ids: string[] = [];
      for (let sequence = 1; sequence <= 3; sequence++) {
        ids.push(await happen(store, account, { address, sequence }));
      }
      failing.add(ids[0]!);
      const elsewhere = await happen(store, account);
      start();
      await until(() => receiver.taken.some(({ headers }) => headers["webhook-id"] === elsewhere));
      await until(async () => (await deliveries(hook.id)).at(-1)?.attempts.length === 1);
      const of = (id: string) =>
        receiver.taken.filter(({ headers }) => headers["webhook-id"] === id);
      assert.deepEqual(
        ids.map((id) => of(id).length),
        [1, 0, 0],
      );
      failing.clear();
      aheadMs = 6_000;
      await until(() => isDone(hook.id));
      const order = receiver.taken.map(({ headers }) => headers["webhook-id"]);
      assert.deepEqual(
        order.filter((id) => id !== elsewhere),
        [ids[0], ...ids],
      );
    });

    test("sends the events of an address in order even if one commit created them", async () => {
      const receiver = await receive();
      const account = await newAccount(store);
      const all = await addHook(store, account, `${receiver.url}/all`);
      const some = await addHook(store, account, `${receiver.url}/some`, ["address.executed"]);
      const address = randomBytes(20);
      const types = ["address.payment", "address.funded", "address.executed"] as const;
      const events = types.map((type, index) => ({
        ...{ accountId: account, id: `evt_${index}`, type, address, sequence: index + 1 },
      }));
      const rows = events.map(({ accountId: account_id, id, ...event }, position) => ({
        ...{ ...event, account_id, position, id, created_at: now(), body: "{}" },
      }));
      await store.db.insertInto("events").values(rows).execute();
      await store.db.transaction().execute((each) => enqueue(each, events, now()));
      start();
      await until(async () => (await isDone(all.id)) && (await isDone(some.id)));
      const arrivedAt = (path: string) =>
        receiver.taken
          .filter((delivery) => delivery.path === path)
          .map(({ headers }) => headers["webhook-id"]);
      assert.deepEqual(arrivedAt("/all"), ["evt_0", "evt_1", "evt_2"]);
      assert.deepEqual(arrivedAt("/some"), ["evt_2"]);
    });

    test("sends a failing event ten times over about 75 hours, with the same ID", async () => {
      const receiver = await receive(() => ({ status: 500, body: "x".repeat(5000) }));
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url);
      const id = await happen(store, account);
      start();
      const began = now();
      for (let made = 1; made < attemptsMax; made++) {
        await until(async () => (await deliveries(hook.id))[0]?.attempts.length === made);
        const { state } = (await findEndpoint(store.db, account, hook.id))!;
        if (state === "disabled")
          await setPaused(store.db, account, hook.id, false, { atMs: now() });
        const [delivery] = await deliveries(hook.id);
        aheadMs += delivery!.dueAtMs! - now();
      }
      await until(async () => (await deliveries(hook.id))[0]?.state === "failed");
      const hours = (now() - began) / 3_600_000;
      assert.ok(hours > 74 && hours < 77, `${hours}`);
      assert.deepEqual(
        new Set(receiver.taken.map(({ headers }) => headers["webhook-id"])),
        new Set([id]),
      );
      const { attempts } = (await deliveries(hook.id))[0]!;
      assert.deepEqual(
        [attempts.length, attempts[0]?.status, attempts[0]?.answer.length],
        [10, 500, 1024],
      );
    });

    test("disables an endpoint after all deliveries have failed for 3 days", async () => {
      const receiver = await receive(() => ({ status: 503 }));
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url);
      await happen(store, account);
      start();
      await until(async () => (await findEndpoint(store.db, account, hook.id))?.failingSinceMs);
      aheadMs = 3 * 86_400_000;
      await until(
        async () => (await findEndpoint(store.db, account, hook.id))?.state === "disabled",
      );
      const [endpoint] = await listEndpoints(store.db, account);
      assert.match(endpoint!.reason!, /3 days/);
    });

    test("disables an endpoint after a 410, and obeys `Retry-After` after a 429", async () => {
      const gone = await receive(() => ({ status: 410 }));
      const busy = await receive(() => ({ status: 429, headers: { "retry-after": "4000" } }));
      const account = await newAccount(store);
      const [a, b] = [
        await addHook(store, account, gone.url),
        await addHook(store, account, busy.url),
      ];
      await happen(store, account);
      start();
      await until(async () => (await findEndpoint(store.db, account, a.id))?.state === "disabled");
      await until(async () => (await deliveries(b.id))[0]?.attempts.length === 1);
      const { dueAtMs } = (await deliveries(b.id))[0]!;
      assert.ok(dueAtMs! - now() > 3_900_000);
      await removeEndpoint(store.db, account, a.id, { atMs: now() });
      assert.equal(await findEndpoint(store.db, account, a.id), undefined);
    });

    test("follows no redirect, and truncates long responses", async () => {
      const other = await receive();
      const answers: Record<string, Reply> = {
        "/redirect": { status: 302, headers: { location: other.url } },
        "/never": "never",
        "/long": { status: 200, body: "x".repeat(1_000_000) },
      };
      const receiver = await receive(({ path }) => answers[path]!);
      const account = await newAccount(store);
      for (const path of Object.keys(answers)) await addHook(store, account, receiver.url + path);
      await happen(store, account);
      start();
      const found = new Map<string, number | null | undefined>();
      for (const { id, url } of await listEndpoints(store.db, account)) {
        await until(async () => (await deliveries(id))[0]?.attempts.length);
        const [attempt] = (await deliveries(id))[0]!.attempts;
        found.set(new URL(url).pathname, attempt?.status);
        assert.ok(attempt!.answer.length <= 1024);
      }
      assert.deepEqual(Object.fromEntries(found), {
        "/redirect": 302,
        "/never": null,
        "/long": 200,
      });
      assert.equal(other.taken.length, 0);
    });

    test("continues despite a NUL byte in a response and despite an invalid URL", async () => {
      const unkept = Buffer.from("a\0b\u001b[2J\xff", "latin1");
      const bad = await receive(() => ({ status: 500, body: unkept }));
      const good = await receive();
      const account = await newAccount(store);
      const hooks = [];
      for (const { url } of [bad, good, bad])
        hooks.push(await addHook(store, account, `${url}/${hooks.length}`));
      const [poison, taken, nowhere] = hooks.map(({ id }) => id);
      const row = store.db.updateTable("webhook_endpoints").where("id", "=", nowhere!);
      await row.set({ url: "nowhere" }).execute();
      await happen(store, account);
      start();
      const first = async (id: string) => (await deliveries(id))[0]!;
      for (const id of hooks.map(({ id }) => id))
        await until(async () => (await first(id)).attempts.length);
      assert.equal((await first(taken!)).state, "delivered");
      assert.equal((await first(nowhere!)).attempts[0]!.status, null);
      const { status, answer } = (await first(poison!)).attempts[0]!;
      assert.deepEqual([status, answer], [500, "a b [2J\ufffd"]);
      const delivery_id = (await first(poison!)).id;
      const values = { delivery_id, number: 2, at: 1, status, latency_ms: 1 };
      const raw = { ...values, answer: unkept.toString("utf8") };
      const kept = store.db.insertInto("webhook_attempts").values(raw).execute();
      if (dialect === "postgres") await assert.rejects(kept, "the control");
      else await kept;
    });

    test("uses the same number of SQL statements for 64 deliveries as for one", async () => {
      let statements = 0;
      const counted = store.db.withPlugin({
        transformQuery: ({ node }) => node,
        async transformResult({ result }) {
          statements++;
          return result;
        },
      });
      const endpoints: { id: string; accountId: string; room: number }[] = [];
      while (endpoints.length < 65) {
        const accountId = await newAccount(store);
        for (let e = 0; e < 5; e++) {
          const { id } = await addHook(store, accountId, `http://many-${e}.example/`);
          endpoints.push({ id, accountId, room: 1 });
        }
        await happen(store, accountId, {}, now());
      }
      const sent = { status: 200, answer: "", latencyMs: 1, retryAfterSeconds: null };
      const run = async (some: typeof endpoints) => {
        statements = 0;
        const claims = await claim(counted, some, now());
        assert.equal(claims.length, some.length);
        const each = claims.map((one) => ({ claim: one, sent, nowMs: now() }));
        const again = each.map(() => "dropped");
        const twice = [...each, ...each.map((one) => ({ ...one }))];
        const outcomes = await finish(counted, twice, () => 0.5);
        assert.deepEqual(outcomes, [...each.map(() => "delivered"), ...again]);
        assert.deepEqual(await finish(counted, each, () => 0.5), again);
        return statements;
      };
      assert.equal(await run(endpoints.slice(0, 1)), await run(endpoints.slice(1)));
    });

    const done = (replayed: number) => ({ replayed, nextMs: null });

    test("replays at most 1,000 events, and returns the time at which to continue", async () => {
      const receiver = await startReceiver();
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url, ["address.surplus"]);
      const began = now();
      for (let before = 0; before < 1_200; before++)
        await happen(store, account, {}, began + before);
      const whole = { fromMs: began, untilMs: began + 1_200 };
      const first = await replay(store.db, account, hook.id, whole, now());
      assert.deepEqual(first, { replayed: 1_000, nextMs: began + 1_000 });
      const rest = { ...whole, fromMs: first.nextMs! };
      assert.deepEqual(await replay(store.db, account, hook.id, rest, now()), done(200));
      await receiver.close();
    });

    test("sends test events, and replays events with the same ID", async () => {
      const receiver = await receive();
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url);
      start();
      await addTestDelivery(store.db, hook.id, now());
      const id = await happen(store, account);
      await until(() => receiver.taken.length === 2);
      assert.deepEqual(await replay(store.db, account, hook.id, { eventId: id }, now()), done(1));
      const other = await newAccount(store);
      assert.deepEqual(await replay(store.db, other, hook.id, { eventId: id }, now()), done(0));
      const range = { fromMs: now() - 60_000, untilMs: now() + 1 };
      assert.deepEqual(await replay(store.db, account, hook.id, range, now()), done(1));
      await until(() => receiver.taken.length === 4);
      const ids = receiver.taken.map(({ headers }) => headers["webhook-id"]);
      assert.equal(ids.filter((each) => each === id).length, 3);
    });

    test("ends a delivery as failed, and sends nothing, if its event was deleted", async () => {
      const receiver = await receive();
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url);
      const address = randomBytes(20);
      const lost = await happen(store, account, { address, sequence: 1 });
      await replay(store.db, account, hook.id, { eventId: lost }, now());
      const held = await happen(store, account, { address, sequence: 2 });
      await store.db.updateTable("events").set({ created_at: 0 }).where("id", "=", lost).execute();
      await pruneEvents(store.db, now());
      start();
      await until(() => isDone(hook.id));
      assert.deepEqual(
        receiver.taken.map(({ headers }) => headers["webhook-id"]),
        [held],
      );
      const failed = (await deliveries(hook.id)).filter(({ eventId }) => eventId === lost);
      const answer = "not sent, because the event was deleted after 30 days";
      for (const { state, attempts } of failed) {
        assert.equal(state, "failed");
        const found = attempts.map(({ status, answer }) => ({ status, answer }));
        assert.deepEqual(found, [{ status: null, answer }]);
      }
      assert.equal(failed.length, 2);
      assert.equal((await findEndpoint(store.db, account, hook.id))?.state, "active");
      const endpoint = store.db.selectFrom("webhook_endpoints").select(["lane", "failing_since"]);
      const row = await endpoint.where("id", "=", hook.id).executeTakeFirst();
      assert.deepEqual(row, { lane: newLaneState.lane, failing_since: null });
    });

    test("drops the result of a delivery whose endpoint was removed meanwhile", async () => {
      const account = await newAccount(store);
      const hook = await addHook(store, account, "http://removed.example/");
      await happen(store, account);
      const claims = await claim(store.db, [{ ...hook, accountId: account, room: 1 }], now());
      await removeEndpoint(store.db, account, hook.id, { atMs: now() });
      const sent = { status: 500, answer: "", latencyMs: 1, retryAfterSeconds: null };
      const results = claims.map((one) => ({ claim: one, sent, nowMs: now() }));
      assert.deepEqual(await finish(store.db, results, () => 0.5), ["dropped"]);
    });

    test("sends each address's events in order even if two instances run", async () => {
      const receiver = await receive();
      const account = await newAccount(store);
      const hook = await addHook(store, account, receiver.url);
      start();
      start();
      const addresses = Array.from({ length: 5 }, () => randomBytes(20));
      for (let sequence = 1; sequence <= 8; sequence++) {
        for (const address of addresses) await happen(store, account, { address, sequence });
      }
      await until(() => isDone(hook.id));
      const sequences = new Map<string, number[]>();
      for (const { body } of receiver.taken) {
        const { address, sequence } = JSON.parse(body).data;
        sequences.set(address, [...(sequences.get(address) ?? []), sequence]);
      }
      for (const found of sequences.values()) assert.deepEqual(found, [1, 2, 3, 4, 5, 6, 7, 8]);
    });
  });
}
