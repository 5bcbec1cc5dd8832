// `sendUrls`: transactions go to relays, and no other endpoint ever sees one that is not mined.

import assert from "node:assert/strict";
import { after, afterEach, describe, type TestContext, test } from "node:test";
import type { Chain } from "../../../chain/chains.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { isAtRest, prepare, startCore } from "../../../testing/executor/executor.ts";
import { type Misbehaviour, startProxy } from "../../../testing/executor/rpc-proxy.ts";

const { world, store } = await prepare({ tickMs: 100 });
const seen: string[] = [];
const open = await startProxy(world.rpcUrl, ({ method, params }, answer) => {
  if (method === "eth_sendRawTransaction") seen.push(`${params[0]}`);
  return answer;
});
const relay = await startProxy(world.rpcUrl);
after(() => {
  open.stop();
  relay.stop();
});
afterEach(() => relay.behave("none"));

type Relayed = Pick<Chain, "sendUrls" | "sendFallbackBlocks">;

/** Pays an address while the relay misbehaves. */
async function payWith(context: TestContext, fault: Misbehaviour, relayed: Relayed) {
  seen.length = 0;
  await relay.behave(fault);
  const running = startCore(store, world.chains([open.url], relayed), (core) => ({
    ...core,
    tuning: { ...core.tuning, resendMs: 300, stuckSeconds: 2 },
  }));
  context.after(running.stop);
  const record = await world.newRecord();
  await saveRecords(store, [record]);
  await world.pay([{ to: record.address, amount: record.intent.amount }]);
  const isExecuted = async () => (await fatesOf(world, [record]))[0]!.executed === 1;
  return {
    ...running,
    isExecuted,
    isSent: () => running.events.some(({ kind }) => kind === "sent"),
  };
}

describe("private relays", () => {
  const alone: Relayed = { sendUrls: [relay.url], sendFallbackBlocks: undefined };

  for (const fault of ["drops_broadcasts", "timeout", "500"] as const) {
    test(`one that ${fault}: no other endpoint sees a transaction, ever`, async (context) => {
      const running = await payWith(context, fault, alone);
      await until("it is sent", async () => running.isSent());
      const from = await world.client.getBlockNumber();
      await until("blocks go by", async () => (await world.client.getBlockNumber()) > from + 40n);
      assert.deepEqual(seen, []);
      assert.equal(await running.isExecuted(), false);
      await relay.behave("none");
      await until("it is executed", running.isExecuted);
      await until("nothing is on its way", () => isAtRest(store));
      assert.deepEqual(seen, []);
    });
  }

  test("one that drops, with a fall-back: after so many blocks", async (context) => {
    const blocks = 20;
    const fallback = { ...alone, sendFallbackBlocks: blocks };
    const running = await payWith(context, "drops_broadcasts", fallback);
    await until("it is sent", async () => running.isSent());
    const sentAt = Number(await world.client.getBlockNumber());
    await until("it is executed", running.isExecuted);
    const waited = Number(await world.client.getBlockNumber()) - sentAt;
    assert.ok(waited >= blocks - 2, `${waited} blocks`);
    assert.ok(seen.length > 0);
  });

  test("an honest one: executed once, and told to nobody else", async (context) => {
    const running = await payWith(context, "none", alone);
    await until("it is executed", running.isExecuted);
    await until("nothing is on its way", () => isAtRest(store));
    assert.deepEqual(seen, []);
  });
});
