// Tests the event `address.payment` on a local chain: kinds and numbers of payments, and
// reorganizations.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Hex, zeroAddress } from "executable-address";
import { proveEvent } from "executable-address/webhook";
import type { Payment } from "../follow/payment.ts";
import { openEvents } from "../testing/events-world.ts";
import { paymentTo } from "../testing/payments.ts";
import { paymentsMax, saveOwnPayments } from "./payments.ts";

for (const dialect of ["sqlite", "postgres"] as const) {
  const {
    store,
    world,
    lookalike,
    clock,
    pass,
    block,
    mark,
    create,
    events,
    payments,
    kept,
    swept,
    factsOf,
  } = await openEvents(dialect);

  describe(`the event \`address.payment\` on ${dialect}`, () => {
    const kinds = async (account: string) =>
      (await payments(account)).map(({ amount, kind, isLate }) => [amount, kind, isLate]);

    test("is not sent for an unpaid address or an intent of another chain", async () => {
      const [record, elsewhere] = [await world.newRecord(), await world.newRecord({ chainId: 10 })];
      const accounts = [await create(record), await create(elsewhere)];
      await world.pay(elsewhere.address, 100n);
      await swept([record.address, elsewhere.address]);
      await pass();
      for (const account of accounts) assert.deepEqual(await events(account), []);
    });

    test("is sent for a real payment even after 1,000 payments of one unit", async () => {
      const record = await world.newRecord({ amount: "1000" });
      const account = await create(record);
      await world.pay(record.address, 1n);
      const [dust] = await swept([record.address]);
      const flood = Array.from({ length: 1000 }, (_, at) => ({ ...dust!, logIndex: at + 1 }));
      const keep = (some: Payment[]) =>
        store.db.transaction().execute((tx) => saveOwnPayments(tx, 31_337, some));
      for (let at = 0; at < 1000; at += 100) await keep(flood.slice(at, at + 100));
      await keep(flood.slice(0, 100));
      await world.pay(record.address, 1000n);
      await swept([record.address]);
      await pass();
      const found = await payments(account);
      assert.equal(found.filter(({ amount }) => amount === "1").length, paymentsMax);
      assert.deepEqual(found.map(({ isLast }) => isLast).indexOf(true), paymentsMax - 1);
      assert.equal(found.at(-1)?.amount, "1000");
      assert.equal((await kept(record.address)).length, paymentsMax + 1);
    });

    test("is sent for a payment even if an invented log has the payment's log index", async () => {
      const record = await world.newRecord({ amount: "1000" });
      const account = await create(record);
      await world.pay(record.address, 1000n);
      const logs = await world.client.getLogs({ fromBlock: BigInt(await block()) });
      const place = {
        ...{ blockNumber: await block(), blockHash: logs[0]!.blockHash! },
        ...{ logIndex: logs[0]!.logIndex!, transactionHash: logs[0]!.transactionHash! },
      };
      const forged = paymentTo(record.address.toLowerCase() as Hex, place.blockNumber, {
        ...place,
        ...{ token: world.token.toLowerCase() as Hex, amount: "5", isLookalike: false },
      });
      for (const _ of [1, 2]) {
        await store.db.transaction().execute((tx) => saveOwnPayments(tx, 31_337, [forged]));
        await swept([record.address]);
      }
      assert.equal((await kept(record.address)).length, 2);
      await pass();
      const reported = await payments(account);
      assert.deepEqual(
        reported.map(({ amount, logIndex }) => [amount, logIndex]),
        [
          ["5", place.logIndex],
          ["1000", place.logIndex],
        ],
      );
      // A receiver that verifies the first two events with its own node finds only the real
      // payment.
      for (const event of (await events(account)).slice(0, 2)) {
        const options = { rpcs: [world.rpcUrl], confirmations: 0 };
        const found = await proveEvent(event, record, options);
        const proved = found.fact === "payment" ? found.payments : [];
        assert.deepEqual(
          proved.map(({ amount }) => amount),
          ["1000"],
        );
      }
    });

    test("is sent for large payments in two tokens despite many tiny payments", async () => {
      const record = await world.newRecord({ amount: "1000000000" });
      const account = await create(record);
      await world.pay(record.address, 1n);
      const [dust] = await swept([record.address]);
      const other: Hex = `0x${"7e".repeat(20)}`;
      const some = (from: number, amounts: string[], token = dust!.token) =>
        amounts.map((amount, at) => ({ ...dust!, token, amount, logIndex: from + at }));
      const real = [
        ...some(300, ["25000000"], other),
        // An attacker can hide one of these payments only with two other payments in the same
        // token. Each of the two must exceed half of the hidden payment.
        ...some(400, ["1100000", "25000000"]),
      ];
      const ones = Array.from({ length: 100 }, () => "1");
      const rising = Array.from({ length: 40 }, (_, at) => `${2 ** (at % 20)}`);
      const all = [...some(1, ones), ...some(101, rising), ...some(141, rising), ...real];
      for (const part of [all, all]) {
        await store.db.transaction().execute((tx) => saveOwnPayments(tx, 31_337, part));
      }
      const amounts = (await kept(record.address)).map(({ amount }) => amount);
      assert.equal(amounts.filter((amount) => amount === "25000000").length, 2);
      assert.ok(amounts.includes("1100000"));
      assert.ok(amounts.length <= paymentsMax + 2 * 20 + 3, `${amounts.length} rows`);
      await pass();
      const reported = (await payments(account)).map(({ amount }) => amount);
      assert.equal(reported.filter((amount) => amount === "25000000").length, 2);
    });

    test("is sent for at most 16 payments of native coin after an execution", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await world.execute(record);
      await swept([record.address]);
      await pass();
      for (let round = 0; round < 20; round++) {
        await world.payNative(record.address, 5n);
        await swept([record.address]);
        await pass();
      }
      const coin = (await payments(account)).filter(({ payer }) => payer === null);
      assert.equal(coin.length, 16);
      assert.ok(coin.every(({ transactionHash, isLate }) => !transactionHash && isLate));
      assert.deepEqual(coin.map(({ isLast }) => isLast).indexOf(true), 15);
    });

    test("contains the kind of the payment, such as `partial` or `surplus`", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      const other = await world.newToken();
      await world.pay(record.address, 40n);
      await swept([record.address]);
      await pass();
      assert.deepEqual(await kinds(account), [["40", "partial", false]]);
      await world.pay(record.address, 7n, other);
      const last = await world.pay(record.address, 60n);
      await world.pay(record.address, 5n);
      await swept([record.address]);
      await Promise.all([pass(), pass()]);
      assert.deepEqual((await kinds(account)).slice(1), [
        ["7", "other_token", false],
        ["60", "requested", false],
        ["5", "surplus", false],
      ]);
      const [first, , asked] = await payments(account);
      assert.equal(first?.payer, zeroAddress);
      assert.equal(first?.token, world.token);
      assert.equal(asked?.transactionHash, last.transactionHash);
      assert.equal(asked?.blockHash, last.blockHash);
      assert.equal(asked?.logIndex, last.logs[0]?.logIndex);
      const reported = await events(account);
      assert.deepEqual(
        reported.map(({ type }) => type),
        [...Array(4).fill("address.payment"), "address.funded"],
      );
      assert.ok(reported.every(({ version }) => version === 1));
      const facts = await factsOf(record, reported);
      assert.deepEqual(facts, [...Array(4).fill("payment"), "funded"]);
    });

    test("has the kind `wrong_token` if the payment was made in a look-alike", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      const { transactionHash } = await world.pay(record.address, 100n, lookalike);
      await world.pay(record.address, 100n);
      await swept([record.address]);
      await pass();
      assert.deepEqual(await kinds(account), [
        ["100", "wrong_token", false],
        ["100", "requested", false],
      ]);
      const [wrong] = await payments(account);
      assert.equal(wrong?.token.toLowerCase(), lookalike);
      assert.equal(wrong?.transactionHash, transactionHash);
      assert.deepEqual(await factsOf(record, await events(account)), [
        ...["payment", "payment"],
        "funded",
      ]);
    });

    test("is sent for the requested token despite a flood of look-alike payments", async () => {
      const [record, other] = [await world.newRecord(), await world.newRecord()];
      const [account, others] = [await create(record), await create(other)];
      await world.pay(record.address, 100n);
      await world.pay(other.address, 100n);
      const number = await block();
      const flood = Array.from({ length: 200 }, (_, index) =>
        paymentTo(record.address.toLowerCase() as Hex, number, {
          ...{ token: lookalike, amount: "100", isLookalike: true, logIndex: 1_000 + index },
        }),
      );
      await store.db
        .transaction()
        .execute((transaction) => saveOwnPayments(transaction, 31_337, flood));
      await swept([record.address, other.address]);
      await pass();
      const reported = await kinds(account);
      assert.equal(reported.filter(([, kind]) => kind === "wrong_token").length, paymentsMax);
      assert.equal(reported.filter(([, kind]) => kind === "requested").length, 1);
      assert.deepEqual(await kinds(others), [["100", "requested", false]]);
    });

    test("precedes `address.surplus` and `address.recovered` if the payment is late", async () => {
      const { timestamp } = await world.client.getBlock();
      const expirationTimestamp = Number(timestamp) + 300;
      const [done, over] = [
        await world.newRecord(),
        await world.newRecord({ expirationTimestamp }),
      ];
      const [a, b] = [await create(done), await create(over)];
      for (const { address } of [done, over]) await world.pay(address, 50n);
      await world.pay(done.address, 50n);
      await world.execute(done);
      await world.pay(done.address, 3n);
      await world.mineAt(expirationTimestamp + 1);
      await world.pay(over.address, 50n);
      await world.recover(over, [world.token]);
      await swept([done.address, over.address]);
      await pass();
      assert.deepEqual(await kinds(a), [
        ["50", "partial", false],
        ["50", "requested", false],
        ["3", "surplus", true],
      ]);
      assert.deepEqual(await kinds(b), [
        ["50", "partial", false],
        ["50", "requested", true],
      ]);
      const order = async (account: string) =>
        (await events(account)).map(({ type }) => type.replace("address.", ""));
      assert.deepEqual(await order(a), ["payment", "payment", "executed", "payment", "surplus"]);
      assert.deepEqual(await order(b), ["payment", "payment", "recovered"]);
      const executed = (await events(a)).find(({ type }) => type === "address.executed");
      assert.deepEqual(
        executed?.data.payments.map(({ amount, payer }) => [amount, payer]),
        [
          ["50", zeroAddress],
          ["50", zeroAddress],
        ],
      );
      const recovered = (await events(b)).at(-1);
      assert.equal(recovered?.data.payments.length, 2);
      assert.equal(recovered?.data.paymentsOmitted, 0);
    });

    test("is sent once, without a payer, if the payment precedes the create request", async () => {
      const record = await world.newRecord();
      await world.pay(record.address, 100n);
      await world.mine(8);
      const account = await create(record);
      await mark(record.address);
      await pass();
      await world.mine(1);
      clock.nowMs += 15_000;
      await pass();
      await mark(record.address);
      await pass();
      const [first, second] = await payments(account);
      assert.equal(second, undefined);
      assert.deepEqual([first?.amount, first?.payer, first?.kind], ["100", null, "requested"]);
      const reported = (await events(account)).filter(({ data }) => data.payment);
      assert.deepEqual(await factsOf(record, reported), ["held"]);
    });

    test("is sent again if a reorganization moves the payment to another block", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.mine(1);
      await world.pay(record.address, 40n);
      await swept([record.address]);
      await pass();
      await world.reorg(1);
      await world.mine(1);
      await pass();
      await pass();
      const order = async () =>
        (await events(account)).map(({ type }) => type.replace("address.", ""));
      assert.deepEqual(await order(), ["payment", "reverted"]);
      assert.deepEqual(await factsOf(record, await events(account)), ["outdated", "reverted"]);
      const again = await world.pay(record.address, 40n);
      await swept([record.address]);
      await pass();
      assert.deepEqual(await order(), ["payment", "reverted", "payment"]);
      assert.equal((await payments(account))[1]?.blockHash, again.blockHash);
    });
  });
}
