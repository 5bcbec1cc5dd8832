// Tests events about chains other than the intent's chain. The intent's chain is a local test
// chain, from which the observer reads the status. The other chains exist only in the database,
// because the observer does not call their nodes.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type AddressRecord, factoryAddress, fromHex, type Hex, toHex } from "executable-address";
import type { ServiceEvent } from "executable-address/webhook";
import { blockSecondsMax } from "../../chain/chains.ts";
import { AddressUnreadable } from "../../chain/status/reader.ts";
import { returnsFinder } from "../../executor/client.ts";
import type { Fence } from "../../executor/ledger/lease.ts";
import { type Ledger, openLedger } from "../../executor/ledger/ledger.ts";
import { saveAnchor } from "../../follow/anchors.ts";
import type { Payment } from "../../follow/payment.ts";
import { keccak } from "../../store/record.ts";
import type { Store } from "../../store/store.ts";
import { observedChainOf } from "../../testing/app-on-chain.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { type EmptyStore, openEmptyStore } from "../../testing/empty-store.ts";
import { paymentTo } from "../../testing/payments.ts";
import { addHook, newAccount } from "../../testing/webhooks/world.ts";
import { enqueue } from "../../webhooks/deliveries/enqueue.ts";
import { listDeliveries } from "../../webhooks/deliveries/list.ts";
import { setConfirmations } from "../confirmations.ts";
import { listEvents } from "../list.ts";
import { markWatches } from "../mark.ts";
import { type ObservedChain, observe } from "../observe.ts";
import { elsewhereMax } from "./changes.ts";

const ownId = 31_337;
const token: Hex = `0x${"7e".repeat(20)}`;
const sender: Hex = `0x${"e0".repeat(20)}`;
const hash = (n: number): Hex => toHex(Buffer.from(n.toString(16).padStart(64, "0"), "hex"));

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`the observer of the intent's chain on ${dialect}`, () => {
    let opened: EmptyStore;
    let store: Store;
    let world: World;
    let chain: ObservedChain;
    let ledger: Ledger;
    let nowMs = Date.now();
    let accounts = 0;
    let nonces = 0;
    let forks = 0;
    const fences = new Map<number, Fence>();

    before(async () => {
      opened = await openEmptyStore(dialect);
      store = opened.store;
      ledger = openLedger(store.db, store.dialect);
      world = await startWorld();
      chain = observedChainOf(world);
      for (const chain_id of [ownId, 10, 137]) {
        await store.db.insertInto("event_chains").values({ chain_id, confirmations: 0 }).execute();
        fences.set(chain_id, (await ledger.takeLease(chain_id, "test", undefined))!);
      }
    });
    after(async () => {
      await world.stop();
      await opened.stop();
    });

    /** Saves payments on another chain that was read up to block `upTo`. */
    const save = (
      upTo: number,
      payments: Payment[],
      { agreed = payments, chainId = 10 }: { agreed?: Payment[]; chainId?: number } = {},
    ) => {
      const anchor = { number: upTo, hash: hash(upTo + forks) };
      const swept = { anchor, payments, isGap: false, agreed };
      return ledger.savePayments(fences.get(chainId)!, swept, 1);
    };
    /** Simulates a reorganization of chain 10 that replaces all blocks after `number`. */
    const undoAbove = (number: number) => {
      forks += 1_000_000;
      return ledger.forgetAbove(fences.get(10)!, number);
    };
    const fail = (address: string, fault: unknown): void => assert.fail(`${address}: ${fault}`);
    const pass = async (onRead = async () => {}, onFault = fail) => {
      await saveAnchor(store.db, ownId, await chain.head());
      const observed: ObservedChain = {
        ...chain,
        async readAt(subject, block) {
          await onRead();
          return chain.readAt(subject, block);
        },
      };
      return observe(
        {
          ...{ store, factory: factoryAddress, keccak, publicUrl: "https://pay.example" },
          now: () => nowMs,
          findReturns: returnsFinder(store.db, keccak),
          onFault,
          onEvents: enqueue,
        },
        observed,
      );
    };
    const open = async (record: AddressRecord, accountId = `acc_${++accounts}`) => {
      const { address, terms } = record;
      await store.saveRecord({
        ...{ address: fromHex(address), terms: fromHex(terms) },
        ...{ accountId, createdAtMs: nowMs },
      });
      return { accountId, record, address: address.toLowerCase() as Hex };
    };
    const events = async (accountId: string): Promise<ServiceEvent[]> => {
      const { rows } = await listEvents(store.db, { accountId, after: 0, limit: 200 });
      return rows.map(({ body }) => JSON.parse(body));
    };
    /** Returns each event as text: its type, chain, and amounts. */
    const told = async (accountId: string) =>
      (await events(accountId)).map(({ type, data: { chainId, payment, returned } }) =>
        [
          type.replace("address.", ""),
          chainId,
          payment?.amount ?? returned?.map(({ amount }) => amount).join(),
        ]
          .join(" ")
          .trim(),
      );
    const to = (address: Hex, block: number, amount = "25", more: Partial<Payment> = {}) =>
      paymentTo(address, block, { token, amount, blockHash: hash(block + forks), ...more });
    /** Saves a final recovery on chain 10. */
    const recover = async (address: Hex, block: number, amounts: bigint[]) => {
      const fence = fences.get(10)!;
      const shares = [{ address, gas: 1, accountId: "", isClientId: false, isTipped: false }];
      const purpose = {
        ...{ sender, nonce: nonces++, kind: "recover" as const, data: "0x12" as Hex, gas: 1 },
        ...{ createdAtSeconds: 1, shares },
      };
      const transactionHash = hash(5_000_000 + nonces);
      const purposeId = await ledger.openPurpose(fence, purpose, {
        ...{ hash: transactionHash, raw: "0x02", fee: { maxFee: 1n, priorityFee: 1n } },
        ...{ signedAtSeconds: 1, signedBlock: 1, isZeroValueTransfer: false },
      });
      await ledger.settlePurpose(fence, {
        ...{ purposeId, transactionHash, blockNumber: block, paid: 1n, minedAtSeconds: 1 },
        ...{ tips: new Map(), updates: [] },
        outcomes: amounts.map((amount, at) => ({
          ...{ kind: "recovered" as const, vault: address, amount },
          token: at === 0 ? token : (`0x${"0".repeat(40)}` as Hex),
        })),
      });
      return { purposeId, transactionHash };
    };

    test("reports a payment on another chain only after a quorum confirms it", async () => {
      const { accountId, address } = await open(await world.newRecord());
      const payment = to(address, 100);
      // One endpoint invents more transfers than the database stores per address.
      const invented = Array.from({ length: 100 }, (_, at) => to(address, 100, `${at + 1}`));
      await save(100, [...invented, payment], { agreed: [] });
      await save(110, []);
      await pass();
      assert.deepEqual(await told(accountId), []);
      const rows = store.db.selectFrom("payments").where("address", "=", fromHex(address));
      assert.deepEqual(await rows.select("amount").execute(), []);
      await save(112, [], { agreed: [payment] });
      await pass();
      assert.deepEqual(await told(accountId), ["payment 10 25"]);
    });

    test("waits for the account's number of confirmations on the payment's chain", async () => {
      const { accountId, address } = await open(await world.newRecord());
      await setConfirmations(store.db, accountId, 10, 5);
      await setConfirmations(store.db, accountId, ownId, 0);
      await save(200, [to(address, 200)]);
      await save(203, [to(address, 203, "7")]);
      for (const [upTo, found] of [
        [204, []],
        [205, ["payment 10 25"]],
        [207, ["payment 10 25"]],
        [208, ["payment 10 25", "payment 10 7"]],
      ] as const) {
        await save(upTo, []);
        await Promise.all([pass(), pass()]);
        assert.deepEqual(await told(accountId), found, `block ${upTo}`);
      }
      const [first] = await events(accountId);
      assert.equal(first!.data.payment?.kind, "other_chain");
      assert.equal(first!.data.status.chainId, ownId);
    });

    test("waits for blocks only if a payment needs confirmations or an event is due", async () => {
      const { accountId, address } = await open(await world.newRecord());
      await setConfirmations(store.db, accountId, 10, 5);
      const awaited = () => Promise.all([10, ownId, 137].map((id) => ledger.isBlockAwaited(id)));
      assert.deepEqual(await awaited(), [false, false, false]);
      await save(300, [to(address, 300)]);
      assert.deepEqual(await awaited(), [true, false, false]);
      await save(305, []);
      assert.deepEqual(await awaited(), [false, true, false]);
      await pass();
      assert.deepEqual(await awaited(), [false, false, false]);
    });

    test("reports all amounts of a return on another chain in a single event", async () => {
      const { accountId, address } = await open(await world.newRecord(), await newAccount(store));
      const { id } = await addHook(store, accountId, "https://shop.example/hook");
      await save(400, [to(address, 400)]);
      const { transactionHash } = await recover(address, 402, [25n, 5n]);
      await pass();
      assert.deepEqual(await told(accountId), ["payment 10 25"]);
      await save(402, []);
      await pass();
      await pass();
      assert.deepEqual(await told(accountId), ["payment 10 25", "recovered 10 25,5"]);
      const deliveries = await listDeliveries(store.db, id, 10);
      assert.deepEqual(
        deliveries.map(({ otherChainId }) => otherChainId),
        [10, 10],
      );
      const { data } = (await events(accountId))[1]!;
      assert.deepEqual([data.transactionHash, data.payment], [transactionHash, null]);
      assert.deepEqual([data.status.recoveries, data.payments], [[], []]);
    });

    test("sends `address.reverted` after a reorganization of another chain", async () => {
      const { accountId, address, record } = await open(await world.newRecord());
      const own = await world.pay(address, 40n);
      await store.db.transaction().execute(async (transaction) => {
        const number = Number(own.blockNumber);
        await markWatches(transaction, ownId, [record.address], number);
      });
      await world.mine(1);
      await save(500, [to(address, 500)]);
      await save(500, [to(address, 500, "9")], { chainId: 137 });
      await pass();
      const before = await told(accountId);
      assert.deepEqual(before.toSorted(), [
        "payment 10 25",
        "payment 137 9",
        `payment ${ownId} 40`,
      ]);
      await undoAbove(499);
      await pass();
      assert.deepEqual(await told(accountId), [...before, "reverted 10"]);
      await save(501, [to(address, 501)]);
      const { purposeId } = await recover(address, 501, [25n]);
      await pass();
      const again = [...before, "reverted 10", "payment 10 25", "recovered 10 25"];
      assert.deepEqual(await told(accountId), again);
      await ledger.reopenPurpose(fences.get(10)!, purposeId, [address]);
      await pass();
      assert.deepEqual(await told(accountId), [...again, "reverted 10", "payment 10 25"]);
    });

    test("reverts no events about other chains if the intent's chain is reorganized", async () => {
      const { accountId, address, record } = await open(await world.newRecord());
      const { blockNumber } = await world.pay(address, 100n);
      const block = Number(blockNumber);
      await store.db
        .transaction()
        .execute((transaction) => markWatches(transaction, ownId, [record.address], block));
      await world.mine(1);
      await save(600, [to(address, 600)]);
      await pass();
      const before = [`payment ${ownId} 100`, `funded ${ownId}`, "payment 10 25"];
      assert.deepEqual(await told(accountId), before);
      await world.reorg(2);
      await ledger.forgetAbove(fences.get(ownId)!, block - 1);
      await pass();
      assert.deepEqual(await told(accountId), [...before, `reverted ${ownId}`]);
    });

    test("sends only payment events if an address was paid only on another chain", async () => {
      const { timestamp } = await world.client.getBlock();
      const expirationTimestamp = Number(timestamp) + 300;
      const { accountId, address } = await open(await world.newRecord({ expirationTimestamp }));
      await save(700, [to(address, 700)]);
      await pass();
      await world.mineAt(expirationTimestamp + 10);
      await save(701, [to(address, 701)]);
      await pass();
      assert.deepEqual(await told(accountId), ["payment 10 25", "payment 10 25"]);
      const watch = await store.db
        .selectFrom("watches")
        .select(["due_at", "due_block", "state"])
        .where("account_id", "=", accountId)
        .executeTakeFirstOrThrow();
      assert.deepEqual(watch, { due_at: null, due_block: null, state: "unfunded" });
      nowMs += 10;
    });

    test("reports a payment that arrives during an observation", async () => {
      const { accountId, address } = await open(await world.newRecord());
      await save(800, [to(address, 800)]);
      await pass(() => save(801, [to(address, 800, "8")]));
      await pass();
      assert.deepEqual((await told(accountId)).toSorted(), ["payment 10 25", "payment 10 8"]);
    });

    test("limits events about dust on other chains, but reports a larger payment", async () => {
      const { accountId, address } = await open(await world.newRecord());
      const dust = (block: number) => Array.from({ length: 40 }, () => to(address, block, "1"));
      for (const chainId of [10, 137]) await save(900, dust(900), { chainId });
      await pass();
      await save(901, [...dust(901), to(address, 901, "25000000")]);
      await pass();
      const found = (await events(accountId)).flatMap(({ data: { payment } }) => payment ?? []);
      // The two other chains share the limit. The first two payments on the second chain are beyond
      // the limit. They are still reported, because they are the largest on that chain.
      assert.equal(found.filter(({ amount }) => amount === "1").length, elsewhereMax + 2);
      assert.equal(
        found.findIndex(({ isLast }) => isLast),
        elsewhereMax - 1,
      );
      assert.equal(found.at(-1)!.amount, "25000000");
      assert.equal(found.length, elsewhereMax + 3);
    });

    test("limits events about returned dust, but reports the return of large amounts", async () => {
      const { accountId, address } = await open(await world.newRecord());
      await save(1_000, [to(address, 1_000)], { agreed: [] });
      for (let at = 0; at < elsewhereMax + 5; at++) await recover(address, 1_000 + at, [1n]);
      await recover(address, 1_100, [25_000_000n]);
      await save(1_100, []);
      await pass();
      const found = await told(accountId);
      assert.equal(found.filter((each) => each === "recovered 10 1").length, elsewhereMax);
      assert.equal(found.at(-1), "recovered 10 25000000");
    });

    test("sends events about another chain to each account that created the address", async () => {
      const record = await world.newRecord();
      const [first, second] = [await open(record), await open(record)];
      await save(1_200, [to(first.address, 1_200)]);
      await pass();
      for (const { accountId } of [first, second]) {
        assert.deepEqual(await told(accountId), ["payment 10 25"]);
      }
    });

    test("retries an unreadable address at least daily, even with 30-second blocks", async () => {
      const { accountId, address } = await open(await world.newRecord());
      const blocksPerDay = 86_400 / blockSecondsMax;
      await save(1_300, [to(address, 1_300)]);
      // The wait before the next attempt doubles after each failure, up to one day.
      for (const failures of Array.from({ length: 16 }).keys()) {
        const faults: string[] = [];
        const unreadable = () => Promise.reject(new AddressUnreadable("no answer"));
        await pass(unreadable, (failed) => faults.push(failed));
        assert.deepEqual(faults, [address], `after ${failures} failures`);
        await pass();
        assert.deepEqual(await told(accountId), [], `after ${failures} failures`);
        await save(1_300 + (failures + 1) * blocksPerDay, []);
      }
      await pass();
      assert.deepEqual(await told(accountId), ["payment 10 25"]);
    });
  });
}
