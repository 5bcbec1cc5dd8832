import assert from "node:assert/strict";
import { after, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { onlyLong, rounds } from "../../../../scripts/long.ts";
import { httpEndpoint } from "../../../chain/rpc/endpoint.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { isAtRest, prepare, startCore } from "../../../testing/executor/executor.ts";
import { type Misbehaviour, startProxy } from "../../../testing/executor/rpc-proxy.ts";

const impatienceMs = 300;
const spellMs = 1200;

const { world, store } = await prepare({ tickMs: 100 });
const proxy = await startProxy(world.rpcUrl);
after(proxy.stop);

describe("an executor with a faulty endpoint", () => {
  /** Pays two addresses before the fault `fault` begins, and two during the fault. */
  const surviveWith = async (context: TestContext, urls: string[], fault: Misbehaviour) => {
    const running = startCore(store, world.chains(urls), (core) => ({
      ...core,
      endpoints: urls.map((url, index) =>
        httpEndpoint(`rpc${index}`, url, { timeoutMs: impatienceMs }),
      ),
      tuning: { ...core.tuning, resendMs: 500 },
    }));
    context.after(running.stop);
    const records = await Promise.all(Array.from({ length: 4 }, () => world.newRecord()));
    await saveRecords(store, records);
    const pay = (some: typeof records) =>
      world.pay(some.map((r) => ({ to: r.address, amount: r.intent.amount })));
    await pay(records.slice(0, 2));
    await sleep(Math.random() * 300);
    await proxy.behave(fault);
    await pay(records.slice(2));
    await sleep(spellMs);
    await proxy.behave("none");
    await until("all are executed once", async () =>
      (await fatesOf(world, records)).every((fate) => fate.executed === 1),
    );
    await until("no transaction is pending", () => isAtRest(store));
    await running.stop();
    const outcomes = await store.db
      .selectFrom("executor_outcomes")
      .selectAll()
      .where("kind", "=", "executed")
      .execute();
    const mine = outcomes.filter((row) =>
      records.some((r) => Buffer.from(row.address).equals(Buffer.from(r.address.slice(2), "hex"))),
    );
    assert.equal(mine.length, records.length);
    return running.events;
  };

  const alone: Misbehaviour[] = [
    "timeout",
    "500",
    "429",
    "stale",
    "wrong_chain",
    "drops_broadcasts",
  ];
  for (const fault of [...alone, "lies_on_receipts" as const]) {
    const options = ["timeout", "stale", "lies_on_receipts"].includes(fault) ? {} : onlyLong;
    test(
      `continues after its only endpoint has recovered from the fault ${fault}`,
      options,
      async (context) => {
        for (let round = 0; round < rounds(1, 10); round++)
          await surviveWith(context, [proxy.url], fault);
      },
    );
  }

  for (const fault of ["timeout", "stale", "false_failure"] as const) {
    const options = fault === "false_failure" ? {} : onlyLong;
    test(
      `executes payments although one endpoint has the fault ${fault}`,
      options,
      async (context) => {
        for (let round = 0; round < rounds(1, 10); round++) {
          const events = await surviveWith(context, [proxy.url, world.rpcUrl], fault);
          const failed = events.some((event) => event.kind === "attempt_failed");
          assert.equal(failed, false, "the executor accepted a false receipt");
        }
      },
    );
  }
});
