// Tests deliveries while the 240 endpoints of 24 accounts respond well at first, and then stop
// answering. The test decides when each request is answered. The test's clock advances with each
// iteration of the loops that send deliveries.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { onlyLong } from "../../../scripts/long.ts";
import type { Store } from "../../store/store.ts";
import { type EmptyStore, openEmptyStore } from "../../testing/empty-store.ts";
import { onePool } from "../../testing/webhooks/one-pool.ts";
import { addHook, happen, newAccount, pileUp } from "../../testing/webhooks/world.ts";
import { startDelivery } from "../deliver.ts";
import { threeLanes } from "../lanes.ts";
import type { Sent } from "../send.ts";

const taken: Sent = { status: 200, answer: "", latencyMs: 1, retryAfterSeconds: null };
const accountsCount = 24;
/**
 * The time limit for 20 events, in milliseconds of the test's clock. The delivery of 20 events
 * normally takes 100 ms. On a busy machine, the delivery takes longer, because the clock advances
 * while the database works. A real request times out after 5,000 ms.
 */
const boundMs = 2500;

for (const dialect of ["sqlite", "postgres"] as const) {
  const options = dialect === "postgres" ? {} : onlyLong;
  describe(`240 webhook endpoints that stop answering, on ${dialect}`, options, () => {
    let opened: EmptyStore;
    let store: Store;
    let nowMs = 1_790_000_000_000;

    before(async () => {
      opened = await openEmptyStore(dialect);
      store = opened.store;
      const strangers = { accounts: accountsCount, endpoints: 10, events: 20 };
      await pileUp(
        store,
        strangers,
        (a, e) => `http://flips-${a}-${e}.example/`,
        () => nowMs++,
      );
    });
    after(() => opened.stop());

    /**
     * Waits until `hangingMin` requests hang. Then creates 20 events for an endpoint that responds
     * well.
     *
     * @returns the number of these events that were sent within the limit
     */
    async function flood(hangingMin: number, rule = threeLanes) {
      const hung: (() => void)[] = [];
      const served = new Map<string, number>();
      let isOver = false;
      const send = (url: string) => {
        const { hostname } = new URL(url);
        const nth = (served.get(hostname) ?? 0) + 1;
        served.set(hostname, nth);
        if (isOver || hostname === "honest.example" || nth <= 3) return Promise.resolve(taken);
        return new Promise<Sent>((resolve) => hung.push(() => resolve(taken)));
      };
      const honest = await newAccount(store);
      await addHook(store, honest, "http://honest.example/");
      const delivery = startDelivery(
        {
          ...{ store, send, now: () => nowMs++, random: () => 0.5, pollMs: 1 },
          ...{ log: pino({ level: "silent" }) },
        },
        rule,
      );
      while (hung.length < hangingMin) await sleep(1);
      for (let index = 0; index < 20; index++) await happen(store, honest, {}, nowMs++);
      const fromMs = nowMs;
      const sent = () => served.get("honest.example") ?? 0;
      while (sent() < 20 && nowMs < fromMs + boundMs) await sleep(1);
      const inTime = sent();
      isOver = true;
      for (const answer of hung) answer();
      await delivery.stop();
      return inTime;
    }

    test("do not delay the 20 events of another endpoint", async () => {
      assert.equal(await flood(threeLanes.slots[0].all / 2), 20);
    });

    test(
      "control: the 240 endpoints delay some events if all endpoints share one pool of slots",
      onlyLong,
      async () => {
        await store.db
          .updateTable("webhook_endpoints")
          .set({ lane: 1, streak: 0, barred_until: 0 })
          .execute();
        assert.ok((await flood(onePool.slots[1].all, onePool)) < 20);
      },
    );
  });
}
