// Tests that, with `sendUrls`, only relays see a transaction before it is mined.

import assert from "node:assert/strict";
import { after, afterEach, describe, type TestContext, test } from "node:test";
import type { Hex } from "executable-address";
import { onlyLong } from "../../../../scripts/long.ts";
import type { Chain } from "../../../chain/chains.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { isAtRest, prepare, startCore } from "../../../testing/executor/executor.ts";
import { type Misbehaviour, startProxy } from "../../../testing/executor/rpc-proxy.ts";
import type { FeePolicy } from "../../money/fees.ts";

const gwei = 10n ** 9n;
const { world, store } = await prepare({ tickMs: 100 });
const seen: string[] = [];
const open = await startProxy(world.rpcUrl, ({ method, params }, answer) => {
  if (method === "eth_sendRawTransaction") seen.push(`${params[0]}`);
  return answer;
});
/** The error with which `relay` refuses transactions; undefined if it accepts them. */
let refusal: string | undefined;
const relay = await startProxy(world.rpcUrl, ({ id, method }, answer) => {
  if (!refusal || method !== "eth_sendRawTransaction") return answer;
  return { id, jsonrpc: "2.0", error: { code: -32_000, message: refusal } };
});
const honest = await startProxy(world.rpcUrl);
after(() => {
  for (const proxy of [open, relay, honest]) proxy.stop();
});
afterEach(async () => {
  refusal = undefined;
  await relay.behave("none");
});

type Relayed = Pick<Chain, "sendUrls" | "sendFallbackBlocks">;
type Change = { rpcUrls?: string[]; stuckSeconds?: number; fees?: Partial<FeePolicy> };

/** Pays an address while the relay has a fault. */
async function payWith(
  context: TestContext,
  fault: Misbehaviour,
  relayed: Relayed,
  { rpcUrls = [open.url], stuckSeconds = 2, fees = {} }: Change = {},
) {
  seen.length = 0;
  await relay.behave(fault);
  const running = startCore(store, world.chains(rpcUrls, relayed), (core) => ({
    ...core,
    chain: { ...core.chain, fees: { ...core.chain.fees, ...fees } },
    tuning: { ...core.tuning, resendMs: 300, stuckSeconds },
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

describe("an executor with a private relay", () => {
  const alone: Relayed = { sendUrls: [relay.url], sendFallbackBlocks: undefined };

  for (const fault of ["drops_broadcasts", "timeout", "500"] as const) {
    const options = fault === "drops_broadcasts" ? {} : onlyLong;
    test(
      `sends no transaction to other endpoints while the relay has the fault ${fault}`,
      options,
      async (context) => {
        const running = await payWith(context, fault, alone);
        await until("it is sent", async () => running.isSent());
        const from = await world.client.getBlockNumber();
        await until(
          "20 blocks are mined",
          async () => (await world.client.getBlockNumber()) > from + 20n,
        );
        assert.deepEqual(seen, []);
        assert.equal(await running.isExecuted(), false);
        await relay.behave("none");
        await until("it is executed", running.isExecuted);
        await until("no transaction is pending", () => isAtRest(store));
        assert.deepEqual(seen, []);
      },
    );
  }

  test("logs the name and the error of a relay that refuses transactions", async (context) => {
    refusal = "not today";
    const running = await payWith(context, "drops_broadcasts", alone);
    const refused = () => running.events.find(({ kind }) => kind === "send_refused");
    await until("it is logged", async () => refused() !== undefined);
    const rpc = `relay 0:${new URL(relay.url).host}`;
    assert.deepEqual(refused(), { ...refused(), rpc, message: refusal });
    refusal = undefined;
    await relay.behave("none");
    await until("it is executed", running.isExecuted);
    assert.deepEqual(seen, []);
  });

  test("is not delayed by a silent relay if a second relay works", async (context) => {
    const both: Relayed = { sendUrls: [relay.url, honest.url], sendFallbackBlocks: undefined };
    const running = await payWith(context, "timeout", both);
    await until("it is executed", running.isExecuted);
    await until("no transaction is pending", () => isAtRest(store));
    const kinds = running.events.map(({ kind }) => kind);
    const settled = kinds.indexOf("settled");
    const failed = kinds.indexOf("rpc_failed");
    assert.ok(settled >= 0 && (failed < 0 || settled < failed), `${kinds}`);
    await until("the silent relay is logged", async () =>
      running.events.some((event) => event.kind === "rpc_failed" && /relay 0/.test(event.rpc)),
    );
    assert.deepEqual(seen, []);
  });

  test("sends transactions to all endpoints after `sendFallbackBlocks` blocks", async (context) => {
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

  /** @returns the priority fee of the executed transaction in wei */
  async function hold(context: TestContext, priorityMax: bigint, isEnough: string, times: number) {
    // The suggested fee depends on the last ten blocks. After ten new blocks, the transactions of
    // earlier tests do not affect the suggested fee.
    await world.mine(10);
    const fees = { perGasMax: 20n * gwei, priorityMax };
    const running = await payWith(context, "drops_broadcasts", alone, { fees, stuckSeconds: 0 });
    const count = (wanted: string) => running.events.filter(({ kind }) => kind === wanted).length;
    await until(`${isEnough} ${times} times`, async () => count(isEnough) >= times);
    assert.ok(count("replaced") > 0);
    await relay.behave("none");
    await until("it is executed", running.isExecuted);
    await until("it is settled", () => isAtRest(store));
    const { transaction_hash } = await store.db
      .selectFrom("executor_purposes")
      .select("transaction_hash")
      .orderBy("nonce", "desc")
      .executeTakeFirstOrThrow();
    const sent = await world.client.getTransaction({ hash: transaction_hash as Hex });
    return sent.maxPriorityFeePerGas!;
  }
  const most = 2n * gwei;

  test("respects the maximum priority fee while a relay publishes nothing", async (context) => {
    const offered = await hold(context, most, "fee_capped", 1);
    assert.ok(offered <= most, `${offered} wei`);
  });

  test(
    "control: pays a priority fee above 2 gwei if the maximum is 20 gwei",
    onlyLong,
    async (context) => {
      const offered = await hold(context, 20n * gwei, "replaced", 12);
      assert.ok(offered > most, `${offered} wei`);
    },
  );

  test("sends no transaction to other endpoints if the relay works", async (context) => {
    const running = await payWith(context, "none", alone);
    await until("it is executed", running.isExecuted);
    await until("no transaction is pending", () => isAtRest(store));
    assert.deepEqual(seen, []);
  });
});

describe("the error `replacement transaction underpriced`", () => {
  /**
   * Checks that repeated errors cause no replacement transaction. Then stops the errors, and checks
   * that the address is executed.
   */
  async function isNotBelieved({ events, isExecuted }: Awaited<ReturnType<typeof payWith>>) {
    const count = (wanted: string) => events.filter(({ kind }) => kind === wanted).length;
    await until("it is refused often", async () => count("send_refused") >= 5);
    assert.equal(count("replaced"), 0);
    refusal = undefined;
    await relay.behave("none");
    await until("it is executed", isExecuted);
  }
  const stuckSeconds = 10_000;

  test("from the only working endpoint does not raise the fee", async (context) => {
    refusal = "replacement transaction underpriced";
    const down = await startProxy(world.rpcUrl);
    context.after(down.stop);
    await down.behave("500");
    const urls = { rpcUrls: [relay.url, down.url], stuckSeconds };
    const none: Relayed = { sendUrls: [], sendFallbackBlocks: undefined };
    await isNotBelieved(await payWith(context, "drops_broadcasts", none, urls));
  });

  test("from the only endpoint does not raise the fee", onlyLong, async (context) => {
    refusal = "replacement transaction underpriced";
    const urls = { rpcUrls: [relay.url], stuckSeconds };
    const none: Relayed = { sendUrls: [], sendFallbackBlocks: undefined };
    await isNotBelieved(await payWith(context, "drops_broadcasts", none, urls));
  });

  test("from the only relay does not raise the fee", onlyLong, async (context) => {
    refusal = "replacement transaction underpriced";
    const alone: Relayed = { sendUrls: [relay.url], sendFallbackBlocks: undefined };
    await isNotBelieved(await payWith(context, "drops_broadcasts", alone, { stuckSeconds }));
  });
});
