// Tests endpoints that return the logs of only a few blocks per query, like free plans. Payments to
// open addresses are executed immediately, even while thousands of blocks are unread.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { AddressRecord } from "executable-address";
import { demoToken, factoryAddress, paymentFactoryAbi } from "executable-address-contracts";
import { rounds } from "../../../../scripts/long.ts";
import { saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import { isAtRest, prepare, startCore } from "../../../testing/executor/executor.ts";
import { startProxy } from "../../../testing/executor/rpc-proxy.ts";

const blocksMax = 10;
const blocksBehind = rounds(1000, 3000);
/** The maximum number of blocks between a payment and its execution. */
const waitBlocksMax = 10;

const { world, store } = await prepare();
const queries = { all: 0, refused: 0 };
const endpoints = [await startLimited(), await startLimited()];
for (const { stop } of endpoints) after(stop);

/** An endpoint that returns the logs of at most ten blocks per query. */
function startLimited() {
  return startProxy(world.rpcUrl, (call, answer) => {
    if (call.method !== "eth_getLogs") return answer;
    const { fromBlock, toBlock } = call.params[0] as { fromBlock: string; toBlock: string };
    queries.all++;
    if (Number(toBlock) - Number(fromBlock) < blocksMax) return answer;
    queries.refused++;
    const plan = "Under the Free tier plan, you can make eth_getLogs requests with up to a";
    const { result: _, ...rest } = answer;
    return { ...rest, error: { code: -32600, message: `${plan} ${blocksMax} block range.` } };
  });
}

/** Mines half of the blocks, 100 per request, because larger requests could time out. */
async function mineHalf() {
  for (let mined = 0; mined < blocksBehind / 2; mined += 100) await world.mine(100);
}

async function blocksOf({ address }: AddressRecord) {
  const range = { fromBlock: 0n, toBlock: "latest", strict: true } as const;
  const [paid] = await world.client.getContractEvents({
    ...{ address: world.token, abi: demoToken.abi, eventName: "Transfer", args: { to: address } },
    ...range,
  });
  const [executed] = await world.client.getContractEvents({
    ...{ address: factoryAddress, abi: paymentFactoryAbi, eventName: "Executed" },
    ...{ args: { vault: address }, ...range },
  });
  return { paid: Number(paid?.blockNumber), executed: Number(executed?.blockNumber) };
}

test(`a new payment is executed before ${blocksBehind} older blocks are read`, async (context) => {
  const [old, fresh] = [await world.newRecord(), await world.newRecord()];
  await saveRecords(store, [old, fresh]);
  const pay = async ({ address, intent }: AddressRecord) => {
    await world.pay([{ to: address, amount: intent.amount }]);
    await world.mine();
  };
  await mineHalf();
  await pay(old);
  await mineHalf();
  const begun = Number(await world.client.getBlockNumber());

  // Each poll mines one block and reads the logs of thirty old blocks.
  const running = startCore(store, world.chains(endpoints.map(({ url }) => url)), (core) => ({
    ...core,
    waitForPoll: async (ms) => {
      await world.mine();
      await core.waitForPoll(ms);
    },
    tuning: { ...core.tuning, rangesPerPass: 3 },
  }));
  context.after(running.stop);
  const passes = () => running.events.filter((event) => event.kind === "pass");
  await until("the first pass has ended", async () => passes().length > 0);
  await pay(fresh);
  await until("both are executed", async () => {
    const all = await Promise.all([old, fresh].map(blocksOf));
    return all.every(({ executed }) => executed > 0);
  });

  const unread = passes().at(-1)!.blocksBehind;
  assert.ok(unread > blocksBehind / 2, `${unread} blocks are not read`);
  const [ofOld, ofFresh] = await Promise.all([old, fresh].map(blocksOf));
  const [oldWait, freshWait] = [ofOld!.executed - begun, ofFresh!.executed - ofFresh!.paid];
  context.diagnostic(`executed ${oldWait} blocks after the start, ${freshWait} after its payment`);
  assert.ok(oldWait <= waitBlocksMax, `executed ${oldWait} blocks after the start`);
  assert.ok(freshWait <= waitBlocksMax, `executed ${freshWait} blocks after its payment`);

  await until("the history is read", async () => passes().at(-1)!.blocksBehind === 0);
  await until("no transaction is pending", () => isAtRest(store));
  const payments = await store.db.selectFrom("payments").select("address").execute();
  assert.equal(payments.length, 2, "each payment is stored once");
  assert.equal(running.events.filter(({ kind }) => kind === "gap").length, 0);
  context.diagnostic(`${queries.refused} of ${queries.all} queries were refused`);
  // The executor remembers the limits of the endpoints, so only its first queries are refused.
  assert.ok(queries.refused < 30, `${queries.refused} of ${queries.all} refused`);
});
