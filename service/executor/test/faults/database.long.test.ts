import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { rounds } from "../../../../scripts/long.ts";
import { openStore } from "../../../roles/open-store.ts";
import type { Store } from "../../../store/store.ts";
import {
  type AnvilWorld,
  fatesOf,
  saveRecords,
  startWorld,
  until,
} from "../../../testing/executor/anvil-world.ts";
import { isAtRest, startCore } from "../../../testing/executor/executor.ts";
import { startPostgres, type TestPostgres } from "../../../testing/postgres.ts";

describe("an executor whose PostgreSQL server restarts", () => {
  let world: AnvilWorld;
  let postgres: TestPostgres;
  let store: Store;

  before(async () => {
    [world, postgres] = await Promise.all([startWorld(), startPostgres()]);
    store = await openStore({ databaseUrl: postgres.url, dataDirectory: "unused" });
    world.startTicking(100);
  });
  after(async () => {
    await store.close();
    await postgres.stop();
    await world.stop();
  });

  test("executes and records each payment once", async (context) => {
    const running = startCore(store, world.chains());
    context.after(running.stop);
    const records = await Promise.all(Array.from({ length: 30 }, () => world.newRecord()));
    await saveRecords(store, records);
    for (let round = 0; round < rounds(2, 10); round++) {
      const some = records.filter((_, index) => index % rounds(2, 10) === round);
      await world.pay(some.map((r) => ({ to: r.address, amount: r.intent.amount })));
      await sleep(Math.random() * 500);
      await postgres.restart();
    }
    await until("all are executed once", async () =>
      (await fatesOf(world, records)).every((fate) => fate.executed === 1),
    );
    await until("no transaction is pending", () => isAtRest(store));
    await running.stop();
    const outcomes = await store.db.selectFrom("executor_outcomes").selectAll().execute();
    assert.equal(outcomes.filter((row) => row.kind === "executed").length, records.length);
  });
});
