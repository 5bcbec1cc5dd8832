// Tests a chain that charges a fee for a transaction's bytes, like the OP Stack. Tests that the
// executor includes this fee in an account's budget. Also tests that the executor does not return a
// payment if the return costs more than its value.

import assert from "node:assert/strict";
import { after, before, describe, type TestContext, test } from "node:test";
import type { AddressRecord, Hex } from "executable-address";
import { demoTokens } from "../../../scripts/local-chain.ts";
import type { Endpoint } from "../../../service/chain/rpc/endpoint.ts";
import type { Answer } from "../../../service/chain/rpc/json-rpc.ts";
import { hintJobs } from "../../../service/executor/ledger/jobs.ts";
import { startCore } from "../../../service/testing/executor/executor.ts";
import { startProxy } from "../../../service/testing/executor/rpc-proxy.ts";
import { attacker, prepareAttack, until, victim } from "./world.ts";

const { world, store, recordOf, save, pay, funded, jobOf, goodPayments, chargedTo } =
  await prepareAttack({ tickMs: 200 });
const oracle: Hex = "0x420000000000000000000000000000000000000F";
const weiPerByte = 10n ** 12n;
/** The code of a contract whose `getL1FeeUpperBound(size)` returns `size * weiPerByte`. */
const oracleCode: Hex = `0x60043567${weiPerByte.toString(16).padStart(16, "0")}025f5260205ff3`;
const plenty = 10n ** 24n;
/** The budget covers about four executions at the maximum fee. */
const budget = 16n * 10n ** 15n;

/**
 * Returns the fee for the transaction's bytes if Ethereum's base fee nearly doubles before
 * inclusion.
 */
const parseDataFee = (input: Hex) => 2n * weiPerByte * BigInt((input.length - 2) / 2 + 150);

let proxy: Awaited<ReturnType<typeof startProxy>>;
before(async () => {
  proxy = await startProxy(world.rpcUrl, async ({ method, params }, answer) => {
    if (method !== "eth_getTransactionReceipt" || !answer.result) return answer;
    const { input } = await world.client.getTransaction({ hash: params[0] as Hex });
    const l1Fee = `0x${parseDataFee(input).toString(16)}`;
    return { ...answer, result: { ...answer.result, l1Fee } };
  });
});
after(() => proxy.stop());

const start = (
  context: TestContext,
  perAccountMax = budget,
  more: object = {},
  endpointsOf = (endpoints: Endpoint[]) => endpoints,
) => {
  const running = startCore(store, world.chains([proxy.url], more), (core) => ({
    ...core,
    endpoints: endpointsOf(core.endpoints),
    chain: {
      ...core.chain,
      budgets: { perDayMax: plenty, perAccountMax, perClientMax: plenty },
    },
  }));
  context.after(running.stop);
  return running;
};

const isOver = async (records: AddressRecord[]) => {
  const jobs = await Promise.all(records.map(({ address }) => jobOf(address)));
  return jobs.some((job) => job?.reason === "account_budget_spent");
};
const purposes = () => store.db.selectFrom("executor_purposes").selectAll().execute();
const isQuiet = async () => (await purposes()).every(({ state }) => state !== "pending");

async function paid(): Promise<bigint> {
  let sum = 0n;
  for (const { transaction_hash } of await purposes()) {
    const hash = transaction_hash as Hex;
    const { gasUsed, effectiveGasPrice } = await world.client.getTransactionReceipt({ hash });
    const { input } = await world.client.getTransaction({ hash });
    sum += gasUsed * effectiveGasPrice + parseDataFee(input);
  }
  return sum;
}

describe("a chain that charges an additional fee for data", () => {
  test("an account stays within its budget and does not delay other accounts", async (context) => {
    await world.client.setCode({ address: oracle, bytecode: oracleCode });
    const running = start(context);
    const hostile = await funded(30, attacker);
    await until("it has spent its budget", () => isOver(hostile));
    await goodPayments(1);
    await until("nothing is on its way", isQuiet);
    await running.stop();
    const charged = await chargedTo(attacker);
    assert.ok(charged > 0n && charged <= budget, `${charged} of ${budget} wei`);
    assert.equal(await paid(), charged + (await chargedTo(victim)), "every wei is charged");
    context.diagnostic(`${charged} of ${budget} wei`);
  });

  test("an account keeps to its budget even if 2 of 3 endpoints hide the fee", async (context) => {
    await world.client.setCode({ address: oracle, bytecode: oracleCode });
    const tells =
      (name: string, answer: Answer) =>
      (each: Endpoint): Endpoint => ({
        name,
        ask: async (calls, timeoutMs) => {
          const answers = await each.ask(calls, timeoutMs);
          const isOracle = (index: number) =>
            JSON.stringify(calls[index]!.params).includes(oracle.toLowerCase());
          return answers.map((honest, index) => (isOracle(index) ? answer : honest));
        },
      });
    const silent: Answer = { error: { code: -32000, message: "try again" } };
    const other = "acc_bad00000000000000000000c";
    const running = start(context, budget, {}, ([honest]) => [
      tells("liar", { result: "0x" })(honest!),
      honest!,
      tells("silent", silent)(honest!),
    ]);
    const hostile = await funded(30, other);
    await until(
      "it has spent its budget",
      async () => (await isOver(hostile)) || (await chargedTo(other)) > budget,
    );
    await until("nothing is on its way", isQuiet);
    await running.stop();
    const charged = await chargedTo(other);
    assert.ok(charged > 0n && charged <= budget, `${charged} of ${budget} wei`);
  });

  test("control: an account exceeds its budget if the data fee is unknown", async (context) => {
    await world.client.setCode({ address: oracle, bytecode: "0x" });
    const other = "acc_bad00000000000000000000b";
    const running = start(context);
    await funded(30, other);
    await until("it is over its budget", async () => (await chargedTo(other)) > budget);
    await until("nothing is on its way", isQuiet);
    await running.stop();
  });
});

describe("tiny payments on a chain that charges a data fee", () => {
  /**
   * The value of a tiny payment in wei. Returning the payment costs two fees. The gas costs a
   * quarter of the payment's value. The data fee is five times the payment's value.
   */
  const grain = 5n * 10n ** 14n;
  const { symbol, decimals } = demoTokens[0]!;
  const more = { tipPrices: { [symbol]: String(grain * 10n ** BigInt(decimals)) } };

  /**
   * Makes a tiny payment to an address whose intent is for another chain. The calls cannot run on
   * this chain, so the executor can only return the payment. If `coin` is 0, the amount is one base
   * unit of the token. Otherwise, `coin` is the amount of native coin in wei.
   */
  const dust = async (coin: bigint) => {
    const record = await recordOf({ chainId: 10 });
    await save([record], attacker);
    if (coin === 0n) await pay([record], 1n);
    else await world.client.setBalance({ address: record.address, value: coin });
    await world.mine();
    // A payment in native coin emits no log, so the executor must be notified. In production, a
    // status request notifies the executor.
    const { number, timestamp } = await world.client.getBlock();
    const block = { number: Number(number), timestamp: Number(timestamp) };
    await hintJobs(store.db, 31_337, [{ address: record.address, block, isEnough: false }]);
    return record;
  };

  for (const [what, coin] of [
    ["a token with a price", 0n],
    ["native coin", grain],
  ] as const) {
    test(`${what} is not returned if its value is below the gas cost`, async (context) => {
      await world.client.setCode({ address: oracle, bytecode: oracleCode });
      const running = start(context, plenty, more);
      const record = await dust(coin);
      await until("it is given up", async () => {
        const job = await jobOf(record.address);
        return job?.state === "given_up" || (job?.recoveries ?? 0) > 0;
      });
      const job = await jobOf(record.address);
      assert.deepEqual([job?.reason, job?.recoveries], ["not_worth_its_gas", 0]);
      await running.stop();
    });

    test(`control: ${what} is returned if there is no data fee`, async (context) => {
      await world.client.setCode({ address: oracle, bytecode: "0x" });
      const running = start(context, plenty, more);
      const record = await dust(coin);
      await until("it went back", async () => ((await jobOf(record.address))?.recoveries ?? 0) > 0);
      await running.stop();
    });
  }
});
