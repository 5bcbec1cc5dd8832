// Tests the return of a token that a payer sent by mistake and then reported. Also tests that a
// hostile token causes at most one transaction. One account's reports cause a limited number of
// transactions, leave half of the account's budget, and do not stop other accounts' payments.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type AddressRecord, type Hex, recoverCalldata, toHex } from "executable-address";
import type { SentMoney } from "executable-address/client";
import type { ServiceStatus } from "executable-address/status";
import { pino } from "pino";
import { parseAbi } from "viem";
import { onlyLong, rounds } from "../../../scripts/long.ts";
import { chainsOf, startApp } from "../../testing/app.ts";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import { saveRecords, until } from "../../testing/executor/anvil-world.ts";
import {
  isAtRest,
  partsFor,
  prepare,
  startCore,
  twoKeys,
} from "../../testing/executor/executor.ts";
import { openExecutorClient } from "../client.ts";
import { dryRun } from "../dry-run.ts";
import { dropJob } from "../ledger/jobs.ts";
import { setPaused } from "../ledger/lease.ts";
import { reportTokens } from "../ledger/reported-tokens.ts";
import { openParts } from "../start.ts";

const { world, store } = await prepare();
const { client } = world;
await client.setAutomine(true);
const plain = await deployOdd(world, "PlainToken");
const silent = await deployOdd(world, "SilentToken", "OddTokens");
const fee = await deployOdd(world, "FeeToken", "OddTokens");
const hostile = {
  refusing: await deployOdd(world, "FalseToken", "OddTokens"),
  lying: await deployOdd(world, "LyingToken", "OddTokens"),
  slow: await deployOdd(world, "SlowToken", "OddTokens"),
  blocking: await deployOdd(world, "BlockingToken", "OddTokens"),
};
const reentering = await deployOdd(world, "ReenteringToken", "OddTokens");
const twoFaced = await deployOdd(world, "TwoFacedToken", "OddTokens");
await client.setAutomine(false);
world.startTicking(100);

/** The daily limit on transactions per account, low enough for tests to reach it soon. */
const reportedTokensPerDay = 3;
const chains = world.chains();
const executorClient = openExecutorClient(store, pino({ level: "silent" }), reportedTokensPerDay);
const api = await startApp({ store, chains: chainsOf(chains), executorClient });
const running = startCore(store, chains, (core) => ({
  ...core,
  chain: { ...core.chain, reportedTokensPerDay },
}));
after(async () => {
  await running.stop();
  await api.app.close();
});

let clients = 0;
const report = async (address: string, body: object): Promise<SentMoney> => {
  // Each report comes from another network, so rate limits per network do not apply.
  const remoteAddress = `203.0.${++clients >> 8}.${clients & 255}`;
  const url = `/v1/address/${address}/sent`;
  const response = await api.app.inject({ method: "POST", url, body, remoteAddress });
  assert.equal(response.statusCode, 200, response.body);
  return response.json();
};
const fateOf = async (address: string, token: Hex) =>
  (await report(address, { token })).tokens[0]!.fate;

const statusOf = async (address: Hex): Promise<ServiceStatus> =>
  (await api.app.inject(`/v1/address/${address}/status`)).json();
const isExecuted = async (address: Hex) => (await statusOf(address)).state === "executed";
/** Returns the number of the executor's transactions. */
const sent = () => client.getTransactionCount({ address: twoKeys[0]!.address });
const newAccount = () => `acc_${randomBytes(12).toString("hex")}`;

const openRecord = async (secondsLeft = 86_400, accountId = newAccount()) => {
  const record = await world.newRecord({ secondsLeft });
  await saveRecords(store, [record], accountId);
  return record;
};
const pay = (to: Hex, amount: bigint, token = world.token) => world.pay([{ to, amount, token }]);
const mineOver = async ({ address, intent }: AddressRecord) => {
  await pay(address, BigInt(intent.amount));
  await until("it is executed", () => isExecuted(address));
};
/** Mints `amount` of a token for `to`, and returns the transaction's hash. */
const mint = async (token: Hex, to: Hex, amount: bigint): Promise<Hex> => {
  const abi = parseAbi(["function mint(address, uint256)"]);
  const args = [to, amount] as const;
  const hash = await client.writeContract({ address: token, abi, functionName: "mint", args });
  await until("it is mined", async () => {
    return Boolean(await client.getTransactionReceipt({ hash }).catch(() => undefined));
  });
  return hash;
};
/** Saves a report of `tokens` in the database, without a request to the API. */
const reportNow = async ({ address, intent: { chainId } }: AddressRecord, tokens: Hex[]) => {
  const { number, timestamp } = await client.getBlock();
  const block = { number: Number(number), timestamp: Number(timestamp) };
  return reportTokens(store.db, { chainId, address, tokens, block, notBefore: 0 });
};
const settledOf = (address: Hex) =>
  until("its transactions are final", async () => {
    const row = await store.db
      .selectFrom("executor_jobs")
      .select("purpose_id")
      .where("address", "=", Buffer.from(address.slice(2), "hex"))
      .executeTakeFirst();
    return row?.purpose_id === null;
  });

describe("an unlisted token", () => {
  test("is returned after the execution if someone reports its contract", async () => {
    const record = await openRecord();
    const { address, intent } = record;
    await mineOver(record);
    await mint(plain, address, 2_500n);
    const { tokens, recovery, problem, omitted, chainId } = await report(address, { token: plain });
    assert.deepEqual(
      [recovery, problem, omitted, chainId],
      [intent.recovery, null, 0, intent.chainId],
    );
    assert.deepEqual(tokens, [
      {
        ...{ token: plain, amount: "2500", symbol: null, decimals: null },
        ...{ fate: "queued", notBefore: null },
      },
    ]);
    await until("the token is returned", async () => {
      return (await world.balanceOf(intent.recovery, plain)) === 2_500n;
    });
    await until("the status has it", async () => {
      return (await statusOf(address)).recoveries.some(({ token }) => token === plain);
    });
    assert.equal(await fateOf(address, plain), "empty");
  });

  test("is returned after the expiration time if someone reports the transaction", async () => {
    const { address, intent } = await openRecord(600);
    const transactionHash = await mint(plain, address, 700n);
    const found = await report(address, { transactionHash });
    const [token] = found.tokens;
    assert.deepEqual(
      [token?.token, token?.amount, token?.fate, token?.notBefore],
      [plain, "700", "queued", intent.expirationTimestamp + 1],
    );
    const before = await sent();
    await sleep(1_500);
    assert.equal(await sent(), before);
    await client.increaseTime({ seconds: 700 });
    await until("the token is returned", async () => {
      return (await world.balanceOf(intent.recovery, plain)) === 700n;
    });
    assert.equal((await statusOf(address)).state, "recovered");
  });

  for (const [kind, token, arrives] of [
    ["returns nothing, like USDT", silent, 1_000n],
    ["takes a fee", fee, 990n],
  ] as const) {
    test(`is returned even if its contract ${kind}`, onlyLong, async () => {
      const record = await openRecord();
      await mineOver(record);
      await mint(token, record.address, 1_000n);
      assert.equal(await fateOf(record.address, token), "queued");
      await until("the token is returned", async () => {
        return (await world.balanceOf(record.intent.recovery, token)) === arrives;
      });
    });
  }

  test("can be reported again if more of the token arrives", onlyLong, async () => {
    const record = await openRecord();
    const { address, intent } = record;
    await mineOver(record);
    for (const total of [10n, 20n]) {
      await mint(plain, address, 10n);
      assert.equal(await fateOf(address, plain), "queued");
      await until("the token is returned", async () => {
        return (await world.balanceOf(intent.recovery, plain)) === total;
      });
      await settledOf(address);
    }
  });
});

describe("a hostile token", () => {
  test("causes no transaction if its simulation fails or shows no transfer", async () => {
    const record = await openRecord();
    const { address, intent } = record;
    await mineOver(record);
    await mint(hostile.refusing, address, 5n);
    await mint(hostile.slow, address, 5n);
    await mint(hostile.blocking, address, 5n);
    const block = parseAbi(["function setBlocked(address, bool)"]);
    const blocked = [intent.recovery, true] as const;
    const call = { address: hostile.blocking, abi: block, functionName: "setBlocked" } as const;
    await client.writeContract({ ...call, args: blocked });
    const lie = parseAbi(["function lie(uint256, uint256, bool)"]);
    const lies = { address: hostile.lying, abi: lie, functionName: "lie" } as const;
    await client.writeContract({ ...lies, args: [2n ** 255n, 32n, false] });
    await client.mine({ blocks: 2 });
    const before = await sent();
    for (const token of [hostile.refusing, hostile.lying, hostile.slow, hostile.blocking]) {
      assert.equal(await fateOf(address, token), "unmovable", token);
    }
    // Saves the reports directly, because the executor must not rely on the API's validation.
    const tokens = Object.values(hostile).slice(0, rounds(2, 4));
    const fates = await reportNow(record, tokens);
    assert.deepEqual(new Set(fates), new Set(["queued"]));
    await until("the executor has tried them", async () => {
      const rows = await store.db
        .selectFrom("executor_named")
        .select("due_at")
        .where("address", "=", Buffer.from(address.slice(2), "hex"))
        .execute();
      return rows.length === tokens.length && rows.every(({ due_at }) => due_at === null);
    });
    assert.equal(await sent(), before);
  });

  test("causes no transaction for an address that the operator dropped", async () => {
    const record = await openRecord();
    const { address, intent } = record;
    await mineOver(record);
    await settledOf(address);
    await mint(plain, address, 5n);
    assert.equal(await dropJob(store.db, intent.chainId, address.toLowerCase() as Hex), true);
    const before = await sent();
    assert.equal(await fateOf(address, plain), "left_to_owner");
    await reportNow(record, [plain]);
    await sleep(6_000);
    assert.equal(await sent(), before);
  });

  test(
    "cannot prevent later returns of other tokens, even by calling the factory",
    onlyLong,
    async () => {
      const record = await openRecord();
      const { address, intent } = record;
      await mineOver(record);
      await mint(reentering, address, 5n);
      await client.writeContract({
        address: reentering,
        abi: parseAbi(["function setCall(address, bytes)"]),
        functionName: "setCall",
        args: [record.factory, toHex(recoverCalldata(record.terms, [reentering]))],
      });
      await client.mine({ blocks: 2 });
      assert.equal(await fateOf(address, reentering), "queued");
      await until("the token is returned", async () => {
        return (await world.balanceOf(intent.recovery, reentering)) === 5n;
      });
      await settledOf(address);
      await pay(address, 3n);
      await until("the surplus is returned", async () => {
        return (await world.balanceOf(intent.recovery)) === 3n;
      });
    },
  );

  for (const burns of [true, false]) {
    const how = burns ? "burns gas" : "moves nothing";
    const name = `causes at most one transaction if it ${how} only outside of simulations`;
    test(name, burns ? {} : onlyLong, async () => {
      const record = await openRecord();
      const { address, intent } = record;
      await mineOver(record);
      await mint(twoFaced, address, 5n);
      const abi = parseAbi(["function setBurns(bool)"]);
      const set = { address: twoFaced, abi, functionName: "setBurns", args: [burns] } as const;
      await client.writeContract(set);
      await client.mine({ blocks: 2 });
      const before = await sent();
      assert.equal(await fateOf(address, twoFaced), "queued");
      await until("the executor has tried the return", async () => (await sent()) > before);
      await settledOf(address);
      const { gasUsed } = (await newestOf(twoKeys[0]!.address))!;
      assert.ok(gasUsed < 500_000n, `${gasUsed} gas`);
      assert.equal(await fateOf(address, twoFaced), "failed");
      await sleep(1_500);
      assert.equal(await sent(), before + 1);
      // The failure does not affect the address's listed tokens.
      await pay(address, 7n);
      await until("the surplus is returned", async () => {
        return (await world.balanceOf(intent.recovery)) === 7n;
      });
      assert.equal(await sent(), before + 2);
      const job = await store.db
        .selectFrom("executor_jobs")
        .select(["failures", "recovery_failures", "recoveries"])
        .where("address", "=", Buffer.from(address.slice(2), "hex"))
        .executeTakeFirstOrThrow();
      assert.deepEqual(job, { failures: 0, recovery_failures: 0, recoveries: 1 });
    });
  }

  test("causes at most `reportedTokensPerDay` transactions per account and day", async () => {
    const accountId = newAccount();
    const count = reportedTokensPerDay + 2;
    const records = await Promise.all(
      Array.from({ length: count }, () => openRecord(60, accountId)),
    );
    await client.increaseTime({ seconds: 120 });
    await client.mine({ blocks: 2 });
    for (const { address } of records) await mint(plain, address, 5n);
    const before = await sent();
    for (const { address } of records) assert.equal(await fateOf(address, plain), "queued");
    const all = before + reportedTokensPerDay;
    await until("the limit is reached", async () => (await sent()) >= all);
    await sleep(3_000);
    assert.equal(await sent(), all);
    // The limit affects neither other accounts nor the account's own payments.
    for (const id of [accountId, newAccount()]) {
      const paid = await openRecord(86_400, id);
      await mineOver(paid);
    }
  });
});

describe("the return of a reported token", () => {
  test("leaves half of a budget even if the same pass has sent executions", async (context) => {
    const accountId = newAccount();
    const closed = await openRecord(86_400, accountId);
    const { chainId, recovery } = closed.intent;
    await mineOver(closed);
    await settledOf(closed.address);
    await mint(plain, closed.address, 5n);
    await setPaused(store.db, chainId, true);
    const due = await Promise.all(Array.from({ length: 8 }, () => openRecord(86_400, accountId)));
    await world.pay(due.map(({ address, intent }) => ({ to: address, amount: intent.amount })));
    await until("the payments are detected", async () => {
      const found = await store.db.selectFrom("executor_jobs").select("address").execute();
      const known = new Set(found.map((row) => Buffer.from(row.address).toString("hex")));
      return due.every(({ address }) => known.has(address.slice(2).toLowerCase()));
    });
    await reportNow(closed, [plain]);
    await running.stop();

    const [core] = openParts(partsFor(store, chains), AbortSignal.abort());
    const { weiMax } = await dryRun(core!);
    await setPaused(store.db, chainId, false);
    // The executions cost half of the account's budget, so nothing is left for the return.
    const perAccountMax = BigInt(weiMax) * 2n;
    const again = startCore(store, chains, (one) => {
      const budgets = { ...one.chain.budgets, perAccountMax };
      return { ...one, chain: { ...one.chain, budgets, reportedTokensPerDay } };
    });
    context.after(again.stop);
    await until("they are executed", async () => {
      return (await Promise.all(due.map(({ address }) => isExecuted(address)))).every(Boolean);
    });
    await until("no transaction is pending", () => isAtRest(store));
    // A slow machine can simulate the executions in several passes. A return may come before the
    // last executions, because nothing is reserved for these.
    const sent = again.events.flatMap((event) => (event.kind === "sent" ? [event] : []));
    const returnAt = sent.findIndex(({ purpose }) => purpose === "return");
    const executions = sent.slice(0, returnAt).map(({ addresses }) => addresses);
    const executed = executions.reduce((sum, addresses) => sum + addresses, 0);
    assert.ok(returnAt === -1 || executed < due.length, `a return after ${executed} executions`);
    // The executions cost less than reserved, so the next attempt stays within half of the budget.
    await client.increaseTime({ seconds: 300 });
    await until("the token is returned", async () => {
      return (await world.balanceOf(recovery, plain)) === 5n;
    });
  });
});

/** Returns the receipt of a sender's newest transaction. */
async function newestOf(sender: Hex) {
  const head = await client.getBlockNumber();
  for (let number = head; number > head - 60n; number--) {
    const { transactions } = await client.getBlock({
      blockNumber: number,
      includeTransactions: true,
    });
    const mine = transactions.find(({ from }) => from.toLowerCase() === sender.toLowerCase());
    if (mine) return client.getTransactionReceipt({ hash: mine.hash });
  }
  return undefined;
}
