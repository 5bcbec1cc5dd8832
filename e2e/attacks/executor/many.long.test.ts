// Tests an account with thousands of addresses and a small budget. The gas stays within the budget,
// regardless of the number of addresses. Addresses that wait for the budget cause only a few
// simulations per hour.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type AddressRecord, batchCalldata, recoverCalldata, toHex } from "executable-address";
import { factoryAddress } from "executable-address-contracts";
import { isAtRest, startCore } from "../../../service/testing/executor/executor.ts";
import { attacker, count, inNoTime, prepareAttack, until } from "./world.ts";

const daySeconds = 86_400;
/**
 * The test starts at noon, because each account gets a new budget at midnight. A simulated hour
 * must not include midnight.
 */
const noon = (Math.floor(Date.now() / 1000 / daySeconds) + 1) * daySeconds + daySeconds / 2;
const attack = await prepareAttack({ startSeconds: noon });
const { world, store, recordOf, save, pay, fundedInBlock, jobOf, chargedTo } = attack;
const plenty = 10n ** 24n;

/** Starts the executor with a budget per account. Counts its requests to the node by method. */
function start(context: TestContext, perAccountMax: bigint) {
  const asked: string[] = [];
  let passes = 0;
  const running = startCore(store, world.chains(), (core) =>
    inNoTime({
      ...core,
      chain: {
        ...core.chain,
        budgets: { perDayMax: plenty, perAccountMax, perClientMax: plenty },
      },
      endpoints: core.endpoints.map((rpc) => ({
        name: rpc.name,
        ask(calls, timeoutMs) {
          asked.push(...calls.map(({ method }) => method));
          return rpc.ask(calls, timeoutMs);
        },
      })),
      waitForPoll(ms) {
        passes++;
        return core.waitForPoll(ms);
      },
    }),
  );
  context.after(running.stop);
  const simulations = () => asked.filter((method) => method === "eth_estimateGas").length;
  /** Waits for two more passes of the executor. The first may have begun before this call. */
  const aPass = async () => {
    const from = passes;
    await until("a pass has ended", async () => passes >= from + 2);
  };
  return { ...running, simulations, aPass };
}

const reasonsOf = async (records: readonly AddressRecord[]) =>
  Promise.all(records.map(async ({ address }) => (await jobOf(address))?.reason));

/**
 * Mines a block whose timestamp is `seconds` later, and waits until the executor has processed it.
 */
async function secondsPass(seconds: number, aPass: () => Promise<void>) {
  const { timestamp } = await world.client.getBlock();
  await world.client.setNextBlockTimestamp({ timestamp: timestamp + BigInt(seconds) });
  await world.mine();
  await aPass();
}

describe("paid addresses of an account over its gas budget", () => {
  test("a paid address is simulated at most 8 times an hour", async (context) => {
    const [many, minutes] = [count(30, 400), count(30, 60)];
    const hostile = await fundedInBlock(many, attacker);
    const { aPass, simulations, stop } = start(context, 1n);
    await until("all wait for the budget", async () =>
      (await reasonsOf(hostile)).every((reason) => reason === "account_budget_spent"),
    );
    const before = simulations();
    for (let minute = 0; minute < minutes; minute++) await secondsPass(61, aPass);
    await stop();
    const each = (simulations() - before) / many;
    context.diagnostic(`${each} simulations for each of ${many} addresses in ${minutes} minutes`);
    assert.ok(each <= 8, `${each} for each`);
  });

  test("a paid address is retried after midnight", async (context) => {
    const [record] = await fundedInBlock(1, attacker);
    const waiting = start(context, 1n);
    await until("it waits", async () => (await reasonsOf([record!]))[0] === "account_budget_spent");
    const { timestamp } = await world.client.getBlock();
    const midnight = (Math.floor(Number(timestamp) / daySeconds) + 1) * daySeconds;
    await secondsPass(Math.max(1, midnight - 600 - Number(timestamp)), waiting.aPass);
    assert.equal((await jobOf(record!.address))?.due_at, midnight);
    await waiting.stop();
  });
});

describe("another sender that is always faster than the executor", () => {
  /**
   * Makes tiny payments to all addresses. Waits until the executor has sent recoveries for them, or
   * until `isOver` returns true. Then another sender recovers the same addresses, and its
   * transaction is mined first.
   */
  const race = async (
    { events, aPass }: Pick<ReturnType<typeof start>, "events" | "aPass">,
    records: readonly AddressRecord[],
    isOver: () => Promise<boolean>,
  ) => {
    const before = events.length;
    const isSent = () => events.slice(before).some(({ kind }) => kind === "sent");
    await pay(records, 1n);
    await world.mine();
    await until("ours are on their way, or refused", async () => isSent() || isOver());
    // After a pass, the executor has sent all its recoveries to the node.
    await aPass();
    const items = records.map(({ terms }) => recoverCalldata(terms, [world.token]));
    const data = toHex(batchCalldata(items));
    const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 11n };
    await world.client.sendTransaction({ to: factoryAddress, data, gas: 15_000_000n, ...fees });
    await world.mine();
    await until("ours are settled", () => isAtRest(store));
  };

  /** Creates 30 records with new addresses. */
  const fresh = async () => {
    const records = await Promise.all(Array.from({ length: 30 }, () => recordOf({ chainId: 10 })));
    await save(records, attacker);
    return records;
  };

  test("the executor's recoveries cost at most the account's gas budget", async (context) => {
    const control = start(context, plenty);
    // In the first round, the other sender's high fees raise the fees that the node suggests. The
    // test therefore measures the second round, whose fees are the same as in later rounds.
    await race(control, await fresh(), async () => false);
    const before = await chargedTo(attacker);
    await race(control, await fresh(), async () => false);
    await control.stop();
    const once = (await chargedTo(attacker)) - before;
    assert.ok(once > 0n, "control: it costs something, and finds nothing");

    // While a recovery is pending, the account is charged the recovery's maximum fee. If the
    // recovery finds no money, its final cost is about 1/18 of this fee. The budget is the final
    // cost of 30 rounds, which is higher than the maximum fee.
    const rounds = 30;
    const budget = before + once * BigInt(rounds);
    const running = start(context, budget);
    let isSpent = false;
    for (let round = 0; !isSpent && round < rounds; round++) {
      const records = await fresh();
      const isRefused = async () => (await reasonsOf(records)).includes("account_budget_spent");
      await race(running, records, isRefused);
      isSpent = await isRefused();
    }
    await running.stop();
    const charged = await chargedTo(attacker);
    context.diagnostic(`${charged} of ${budget} wei, ${once} a time`);
    assert.ok(isSpent && charged > before + 2n * once && charged <= budget);
  });
});
