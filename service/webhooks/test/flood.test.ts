// 24 accounts with 240 endpoints that answer well, and then hang in all the places they can get.
// A delivery of these tests is answered when the test says so, by a clock of its own.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { openStore } from "../../store/open.ts";
import { startPostgres } from "../../testing/postgres.ts";
import { addHook, happen, newAccount, pileUp } from "../../testing/webhooks/world.ts";
import { startDelivery } from "../deliver.ts";
import { places } from "../lanes.ts";
import type { Sent } from "../send.ts";

const taken: Sent = { status: 200, answer: "", latencyMs: 1, retryAfterSeconds: null };
const accountsCount = 24;

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`endpoints of strangers that flip, on ${dialect}`, () => {
    test("an honest endpoint's 20 are delivered while all of 240 hang", async () => {
      const directory = mkdtempSync(join(tmpdir(), "flood-"));
      const postgres = dialect === "postgres" ? await startPostgres() : undefined;
      const store = await openStore({ dataDirectory: directory, databaseUrl: postgres?.url });
      let nowMs = 1_790_000_000_000;
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
      const strangers = { accounts: accountsCount, endpoints: 10, events: 20 };
      await pileUp(
        store,
        strangers,
        (a, e) => `http://flips-${a}-${e}.example/`,
        () => nowMs++,
      );
      const delivery = startDelivery({
        ...{ store, send, now: () => nowMs++, random: () => 0.5, pollMs: 1 },
        ...{ log: pino({ level: "silent" }) },
      });
      while (hung.length < places[0].all / 2) await sleep(1);
      for (let told = 0; told < 20; told++) await happen(store, honest, {}, nowMs++);
      while ((served.get("honest.example") ?? 0) < 20) await sleep(1);
      isOver = true;
      for (const answer of hung) answer();
      await delivery.stop();
      await store.close();
      await postgres?.stop();
      rmSync(directory, { recursive: true });
      assert.ok(hung.length >= accountsCount, `${hung.length} requests hung`);
    });
  });
}
