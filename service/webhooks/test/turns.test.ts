// Tests the turns of endpoints. While an endpoint waits, every other endpoint gets at most one
// turn, regardless of its backlog. The test decides when each request is answered.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import type { Store } from "../../store/store.ts";
import { type EmptyStore, openEmptyStore } from "../../testing/empty-store.ts";
import { addHook, happen, newAccount, pileUp } from "../../testing/webhooks/world.ts";
import { startDelivery } from "../deliver.ts";
import { listDeliveries } from "../deliveries/list.ts";
import { setPaused } from "../endpoints.ts";
import type { Sent } from "../send.ts";

type Sending = { host: string; answer(latencyMs: number, status?: number): void };

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the sender of webhooks on ${dialect}`, () => {
    let opened: EmptyStore;
    let store: Store;
    let sendings: Sending[] = [];
    let nowMs = 1_790_000_000_000;
    let stop = async () => {};

    before(async () => {
      opened = await openEmptyStore(dialect);
      store = opened.store;
    });
    after(() => opened.stop());
    afterEach(async () => {
      const stopped = stop();
      await until(async () => {
        for (const { answer } of sendings) answer(1);
        return Promise.race([stopped.then(() => true), sleep(1, false)]);
      });
      sendings = [];
      for (const table of ["webhook_deliveries", "webhook_endpoints"] as const)
        await store.db.deleteFrom(table).execute();
    });

    const until = async (isSo: () => unknown) => {
      while (!(await isSo())) await sleep(1);
    };
    const start = async () => {
      const send = (url: string) =>
        new Promise<Sent>((resolve) => {
          const answer = (latencyMs: number, status = 200) =>
            resolve({
              status,
              answer: "",
              latencyMs,
              retryAfterSeconds: status === 200 ? null : 3_600,
            });
          sendings.push({ host: new URL(url).hostname, answer });
        });
      const { stop: end } = startDelivery({
        ...{ store, send, now: () => nowMs++, random: () => 0.5, pollMs: 1 },
        ...{ log: pino({ level: "silent" }) },
      });
      stop = end;
    };
    /** Creates endpoints in the fast lane. Each endpoint has `events` waiting deliveries. */
    const pileUpGreedy = async (accounts: number, endpoints: number, events: number) => {
      const sizes = { accounts, endpoints, events };
      await pileUp(
        store,
        sizes,
        (a, e) => `http://greedy-${a}-${e}.example/`,
        () => nowMs++,
      );
      await earnFastLane();
    };
    const earnFastLane = (id?: string) =>
      store.db
        .updateTable("webhook_endpoints")
        .set({ lane: 0 })
        .$if(id !== undefined, (update) => update.where("id", "=", id!))
        .execute();
    const laneOf = async (id: string) => {
      const rows = store.db.selectFrom("webhook_endpoints").select("lane").where("id", "=", id);
      return (await rows.executeTakeFirst())?.lane;
    };

    test("serves every waiting endpoint before it serves an endpoint again", async () => {
      await pileUpGreedy(10, 4, 40);
      await start();
      let answered = 0;
      const isServed = () => sendings.some(({ host }) => host === "modest.example");
      const answerOne = async () => {
        await until(() => sendings.length > answered);
        sendings[answered++]!.answer(1);
      };
      // After 200 answers, each endpoint has had its turn. Then an event for another account is
      // created.
      while (answered < 200) await answerOne();
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await earnFastLane(id);
      await happen(store, account, {}, nowMs++);
      const before = sendings.length;
      while (answered < 800 && !isServed()) await answerOne();
      assert.ok(isServed(), "the others have more");
      // Before the new endpoint's turn, each of the 40 other endpoints has at most one turn. A turn
      // sends at most four requests.
      assert.ok(sendings.length - before <= 40 * 4, `${sendings.length - before}`);
    });

    test("gives an account at most a ninth of the slots", async () => {
      await pileUpGreedy(1, 10, 20);
      await store.db.updateTable("webhook_endpoints").set({ lane: 2 }).execute();
      await start();
      await until(() => sendings.length === 8);
      const other = await newAccount(store);
      const { id } = await addHook(store, other, "http://modest.example/");
      await happen(store, other, {}, nowMs++);
      await store.db.updateTable("webhook_endpoints").set({ lane: 2 }).execute();
      await until(async () => {
        sendings.find(({ host }) => host === "modest.example")?.answer(1);
        return (await listDeliveries(store.db, id, 1))[0]?.state === "delivered";
      });
      assert.equal(sendings.filter(({ host }) => host !== "modest.example").length, 8);
    });

    test("moves an endpoint to the fast lane after three fast responses", async () => {
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await start();
      const laneAfter = async (latencyMs: number, status = 200) => {
        await happen(store, account, {}, nowMs++);
        await until(() => sendings.length === 1);
        sendings.pop()!.answer(latencyMs, status);
        await until(async () => (await listDeliveries(store.db, id, 1))[0]?.attempts.length);
        return laneOf(id);
      };
      assert.deepEqual([await laneAfter(1_000), await laneAfter(1), await laneAfter(1)], [1, 1, 0]);
      assert.deepEqual(
        [await laneAfter(1_001), await laneAfter(1), await laneAfter(1), await laneAfter(1)],
        [1, 1, 1, 1],
      );
      nowMs += 300_000;
      assert.deepEqual(
        [await laneAfter(1), await laneAfter(1, 500), await laneAfter(1)],
        [0, 2, 1],
      );
    });

    const refuse = async (events: number, account: string, id: string) => {
      for (let failed = 1; failed <= events; failed++) {
        await happen(store, account, {}, nowMs++);
        await until(() => sendings.length === 1);
        sendings.pop()!.answer(1, 500);
        await until(async () => {
          const tried = (await listDeliveries(store.db, id, 10)).filter((one) => one.attempts[0]);
          return tried.length === failed;
        });
      }
    };
    const allTaken = async (events: number, id: string) => {
      for (let answered = 0; answered < events; answered++) {
        await until(() => sendings.length === 1);
        sendings.pop()!.answer(1);
      }
      await until(async () =>
        (await listDeliveries(store.db, id, 10)).every(({ state }) => state === "delivered"),
      );
    };

    test("sends an endpoint's delayed events in order after the first success", async () => {
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await start();
      await refuse(5, account, id);
      await happen(store, account, {}, nowMs++);
      await allTaken(6, id);
      const found = await listDeliveries(store.db, id, 10);
      const taken = found.map(({ attempts }) => attempts.at(-1)!.atMs);
      // The newest delivery is the first in the list. Its success ended the outage. After the
      // outage, the endpoint received the other deliveries, oldest first.
      assert.deepEqual(
        taken.slice(1).toSorted((a, b) => b - a),
        taken.slice(1),
      );
    });

    test("sends delayed events immediately after an endpoint is resumed", async () => {
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await start();
      await refuse(3, account, id);
      await setPaused(store.db, account, id, true, { atMs: nowMs++ });
      await setPaused(store.db, account, id, false, { atMs: nowMs++ });
      await allTaken(3, id);
    });

    test("does not retry a failed event early after later events succeed", async () => {
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await start();
      for (const status of [200, 500, 200, 200]) {
        await happen(store, account, {}, nowMs++);
        await until(() => sendings.length === 1);
        sendings.pop()!.answer(1, status);
        await until(async () => (await listDeliveries(store.db, id, 1))[0]?.attempts.length);
      }
      const refused = (await listDeliveries(store.db, id, 4)).find(
        ({ state }) => state === "waiting",
      );
      assert.ok(refused!.dueAtMs! > nowMs + 3_000);
    });
  });
}
