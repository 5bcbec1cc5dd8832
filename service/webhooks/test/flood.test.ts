// 24 accounts with 240 endpoints that answer well, and then hang in all the places they can get.
// A delivery of these tests is answered when the test says so, by a clock of its own, which each
// turn of the loops that deliver moves on.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openStore } from "../../roles/open-store.ts";
import type { Store } from "../../store/store.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { onePool } from "../../testing/webhooks/one-pool.ts";
import { addHook, happen, newAccount, pileUp } from "../../testing/webhooks/world.ts";
import { startDelivery } from "../deliver.ts";
import { threeLanes } from "../lanes.ts";
import type { Sent } from "../send.ts";

const taken: Sent = { status: 200, answer: "", latencyMs: 1, retryAfterSeconds: null };
const control = { skip: process.env.TESTS !== "long" && "npm run test:long" };
const accountsCount = 24;
/** By the test's clock: five times what 20 took. A request that hangs would end after 5,000. */
const boundMs = 500;

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`endpoints of strangers that flip, on ${dialect}`, () => {
    let directory: string;
    let postgres: TestPostgres | undefined;
    let store: Store;
    let nowMs = 1_790_000_000_000;

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "flood-"));
      postgres = dialect === "postgres" ? await startPostgres() : undefined;
      store = await openStore({ dataDirectory: directory, databaseUrl: postgres?.url });
      const strangers = { accounts: accountsCount, endpoints: 10, events: 20 };
      await pileUp(
        store,
        strangers,
        (a, e) => `http://flips-${a}-${e}.example/`,
        () => nowMs++,
      );
    });
    after(async () => {
      await store.close();
      await postgres?.stop();
      rmSync(directory, { recursive: true });
    });

    /**
     * Has an honest endpoint's 20 events happen when so many requests hang.
     *
     * @returns how many of them were sent within the bound
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
      for (let told = 0; told < 20; told++) await happen(store, honest, {}, nowMs++);
      const fromMs = nowMs;
      const sent = () => served.get("honest.example") ?? 0;
      while (sent() < 20 && nowMs < fromMs + boundMs) await sleep(1);
      const inTime = sent();
      isOver = true;
      for (const answer of hung) answer();
      await delivery.stop();
      return inTime;
    }

    test("an honest endpoint's 20 are sent while all of 240 hang", async () => {
      assert.equal(await flood(threeLanes.places[0].all / 2), 20);
    });

    test("in one pool without shares and bars they are not", control, async () => {
      await store.db
        .updateTable("webhook_endpoints")
        .set({ lane: 1, streak: 0, barred_until: 0 })
        .execute();
      assert.ok((await flood(onePool.places[1].all, onePool)) < 20);
    });
  });
}
