// Tests who pays for gas. No account can spend more than its budget. An intent that pays a tip
// needs no budget.

import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type AddressRecord, fromHex, type Hex } from "executable-address";
import { toHex } from "viem";
import type { Endpoint } from "../../../service/chain/rpc/endpoint.ts";
import type { Answer } from "../../../service/chain/rpc/json-rpc.ts";
import type { Parts } from "../../../service/executor/pass.ts";
import {
  tipCalls,
  tipPrices,
  unit,
  weiOfUnit,
} from "../../../service/testing/executor/anvil-world.ts";
import {
  assertReportIsExact,
  isAtRest,
  startCore,
  sumOfReport,
} from "../../../service/testing/executor/executor.ts";
import { attacker, burnsAll, count, fatesOf, prepareAttack, until, victim } from "./world.ts";

const attack = await prepareAttack({ tickMs: 200 });
const { world, store, recordOf, save, pay, funded, jobOf, goodPayments, chargedTo } = attack;
/** The address of executorKey. */
const executor: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const payee: Hex = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const plenty = 10n ** 24n;

type Limits = { perDayMax: bigint; perAccountMax: bigint; perClientMax: bigint };

const start = (
  context: TestContext,
  limits: Partial<Limits>,
  more: { pays?: "sponsor" | "tips" | "both"; tipPrices?: Record<string, string> } = {},
) => {
  const { pays, tipPrices } = more;
  const chains = world.chains([world.rpcUrl], tipPrices ? { tipPrices } : {});
  const running = startCore(store, chains, (core) => ({
    ...core,
    chain: {
      ...core.chain,
      ...(pays ? { pays } : {}),
      budgets: { perDayMax: plenty, perAccountMax: plenty, perClientMax: plenty, ...limits },
    },
  }));
  context.after(running.stop);
  return running;
};

/** Returns the total cost of the transactions in wei, from their receipts. */
async function paidIn(purposes: { transaction_hash: string | null }[]): Promise<bigint> {
  const hashes = purposes.flatMap((row) => (row.transaction_hash ? [row.transaction_hash] : []));
  const receipts = await Promise.all(
    hashes.map((hash) => world.client.getTransactionReceipt({ hash: hash as Hex })),
  );
  return receipts.reduce((sum, each) => sum + each.gasUsed * each.effectiveGasPrice, 0n);
}

const purposes = () => store.db.selectFrom("executor_purposes").selectAll().execute();
const reasonsOf = async (records: AddressRecord[]) =>
  (await Promise.all(records.map(({ address }) => jobOf(address)))).map((job) => job?.reason);

describe("an account whose addresses need more gas than its budget", () => {
  /** The budget covers about two executions at the maximum fee. The actual cost is lower. */
  const budget = 2n * 300_000n * 3n * 10n ** 9n;

  test("does not exceed the budget and does not delay other accounts", async (context) => {
    const earlier = await chargedTo(attacker);
    const running = start(context, { perAccountMax: budget });
    const hostile = await funded(count(40, 120), attacker);
    await until("it has spent its budget", async () =>
      (await reasonsOf(hostile)).includes("account_budget_spent"),
    );
    await goodPayments(1);
    await until("nothing is on its way", async () =>
      (await purposes()).every(({ state }) => state !== "pending"),
    );
    await running.stop();
    assert.ok((await reasonsOf(hostile)).includes("account_budget_spent"));
    const charged = await chargedTo(attacker);
    assert.equal(earlier, 0n);
    assert.ok(charged > 0n && charged <= budget, `${charged} of ${budget} wei`);
    const all = (await chargedTo(victim)) + charged;
    assert.equal(await paidIn(await purposes()), all, "every wei paid is charged to somebody");
    context.diagnostic(`${charged} of ${budget} wei`);
  });

  test("control: all addresses are executed if there is no budget", async (context) => {
    const running = start(context, {});
    const hostile = await funded(count(40, 120), attacker);
    await until("all are executed", async () =>
      (await fatesOf(world, hostile)).every((fate) => fate.executed === 1),
    );
    await running.stop();
  });

  test("a client ID over its budget delays only its own addresses", async (context) => {
    const byKey = await recordOf();
    const byClient = await recordOf();
    await save([byKey], "acc_c11e00000000000000000000");
    await save([byClient], "acc_c11e00000000000000000000", true);
    await pay([byKey, byClient]);
    const running = start(context, { perClientMax: 1n });
    await until(
      "the other is executed",
      async () => (await fatesOf(world, [byKey]))[0]!.executed === 1,
    );
    await until("it waits", async () =>
      (await reasonsOf([byClient])).includes("client_id_budget_spent"),
    );
    await running.stop();
  });
});

describe("returns of tiny payments", () => {
  const recoveries = async () => {
    const rows = await purposes();
    return rows.filter(({ kind, state }) => kind === "recover" && state === "settled").length;
  };

  /**
   * Makes `rounds` tiny payments. Before each payment, the function waits until the executor has
   * returned the previous payment.
   */
  const sendDust = async (record: AddressRecord, rounds: number) => {
    const before = await recoveries();
    for (let round = 1; round <= rounds; round++) {
      await until("it went back", async () => (await recoveries()) >= before + round);
      await pay([record], 1n);
      await world.client.sendTransaction({ to: record.address, value: 1n, gas: 50_000n });
    }
    return before;
  };

  test("are limited to three per address and day", async (context) => {
    const running = start(context, {});
    const [record] = await funded(1, attacker, { chainId: 10 });
    const before = await sendDust(record!, 3);
    await until("the rest waits for tomorrow", async () =>
      (await reasonsOf([record!])).includes("recoveries_of_today_spent"),
    );
    assert.equal(await recoveries(), before + 3);
    await pay([record!], 1000n);
    await until("the late payment is back", async () => {
      const [fate] = await fatesOf(world, [record!]);
      return fate!.held === 0n && (await recoveries()) === before + 4;
    });
    await running.stop();
  });

  test("control: more than three returns are sent if the limit is 1,000", async (context) => {
    const [record] = await funded(1, attacker, { chainId: 10 });
    const running = startCore(store, world.chains(), (core) => ({
      ...core,
      chain: {
        ...core.chain,
        decision: { ...core.chain.decision, recoveriesPerDayMax: 1000 },
      },
    }));
    context.after(running.stop);
    const before = await sendDust(record!, 5);
    await until("the sixth went back too", async () => (await recoveries()) >= before + 6);
    await running.stop();
  });
});

const tippedBy = (amount: bigint, more: object = {}) => ({
  amount: String(amount + 1000n),
  calls: [
    ...tipCalls(amount),
    {
      target: world.token,
      function: "transfer(address to, uint256 amount)",
      args: [payee, "1000"],
    },
  ],
  ...more,
});

describe("intents with tips", () => {
  test("an intent is executed without a budget if its tip covers the gas", async (context) => {
    const before = await world.balanceOf(executor);
    const running = start(context, { perDayMax: 0n }, { tipPrices });
    const [record] = await funded(1, attacker, tippedBy(unit));
    const [plain] = await funded(1, attacker);
    await until("it is executed", async () => (await fatesOf(world, [record!]))[0]!.executed === 1);
    await until("one without waits", async () =>
      (await reasonsOf([plain!])).includes("budget_spent"),
    );
    assert.equal((await world.balanceOf(executor)) - before, unit);
    await running.stop();
  });

  test("an intent waits if the value of its tip is too small or unknown", async (context) => {
    const running = start(context, {}, { pays: "tips", tipPrices });
    const small = await funded(1, attacker, tippedBy(1n));
    await until("it waits", async () =>
      (await reasonsOf(small)).includes("tip_does_not_cover_gas"),
    );
    await running.stop();
    const unpriced = start(context, {}, { pays: "tips" });
    const [other] = await funded(1, attacker, tippedBy(unit));
    await until("it waits", async () =>
      (await reasonsOf([other!])).includes("tip_does_not_cover_gas"),
    );
    await unpriced.stop();
  });

  test("an intent whose calls succeed only at gas price 0 is not executed", async (context) => {
    // Reverts unless the gas price is 0.
    const fickle = await attack.contract("0x3a600557005b5f5ffd");
    const running = start(context, {}, { tipPrices });
    const calls = [{ target: fickle, function: "go()", args: [] }, ...tippedBy(unit).calls];
    const [record] = await funded(1, attacker, { ...tippedBy(unit), calls });
    await until("it failed", async () => (await jobOf(record!.address))?.failures === 1);
    const job = await jobOf(record!.address);
    assert.deepEqual([job?.paid_failures, job?.purpose_id], [0, null]);
    await running.stop();
  });

  /**
   * Sends intents that pay a tip and succeed in the simulation, but fail on chain. Returns the
   * total cost in wei that was charged to the accounts in `cheats`.
   */
  async function lostBy(context: TestContext, cheats: string[], limits: Partial<Limits>) {
    const fickle = await attack.contract("0x00");
    world.stopTicking();
    const calls = [{ target: fickle, function: "go()", args: [] }, ...tippedBy(unit).calls];
    const each = Math.ceil(count(20, 60) / cheats.length);
    const hostile: AddressRecord[] = [];
    for (const cheat of cheats) {
      const change = { ...tippedBy(unit), calls };
      hostile.push(...(await attack.fundedInBlock(each, cheat, change)));
    }
    const running = start(context, limits, { tipPrices });
    await until("some are sent", async () => running.events.some(({ kind }) => kind === "sent"));
    await world.client.setCode({ address: fickle, bytecode: "0x5f5ffd" });
    world.startTicking(200);
    await until("none is left untried", async () => {
      const jobs = await Promise.all(hostile.map(({ address }) => jobOf(address)));
      return jobs.every((job) => job && (job.state !== "waiting" || job.reason !== null));
    });
    await until("nothing is on its way", async () =>
      (await purposes()).every(({ state }) => state !== "pending"),
    );
    await running.stop();
    const charges = await Promise.all(cheats.map(chargedTo));
    return charges.reduce((sum, wei) => sum + wei, 0n);
  }

  test("failed executions cost at most the account's budget", async (context) => {
    const bound = 10n ** 15n;
    const cheat = "acc_c4ea7000000000000000000a";
    const lost = await lostBy(context, [cheat], { perDayMax: 0n, perAccountMax: bound });
    assert.ok(lost > 0n && lost <= bound, `${lost} wei`);
    context.diagnostic(`${lost} of ${bound} wei lost to tips that failed`);
  });

  test("failed executions of several accounts cost at most the daily budget", async (context) => {
    const bound = 8n * 10n ** 14n;
    const cheats = [1, 2, 3, 4, 5].map((n) => `acc_c4ea700000000000000000b${n}`);
    const limits = { perDayMax: bound, perAccountMax: bound };
    const lost = await lostBy(context, cheats, limits);
    assert.ok(lost > 0n && lost <= bound, `${lost} of ${bound} wei`);
    context.diagnostic(`${lost} of ${bound} wei lost to tips that failed`);
  });

  // This test runs last, because it spends more than the daily budget of the other tests.
  test("control: failed executions cost over 0.001 coins with a large budget", async (context) => {
    const cheat = "acc_c4ea7000000000000000000c";
    const lost = await lostBy(context, [cheat], { perDayMax: 0n });
    assert.ok(lost > 10n ** 15n, `${lost} wei`);
    context.diagnostic(`${lost} wei lost to tips that failed, without a bound`);
  });
});

describe("an execution in a shared transaction, compared with a separate transaction", () => {
  const accepts: Hex = "0x00";
  const intentAt = (target: Hex) => ({ calls: [{ target, function: "go()", args: [] }] });

  /** Converts the node's correct trace to the response of an endpoint. */
  type Says = (trace: Answer) => Answer;
  const truth: Says = (trace) => trace;
  const refuses: Says = () => ({
    error: { code: -32601, message: "the method does not exist" },
  });
  /** Returns a forged trace in which the call of `target` used almost all gas. */
  const blames =
    (target: Hex): Says =>
    (trace) => {
      const { calls } = (trace as { result: { calls: { gasUsed: Hex }[] } }).result;
      const sum = calls.reduce((all, { gasUsed }) => all + Number(gasUsed), 0);
      const isBlamed = (call: object) => JSON.stringify(call).includes(target.toLowerCase());
      const gasOf = (call: object) => (isBlamed(call) ? toHex(sum - calls.length) : "0x1");
      return { result: { calls: calls.map((call) => ({ gasUsed: gasOf(call) })) } };
    };

  /**
   * Creates one endpoint for each function in `says`. The function converts the traces that the
   * endpoint returns.
   */
  const tracedBy =
    (says: readonly Says[]) =>
    (core: Parts): Parts => ({
      ...core,
      endpoints: says.map(
        (say, place): Endpoint => ({
          name: `rpc${place}`,
          ask: async (calls, timeoutMs) => {
            const answers = await core.endpoints[0]!.ask(calls, timeoutMs);
            const isTrace = (index: number) => calls[index]!.method === "debug_traceTransaction";
            return answers.map((answer, index) => (isTrace(index) ? say(answer) : answer));
          },
        }),
      ),
    });

  /**
   * Returns the receipt of the address's execution, and the gas charged for the address. Returns
   * "sent" while the transaction is pending, and undefined before that.
   */
  async function executionOf({ address }: AddressRecord) {
    const row = await store.db
      .selectFrom("executor_purpose_addresses as share")
      .innerJoin("executor_purposes as purpose", "purpose.id", "share.purpose_id")
      .select(["purpose.transaction_hash", "share.wei"])
      .where("share.address", "=", fromHex(address))
      .where("purpose.kind", "=", "execute")
      .executeTakeFirst();
    if (!row?.transaction_hash) return row && "sent";
    const hash = row.transaction_hash as Hex;
    const receipt = await world.client.getTransactionReceipt({ hash });
    return { charged: Number(BigInt(row.wei) / receipt.effectiveGasPrice), ...receipt };
  }

  async function settled(record: AddressRecord) {
    let found: Awaited<ReturnType<typeof executionOf>>;
    await until("it is settled", async () => {
      found = await executionOf(record);
      return typeof found === "object";
    });
    return found as Exclude<typeof found, string | undefined>;
  }

  let neighbours = 0;

  /**
   * Returns the ratio of two amounts of gas. The first is the gas that an honest account is charged
   * in a shared transaction. The second is the gas of the same calls in a separate transaction. The
   * three other addresses in the shared transaction burn as much gas as possible.
   */
  async function gasOfVictim(context: TestContext, saysOf: (victims: Hex) => readonly Says[]) {
    const [fickle, plain] = [await attack.contract(accepts), await attack.contract(accepts)];
    world.stopTicking();
    const neighbour = `acc_b${++neighbours}d000000000000000000000`;
    await funded(3, attacker, intentAt(fickle));
    const [beside] = await attack.fundedInBlock(1, neighbour, intentAt(plain));
    const running = startCore(store, world.chains(), tracedBy(saysOf(plain)));
    context.after(running.stop);
    await until("they are sent", async () => (await executionOf(beside!)) === "sent");
    await world.client.setCode({ address: fickle, bytecode: burnsAll });
    world.startTicking(200);
    const together = await settled(beside!);
    // The target must stop burning gas, because hardhat needs 4 s to simulate a call that burns
    // gas.
    await world.client.setCode({ address: fickle, bytecode: accepts });
    await running.stop();
    const single = startCore(store, world.chains());
    context.after(single.stop);
    const [apart] = await funded(1, `acc_a${neighbours}0e00000000000000000000`, intentAt(plain));
    const alone = await settled(apart!);
    await single.stop();
    context.diagnostic(`${together.charged} gas beside them, ${alone.gasUsed} alone`);
    return together.charged / Number(alone.gasUsed);
  }

  test("costs at most 1.1 times as much gas if the trace is correct", async (context) => {
    assert.ok((await gasOfVictim(context, () => [truth])) <= 1.1);
  });

  test("costs at most 1.1 times as much gas even if 1 of 3 traces is wrong", async (context) => {
    const says = (plain: Hex) => [blames(plain), truth, truth];
    assert.ok((await gasOfVictim(context, says)) <= 1.1);
  });

  test("costs at most 1.5 times as much gas if tracing is unsupported", async (context) => {
    const times = await gasOfVictim(context, () => [refuses]);
    assert.ok(times <= 1.5, `${times}`);
  });

  test("costs at most 1.5 times as much gas with 1 wrong and 2 missing traces", async (context) => {
    const says = (plain: Hex) => [blames(plain), refuses, refuses];
    assert.ok((await gasOfVictim(context, says)) <= 1.5);
  });

  test("control: costs over twice as much gas if all traces are wrong", async (context) => {
    assert.ok((await gasOfVictim(context, (plain) => [blames(plain)])) > 2);
  });
});

describe("the executor's cost report", () => {
  const reported = (column: string) => sumOfReport(store, column);

  test("the report contains the exact value of the received tips", async (context) => {
    const [tips, tokens] = [await reported("tipsWei"), await world.balanceOf(executor)];
    const sponsor = start(context, {});
    const returned = await funded(1, attacker);
    await world.pay([{ to: returned[0]!.address, amount: 1n }]);
    await until("it went back", async () => (await fatesOf(world, returned))[0]!.recovered > 0);
    await until("nothing is on its way", () => isAtRest(store));
    await sponsor.stop();
    assert.equal(await reported("tipsWei"), tips);
    const before = await world.balanceOf(executor);
    assert.ok(before > tokens);
    const running = start(context, {}, { tipPrices });
    const tipped = await funded(1, attacker, tippedBy(unit));
    await until("it is executed", async () => (await fatesOf(world, tipped))[0]!.executed === 1);
    await until("nothing is on its way", () => isAtRest(store));
    await running.stop();
    const received = (await world.balanceOf(executor)) - before;
    assert.ok(received >= unit);
    assert.equal((await reported("tipsWei")) - tips, (received * weiOfUnit) / unit);
  });

  test("the report contains the exact cost of all transactions", () =>
    assertReportIsExact(world, store));
});
