// Tests events from a real chain on both databases: the marking of addresses, observations, and
// reorganizations.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  type AddressRecord,
  factoryAddress,
  fromHex,
  type Hex,
  zeroAddress,
} from "executable-address";
import { proveEvent, type ServiceEvent } from "executable-address/webhook";
import { parseAbiItem } from "viem";
import { returnsFinder } from "../executor/desk.ts";
import { findAnchor, forgetAnchorsAbove, keepAnchor } from "../follow/anchors.ts";
import type { Payment } from "../follow/parts.ts";
import { openStore } from "../roles/open-store.ts";
import { keccak } from "../store/record.ts";
import type { Store } from "../store/store.ts";
import { observedChainOf } from "../testing/app-on-chain.ts";
import { startWorld, type World } from "../testing/chain/world.ts";
import { paymentTo } from "../testing/payments.ts";
import { startPostgres, type TestPostgres } from "../testing/postgres.ts";
import { eventBytesMax } from "./changes.ts";
import { listEvents, pruneEvents } from "./list.ts";
import { markObservedAbove, markWatches, setConfirmations } from "./mark.ts";
import { listMoney, readPace } from "./money.ts";
import { type ObservedChain, observe } from "./observe.ts";
import { forgetPaymentsAbove, keepPayments, paymentsMax } from "./payments.ts";

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`events, on ${dialect}`, () => {
    let directory: string;
    let postgres: TestPostgres | undefined;
    let store: Store;
    let world: World;
    let chain: ObservedChain;
    let lookalike: Hex;
    let nowMs = Date.now();
    let accounts = 0;
    const faults: string[] = [];
    const enqueued: string[] = [];

    before(async () => {
      directory = mkdtempSync(join(tmpdir(), "events-"));
      if (dialect === "postgres") postgres = await startPostgres();
      store = await openStore({ dataDirectory: directory, databaseUrl: postgres?.url });
      world = await startWorld();
      chain = observedChainOf(world);
      lookalike = (await world.newToken()).toLowerCase() as Hex;
      await store.db
        .insertInto("event_chains")
        .values({ chain_id: world.chain.chainId, confirmations: 0 })
        .execute();
    });
    after(async () => {
      await world.stop();
      await store.close();
      await postgres?.stop();
      rmSync(directory, { recursive: true });
    });

    const parts = () => ({
      store,
      factory: factoryAddress,
      keccak,
      publicUrl: "https://pay.example",
      now: () => nowMs,
      findReturns: returnsFinder(store.db, keccak),
      onFault: (address: string) => faults.push(address),
      onEvents: async (_: unknown, events: { id: string }[]) => {
        enqueued.push(...events.map(({ id }) => id));
      },
    });
    /** Saves anchors up to the head, as the chain's loop does. */
    const follow = async () => {
      const { db } = store;
      for (;;) {
        const anchor = await findAnchor(db, 31_337);
        if (!anchor || (await chain.blockAt(anchor.number))?.hash === anchor.hash) break;
        await forgetAnchorsAbove(db, 31_337, anchor.number - 1);
        await forgetPaymentsAbove(db, 31_337, anchor.number - 1);
        await markObservedAbove(db, 31_337, anchor.number - 1);
      }
      await keepAnchor(db, 31_337, await chain.head());
    };
    const pass = async () => {
      await follow();
      return observe(parts(), chain);
    };
    const block = async () => Number(await world.client.getBlockNumber());
    const mark = async (...addresses: Hex[]) => markAt(await block(), addresses);
    const markAt = (number: number, addresses: Hex[]) =>
      store.db
        .transaction()
        .execute((transaction) => markWatches(transaction, 31_337, addresses, number));

    async function create(record: AddressRecord, accountId = `acc_${++accounts}`) {
      const address = fromHex(record.address);
      const terms = fromHex(record.terms);
      await store.saveRecord({ address, terms, accountId, createdAtMs: nowMs });
      return accountId;
    }
    const events = async (accountId: string): Promise<ServiceEvent[]> => {
      const { rows } = await listEvents(store.db, { accountId, after: 0, limit: 200 });
      return rows.map(({ body }) => JSON.parse(body));
    };
    /** Returns all events except payments. */
    const newsOf = async (accountId: string) =>
      (await events(accountId)).filter(({ type }) => type !== "address.payment");
    const payments = async (accountId: string) =>
      (await events(accountId)).flatMap(({ data: { payment } }) => payment ?? []);
    /** Returns the stored payments to an address. */
    const kept = (address: Hex) =>
      store.db
        .selectFrom("payments")
        .select(["log_index", "amount"])
        .where("address", "=", fromHex(address))
        .execute();
    /** Marks the addresses and saves the payments in logs, as the chain's loop does. */
    const swept = async (addresses: Hex[], from = 0) => {
      const logs = await world.client.getLogs({
        event: parseAbiItem("event Transfer(address indexed, address indexed, uint256)"),
        fromBlock: BigInt(from),
      });
      const found = logs.map(({ args: [payer, to, amount], ...log }): Payment => {
        const { blockHash, transactionHash, logIndex } = log;
        const token = log.address.toLowerCase() as Hex;
        const place = {
          blockHash,
          transactionHash,
          logIndex,
          blockNumber: Number(log.blockNumber),
        };
        const isLookalike = token === lookalike;
        return { ...place, address: to!, payer: payer!, token, amount: `${amount}`, isLookalike };
      });
      const mine = found
        .map((each) => ({ ...each, address: each.address.toLowerCase() as Hex }))
        .filter(({ address }) => addresses.some((one) => one.toLowerCase() === address));
      const number = await block();
      await store.db.transaction().execute(async (transaction) => {
        await markWatches(transaction, 31_337, addresses, number);
        await keepPayments(transaction, 31_337, mine);
      });
      return mine;
    };
    /** Returns the paid, executed, and returned sums by day, with the numbers of addresses. */
    const moved = async (accountId: string) =>
      (await listMoney(store.db, accountId, 0)).map(({ paid, executed, returned, ...row }) => [
        ...[paid, executed, returned],
        ...[row.paidCount, row.executedCount, row.returnedCount],
      ]);
    /** Proves events in the same way as a receiver that has its own node. */
    const factsOf = async (record: AddressRecord, events: readonly ServiceEvent[]) => {
      const options = { rpcs: [world.rpcUrl], confirmations: 0 };
      const facts = events.map((event) => proveEvent(event, record, options));
      return (await Promise.all(facts)).map(({ fact }) => fact);
    };
    const types = async (accountId: string) =>
      (await newsOf(accountId)).map(({ type }) => type.replace("address.", ""));

    test("reports nothing for unmarked addresses or other chains, and nothing twice", async () => {
      const record = await world.newRecord();
      const elsewhere = await world.newRecord({ chainId: 10 });
      const [a, b] = [await create(record), await create(elsewhere)];
      await world.pay(record.address, 100n);
      await pass();
      assert.deepEqual(await types(a), []);
      await mark(record.address, elsewhere.address);
      await Promise.all([pass(), pass()]);
      await mark(record.address);
      await pass();
      assert.deepEqual(await types(a), ["funded"]);
      assert.deepEqual(await types(b), []);
      assert.deepEqual(await moved(a), [["100", "0", "0", 1, 0, 0]]);
    });

    test("reports nothing if the marking transaction is rolled back", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      const undone = store.db.transaction().execute(async (transaction) => {
        await markWatches(transaction, 31_337, [record.address], await block());
        throw new Error("undone");
      });
      await assert.rejects(undone);
      await pass();
      assert.deepEqual(await types(account), []);
    });

    test("reports funded, executed, surplus, and recovered in order, with evidence", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      const address = fromHex(record.address);
      await store.saveRecord({
        ...{ address, terms: fromHex(record.terms), accountId: account, createdAtMs: nowMs },
        reference: "order-42",
      });
      assert.deepEqual(await readPace(store.db, account), { toPaidMs: null, toExecutedMs: null });
      await world.pay(record.address, 130n);
      await mark(record.address);
      nowMs += 40_000;
      await pass();
      assert.deepEqual(await factsOf(record, await newsOf(account)), ["funded"]);
      nowMs += 3_000;
      const { transactionHash } = await world.execute(record);
      await mark(record.address);
      await pass();
      const then = ["outdated", "executed", "surplus"];
      assert.deepEqual(await factsOf(record, await newsOf(account)), then);
      const back = await world.recover(record, [world.token]);
      await mark(record.address);
      await pass();
      assert.deepEqual(await moved(account), [["130", "100", "30", 1, 1, 1]]);
      const pace = { toPaidMs: 40_000, toExecutedMs: 3_000 };
      assert.deepEqual(await readPace(store.db, account), pace);
      const events = await newsOf(account);
      assert.deepEqual(
        events.map(({ type, data }) => [type, data.status.state]),
        [
          ["address.funded", "funded"],
          ["address.executed", "executed"],
          ["address.surplus", "executed"],
          ["address.recovered", "executed"],
        ],
      );
      const [, executed, , recovered] = events;
      assert.equal(executed?.data.transactionHash, transactionHash);
      assert.equal(executed?.data.status.execution?.left, "30");
      assert.equal(recovered?.data.transactionHash, back.transactionHash);
      assert.deepEqual(await factsOf(record, events), [
        "outdated",
        "executed",
        "outdated",
        "recovered",
      ]);
      assert.equal(executed?.data.reference, "order-42");
      assert.equal(executed?.data.recordUrl, `https://pay.example/v1/address/${record.address}`);
      for (const { id } of events) assert.ok(enqueued.includes(id));
    });

    test("finds an unmarked execution by somebody else at a later read", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await pass();
      await world.execute(record);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
      nowMs += 15_000;
      await pass();
      assert.deepEqual(await types(account), ["funded", "executed"]);
    });

    test("reports to each creator of the address, after that account's confirmations", async () => {
      const record = await world.newRecord();
      const first = await create(record);
      const later = await create(record);
      await setConfirmations(store.db, later, 31_337, 3);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await pass();
      assert.deepEqual([await types(first), await types(later)], [["funded"], []]);
      await world.mine(2);
      await pass();
      assert.deepEqual(await types(later), []);
      await world.mine(1);
      await pass();
      assert.deepEqual(await types(later), ["funded"]);
    });

    test("reports reverted after a reorganization, then the current state", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await world.mine(3);
      await world.execute(record);
      await mark(record.address);
      await pass();
      assert.deepEqual(await types(account), ["executed"]);
      await world.reorg(2);
      await world.mine(1);
      await pass();
      assert.deepEqual(await types(account), ["executed", "reverted", "funded"]);
      const facts = await factsOf(record, await newsOf(account));
      assert.deepEqual(facts, ["outdated", "reverted", "funded"]);
      const [executed, reverted] = await newsOf(account);
      assert.equal(reverted?.data.status.state, "funded");
      assert.notEqual(reverted?.data.status.block.hash, executed?.data.status.block.hash);
    });

    /**
     * Creates an address and pays it in a block that the loop has read.
     *
     * @returns the account of the address
     */
    const paidToBeRead = async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await follow();
      return account;
    };

    test("reports nothing from a block that the loop has not read", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await follow();
      await world.pay(record.address, 100n);
      await mark(record.address);
      await observe(parts(), chain);
      assert.deepEqual(await types(account), []);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
    });

    test("reports nothing if the node's block differs from the block the loop read", async () => {
      const account = await paidToBeRead();
      const { blockAt } = chain;
      chain.blockAt = async (number) => ({
        ...(await blockAt(number))!,
        hash: `0x${"9".repeat(64)}`,
      });
      const message = /^chain 31337 now has a different block \d+ than 0x[0-9a-f]{64}$/;
      await assert.rejects(observe(parts(), chain), { message });
      chain.blockAt = blockAt;
      assert.deepEqual(await types(account), []);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
    });

    test("reports nothing if the node has lost the block", async () => {
      const account = await paidToBeRead();
      const { blockAt } = chain;
      let asked = 0;
      chain.blockAt = async (number) => (asked++ === 0 ? blockAt(number) : undefined);
      const message = /^chain 31337 lost block \d+ below its head$/;
      await assert.rejects(observe(parts(), chain), { message });
      chain.blockAt = blockAt;
      assert.deepEqual(await types(account), []);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
    });

    test("reports nothing from a block that is replaced during the read", async () => {
      const account = await paidToBeRead();
      const { readAt } = chain;
      chain.readAt = async (subject, at) => {
        const status = await readAt(subject, at);
        await world.reorg(1);
        await world.mine(1);
        await follow();
        return status;
      };
      await assert.rejects(observe(parts(), chain), /is no longer in the chain/);
      chain.readAt = readAt;
      await pass();
      assert.deepEqual(await types(account), []);
    });

    test("makes due exactly the 450 watches that were observed above the last block", async () => {
      const chainId = 7;
      const watch = (number: number) => ({
        ...{ account_id: `acc_${number % 3}`, address: Buffer.alloc(20, 7), chain_id: chainId },
        ...{ token: Buffer.alloc(20), created_at: 1, marked_block: 1, version: 1, sequence: 1 },
        ...{ looks: 1, block_number: 1 + (number % 4), state: "funded" },
      });
      const watches = Array.from({ length: 600 }, (_, number) => watch(number));
      for (const [number, { address }] of watches.entries()) address.writeUInt32BE(number);
      await store.db.insertInto("watches").values(watches).execute();
      await markObservedAbove(store.db, chainId, 1);
      const due = store.db.selectFrom("watches").where("chain_id", "=", chainId);
      const marked = await due.select(["block_number", "due_block"]).execute();
      for (const { block_number, due_block } of marked) {
        assert.equal(due_block, block_number === 1 ? null : 0);
      }
      assert.equal(marked.length, 600);
      await store.db.deleteFrom("watches").where("chain_id", "=", chainId).execute();
    });

    test("a record that derives a different address does not affect other records", async () => {
      const [good, bad] = [await world.newRecord(), await world.newRecord()];
      const account = await create(good);
      const terms = fromHex((await world.newRecord()).terms);
      const row = { address: fromHex(bad.address), terms, accountId: account, createdAtMs: nowMs };
      await store.saveRecord(row);
      await world.pay(good.address, 100n);
      await mark(good.address, bad.address);
      await pass();
      assert.ok(faults.includes(bad.address.toLowerCase()));
      assert.deepEqual(await types(account), ["funded"]);
    });

    test("reports expired by the chain's clock if the address received money", async () => {
      const { timestamp } = await world.client.getBlock();
      const expirationTimestamp = Number(timestamp) + 600;
      const record = await world.newRecord({ expirationTimestamp });
      const account = await create(record);
      await world.pay(record.address, 5n);
      await mark(record.address);
      await pass();
      assert.deepEqual(await types(account), []);
      await world.mineAt(expirationTimestamp + 1);
      nowMs += 700_000;
      await pass();
      assert.deepEqual(await types(account), ["expired"]);
      assert.deepEqual(await factsOf(record, await newsOf(account)), ["expired"]);
      await world.recover(record, [world.token]);
      await mark(record.address);
      await pass();
      assert.deepEqual(await types(account), ["expired", "recovered"]);
      assert.deepEqual(await factsOf(record, await newsOf(account)), ["outdated", "recovered"]);
    });

    test("limits the size of an event, regardless of the number of recoveries", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await world.execute(record);
      for (let i = 0; i < 40; i++) {
        await world.pay(record.address, 1n);
        await world.recover(record, [world.token]);
      }
      await mark(record.address);
      await pass();
      const { rows } = await listEvents(store.db, { accountId: account, after: 0, limit: 9 });
      assert.ok(rows.every(({ body }) => Buffer.byteLength(body) <= eventBytesMax));
      const { data } = JSON.parse(rows.at(-1)!.body) as ServiceEvent;
      assert.equal(data.recoveriesOmitted, 10);
    });

    describe("address.payment", () => {
      const kinds = async (account: string) =>
        (await payments(account)).map(({ amount, kind, isLate }) => [amount, kind, isLate]);

      test("reports nothing for an unpaid address or another chain", async () => {
        const [record, elsewhere] = [
          await world.newRecord(),
          await world.newRecord({ chainId: 10 }),
        ];
        const accounts = [await create(record), await create(elsewhere)];
        await world.pay(elsewhere.address, 100n);
        await swept([record.address, elsewhere.address]);
        await pass();
        for (const account of accounts) assert.deepEqual(await events(account), []);
      });

      test("reports 32 events for 1,000 payments of 1 unit, and the real payment", async () => {
        const record = await world.newRecord({ amount: "1000" });
        const account = await create(record);
        await world.pay(record.address, 1n);
        const [dust] = await swept([record.address]);
        const flood = Array.from({ length: 1000 }, (_, at) => ({ ...dust!, logIndex: at + 1 }));
        const keep = (some: Payment[]) =>
          store.db.transaction().execute((tx) => keepPayments(tx, 31_337, some));
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

      test("reports a payment even if a false log has the same index", async () => {
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
          await store.db.transaction().execute((tx) => keepPayments(tx, 31_337, [forged]));
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
        // With either of the two events, a receiver proves the real amount.
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

      test("reports a greater payment despite dust and payments in other tokens", async () => {
        const record = await world.newRecord({ amount: "1000000000" });
        const account = await create(record);
        await world.pay(record.address, 1n);
        const [dust] = await swept([record.address]);
        const other: Hex = `0x${"7e".repeat(20)}`;
        const some = (from: number, amounts: string[], token = dust!.token) =>
          amounts.map((amount, at) => ({ ...dust!, token, amount, logIndex: from + at }));
        const real = [
          ...some(300, ["25000000"], other),
          // To hide the payment, a stranger would need two payments of this size.
          ...some(400, ["1100000", "25000000"]),
        ];
        const ones = Array.from({ length: 100 }, () => "1");
        const rising = Array.from({ length: 40 }, (_, at) => `${2 ** (at % 20)}`);
        const all = [...some(1, ones), ...some(101, rising), ...some(141, rising), ...real];
        for (const part of [all, all]) {
          await store.db.transaction().execute((tx) => keepPayments(tx, 31_337, part));
        }
        const amounts = (await kept(record.address)).map(({ amount }) => amount);
        assert.equal(amounts.filter((amount) => amount === "25000000").length, 2);
        assert.ok(amounts.includes("1100000"));
        assert.ok(amounts.length <= paymentsMax + 2 * 20 + 3, `${amounts.length} rows`);
        await pass();
        const reported = (await payments(account)).map(({ amount }) => amount);
        assert.equal(reported.filter((amount) => amount === "25000000").length, 2);
      });

      test("reports at most 16 events without a payer for 20 payments of coin", async () => {
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

      test("reports partial, other_token, asked, and surplus, each with the payer", async () => {
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
          ["60", "asked", false],
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

      test("reports wrong_token for a look-alike, which is not counted as paid", async () => {
        const record = await world.newRecord();
        const account = await create(record);
        const { transactionHash } = await world.pay(record.address, 100n, lookalike);
        await world.pay(record.address, 100n);
        await swept([record.address]);
        await pass();
        assert.deepEqual(await kinds(account), [
          ["100", "wrong_token", false],
          ["100", "asked", false],
        ]);
        const [wrong] = await payments(account);
        assert.equal(wrong?.token.toLowerCase(), lookalike);
        assert.equal(wrong?.transactionHash, transactionHash);
        assert.deepEqual(await factsOf(record, await events(account)), [
          ...["payment", "payment"],
          "funded",
        ]);
      });

      test("reports payments and other tokens despite a flood of a look-alike", async () => {
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
          .execute((transaction) => keepPayments(transaction, 31_337, flood));
        await swept([record.address, other.address]);
        await pass();
        const reported = await kinds(account);
        assert.equal(reported.filter(([, kind]) => kind === "wrong_token").length, paymentsMax);
        assert.equal(reported.filter(([, kind]) => kind === "asked").length, 1);
        assert.deepEqual(await kinds(others), [["100", "asked", false]]);
      });

      test("reports late payments after execution and expiry, before recovered", async () => {
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
          ["50", "asked", false],
          ["3", "surplus", true],
        ]);
        assert.deepEqual(await kinds(b), [
          ["50", "partial", false],
          ["50", "asked", true],
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

      test("reports a payment that precedes the create request once, without a payer", async () => {
        const record = await world.newRecord();
        await world.pay(record.address, 100n);
        await world.mine(8);
        const account = await create(record);
        await mark(record.address);
        await pass();
        await world.mine(1);
        nowMs += 15_000;
        await pass();
        await mark(record.address);
        await pass();
        const [first, second] = await payments(account);
        assert.equal(second, undefined);
        assert.deepEqual([first?.amount, first?.payer, first?.kind], ["100", null, "asked"]);
        const reported = (await events(account)).filter(({ data }) => data.payment);
        assert.deepEqual(await factsOf(record, reported), ["held"]);
      });

      test("reports reverted for an undone payment, and the payment in its new block", async () => {
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

    test("deletes events after 30 days, and does not reuse their positions", async () => {
      const record = await world.newRecord({
        expirationTimestamp: Number((await world.client.getBlock()).timestamp) + 90 * 86_400,
      });
      const account = await create(record);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await pass();
      const before = (await listEvents(store.db, { accountId: account, after: 0, limit: 1 }))
        .rows[0];
      nowMs += 31 * 86_400_000;
      await pruneEvents(store.db, nowMs);
      assert.deepEqual(await types(account), []);
      await world.execute(record);
      await mark(record.address);
      await pass();
      const after = (await listEvents(store.db, { accountId: account, after: 0, limit: 1 }))
        .rows[0];
      assert.equal(after?.position, before!.position + 1);
    });
  });
}
