// Endpoints of strangers against the others': each waits for a turn of theirs, never for all that
// they have piled up. What is sent here is answered when the test says so.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openStore } from "../../store/open.ts";
import type { Store } from "../../store/store.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { addHook, happen, newAccount } from "../../testing/webhooks/world.ts";
import { startDelivery } from "../deliver.ts";
import { replay } from "../deliveries/enqueue.ts";
import { listDeliveries } from "../deliveries/list.ts";
import type { Sent } from "../send.ts";
import { readSigningKey } from "../sign.ts";

type Sending = { host: string; answer(latencyMs: number): void };

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`turns of webhooks, on ${dialect}`, () => {
    let directory: string;
    let postgres: TestPostgres | undefined;
    let store: Store;
    let sendings: Sending[] = [];
    let nowMs = 1_790_000_000_000;
    let stop = async () => {};

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "turns-"));
      if (dialect === "postgres") postgres = await startPostgres();
      store = await openStore({ dataDirectory: directory, databaseUrl: postgres?.url });
    });
    after(async () => {
      await store.close();
      await postgres?.stop();
      rmSync(directory, { recursive: true });
    });
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
          const answer = (latencyMs: number) =>
            resolve({ status: 200, answer: "", latencyMs, retryAfterSeconds: null });
          sendings.push({ host: new URL(url).hostname, answer });
        });
      const { stop: end } = startDelivery({
        ...{ store, send, now: () => nowMs++, random: () => 0.5, pollMs: 1 },
        ...{ key: await readSigningKey(store.db), log: pino({ level: "silent" }) },
      });
      stop = end;
    };
    /** Endpoints that have taken something before, each of them with so many events to be told. */
    const pileUp = async (accounts: number, endpoints: number, events: number) => {
      for (let a = 0; a < accounts; a++) {
        const account = await newAccount(store);
        const began = nowMs;
        for (let told = 0; told < events; told++) await happen(store, account, {}, nowMs++);
        for (let e = 0; e < endpoints; e++) {
          const { id } = await addHook(store, account, `http://greedy-${a}-${e}.example/`);
          await replay(store.db, account, id, { fromMs: began, untilMs: nowMs }, nowMs++);
        }
      }
      await store.db.updateTable("webhook_endpoints").set({ is_slow: 0 }).execute();
    };
    const isSlow = async (id: string) => {
      const rows = store.db.selectFrom("webhook_endpoints").select("is_slow").where("id", "=", id);
      return (await rows.executeTakeFirst())?.is_slow === 1;
    };

    test("one that was served comes after all that wait since before", async () => {
      await pileUp(10, 4, 16);
      await start();
      const places = 128;
      await until(() => sendings.length === places);
      // Each of them has its turn; then somebody else has one event.
      for (let answered = 0; answered < 60; answered++) sendings[answered]!.answer(1);
      await until(() => sendings.length === places + 60);
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await store.db
        .updateTable("webhook_endpoints")
        .set({ is_slow: 0 })
        .where("id", "=", id)
        .execute();
      await happen(store, account, {}, nowMs++);
      const before = sendings.length;
      const isServed = () => sendings.some(({ host }) => host === "modest.example");
      for (let answered = 60; answered < 400 && !isServed(); answered++) {
        sendings[answered]!.answer(1);
        await until(() => sendings.length > answered + places);
      }
      assert.ok(isServed(), "the others have more");
      // At most a turn of each of the 40, with four places each.
      assert.ok(sendings.length - before <= 40 * 4, `${sendings.length - before}`);
    });

    test("an account has an eighth of the places at most", async () => {
      await pileUp(1, 10, 20);
      await start();
      await until(() => sendings.length === 16);
      const other = await newAccount(store);
      const { id } = await addHook(store, other, "http://modest.example/");
      await happen(store, other, {}, nowMs++);
      await until(async () => {
        sendings.find(({ host }) => host === "modest.example")?.answer(1);
        return (await listDeliveries(store.db, id, 1))[0]?.state === "delivered";
      });
      assert.equal(sendings.filter(({ host }) => host !== "modest.example").length, 16);
    });

    test("one that takes longer than a second has the places of those that fail", async () => {
      const account = await newAccount(store);
      const { id } = await addHook(store, account, "http://modest.example/");
      await start();
      for (const [latencyMs, slow] of [
        [1_000, false],
        [1_001, true],
        [1, false],
      ] as const) {
        await happen(store, account, {}, nowMs++);
        await until(() => sendings.length === 1);
        sendings.pop()!.answer(latencyMs);
        await until(async () => (await listDeliveries(store.db, id, 1))[0]?.attempts.length);
        assert.equal(await isSlow(id), slow, `${latencyMs} ms`);
      }
    });
  });
}
