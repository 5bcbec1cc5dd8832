// Tests the observer on a local chain. The tests check when it reads an address, which events it
// saves, and which events a reorganization reverts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromHex } from "executable-address";
import type { ServiceEvent } from "executable-address/webhook";
import { AddressUnreadable } from "../chain/status/reader.ts";
import { openEvents } from "../testing/events-world.ts";
import { eventBytesMax } from "./changes.ts";
import { setConfirmations } from "./confirmations.ts";
import { listEvents, pruneEvents } from "./list.ts";
import { markObservedAbove, markWatches } from "./mark.ts";
import { readPace } from "./money.ts";
import { observe } from "./observe.ts";

for (const dialect of ["sqlite", "postgres"] as const) {
  const {
    store,
    world,
    chain,
    clock,
    faults,
    enqueued,
    parts,
    follow,
    pass,
    block,
    mark,
    create,
    newsOf,
    moved,
    factsOf,
    types,
  } = await openEvents(dialect);

  describe(`events about an address on ${dialect}`, () => {
    test("are sent once, by the observer of the intent's chain", async () => {
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

    test("are not sent if the database transaction that caused them is rolled back", async () => {
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

    test("report `funded`, `executed`, `surplus`, and `recovered` in order", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      const address = fromHex(record.address);
      await store.saveRecord({
        ...{ address, terms: fromHex(record.terms), accountId: account, createdAtMs: clock.nowMs },
        reference: "order-42",
      });
      assert.deepEqual(await readPace(store.db, account), { toPaidMs: null, toExecutedMs: null });
      await world.pay(record.address, 130n);
      await mark(record.address);
      clock.nowMs += 40_000;
      await pass();
      assert.deepEqual(await factsOf(record, await newsOf(account)), ["funded"]);
      clock.nowMs += 3_000;
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

    test("report an execution that the executor did not send, but only after 15 s", async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await pass();
      await world.execute(record);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
      clock.nowMs += 15_000;
      await pass();
      assert.deepEqual(await types(account), ["funded", "executed"]);
    });

    test("wait for the number of confirmations that each account has set", async () => {
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

    test("report `reverted` and the current state after a reorganization", async () => {
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
     * Creates an address, pays it, and lets the chain's loop find the payment.
     *
     * @returns the ID of the account that created the address
     */
    const paidToBeRead = async () => {
      const record = await world.newRecord();
      const account = await create(record);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await follow();
      return account;
    };

    test("are not sent for blocks that the service has not read yet", async () => {
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

    test("are not sent if a node returns another block with the same number", async () => {
      const account = await paidToBeRead();
      const { blockAt } = chain;
      chain.blockAt = async (number) => ({
        ...(await blockAt(number))!,
        hash: `0x${"9".repeat(64)}`,
      });
      const message = /^block \d+ of chain 31337 no longer has the hash 0x[0-9a-f]{64}$/;
      await assert.rejects(observe(parts(), chain), { message });
      chain.blockAt = blockAt;
      assert.deepEqual(await types(account), []);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
    });

    test("are not sent if the node no longer returns a block below its head", async () => {
      const account = await paidToBeRead();
      const { blockAt } = chain;
      let asked = 0;
      chain.blockAt = async (number) => (asked++ === 0 ? blockAt(number) : undefined);
      const message =
        /^no endpoint of chain 31337 returns block \d+, although the newest block is \d+$/;
      await assert.rejects(observe(parts(), chain), { message });
      chain.blockAt = blockAt;
      assert.deepEqual(await types(account), []);
      await pass();
      assert.deepEqual(await types(account), ["funded"]);
    });

    test("are not sent if the block is replaced during the read", async () => {
      const account = await paidToBeRead();
      const { readAt } = chain;
      chain.readAt = async (subject, at) => {
        const status = await readAt(subject, at);
        await world.reorg(1);
        await world.mine(1);
        await follow();
        return status;
      };
      await assert.rejects(observe(parts(), chain), /is no longer on chain 31337/);
      chain.readAt = readAt;
      await pass();
      assert.deepEqual(await types(account), []);
    });

    test("after a reorganization, only statuses from removed blocks are read again", async () => {
      const chainId = 7;
      const watch = (number: number) => ({
        ...{ account_id: `acc_${number % 3}`, address: Buffer.alloc(20, 7), chain_id: chainId },
        ...{ token: Buffer.alloc(20), created_at: 1, marked_block: 1, version: 1, sequence: 1 },
        ...{ readings: 1, block_number: 1 + (number % 4), state: "funded" },
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

    test("are sent even if another address has a corrupt record", async () => {
      const [good, bad] = [await world.newRecord(), await world.newRecord()];
      const account = await create(good);
      const terms = fromHex((await world.newRecord()).terms);
      const row = {
        address: fromHex(bad.address),
        terms,
        accountId: account,
        createdAtMs: clock.nowMs,
      };
      await store.saveRecord(row);
      await world.pay(good.address, 100n);
      await mark(good.address, bad.address);
      await pass();
      assert.ok(faults.includes(bad.address.toLowerCase()));
      assert.deepEqual(await types(account), ["funded"]);
    });

    for (const failures of [0, 1])
      test(`are sent for a payment that arrives while read ${failures + 1} fails`, async () => {
        const record = await world.newRecord();
        const account = await create(record);
        await mark(record.address);
        const { readAt } = chain;
        const unreadable = new AddressUnreadable("no answer");
        chain.readAt = () => Promise.reject(unreadable);
        for (let failed = 0; failed < failures; failed++) {
          await pass();
          clock.nowMs += 15_000;
        }
        let paying: Promise<void> | undefined;
        chain.readAt = async () => {
          paying ??= world.pay(record.address, 100n).then(() => mark(record.address));
          await paying;
          throw unreadable;
        };
        await pass();
        chain.readAt = readAt;
        await pass();
        assert.deepEqual(await types(account), ["funded"]);
      });

    test("report `expired` when the chain's clock passes the expiration time", async () => {
      const { timestamp } = await world.client.getBlock();
      const expirationTimestamp = Number(timestamp) + 600;
      const record = await world.newRecord({ expirationTimestamp });
      const account = await create(record);
      await world.pay(record.address, 5n);
      await mark(record.address);
      await pass();
      assert.deepEqual(await types(account), []);
      await world.mineAt(expirationTimestamp + 1);
      clock.nowMs += 700_000;
      await pass();
      assert.deepEqual(await types(account), ["expired"]);
      assert.deepEqual(await factsOf(record, await newsOf(account)), ["expired"]);
      await world.recover(record, [world.token]);
      await mark(record.address);
      await pass();
      assert.deepEqual(await types(account), ["expired", "recovered"]);
      assert.deepEqual(await factsOf(record, await newsOf(account)), ["outdated", "recovered"]);
    });

    test("have at most 20,000 bytes even after many recoveries", async () => {
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

    test("are deleted after 30 days, but their positions are not reused", async () => {
      const record = await world.newRecord({
        expirationTimestamp: Number((await world.client.getBlock()).timestamp) + 90 * 86_400,
      });
      const account = await create(record);
      await world.pay(record.address, 100n);
      await mark(record.address);
      await pass();
      const before = (await listEvents(store.db, { accountId: account, after: 0, limit: 1 }))
        .rows[0];
      clock.nowMs += 31 * 86_400_000;
      await pruneEvents(store.db, clock.nowMs);
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
