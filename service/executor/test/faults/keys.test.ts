// Tests several keys on one chain. If one key cannot send, only its own transactions are delayed.

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { type AddressRecord, fromHex, type Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { keccak256, recoverTransactionAddress, type TransactionSerializedEIP1559 } from "viem";
import { onlyLong } from "../../../../scripts/long.ts";
import type { Endpoint } from "../../../chain/rpc/endpoint.ts";
import type { Call } from "../../../chain/rpc/json-rpc.ts";
import { fatesOf, saveRecords, until } from "../../../testing/executor/anvil-world.ts";
import {
  isAtRest,
  mapSigners,
  prepare,
  type Running,
  startCore,
  twoKeys,
} from "../../../testing/executor/executor.ts";
import { openLedger } from "../../ledger/ledger.ts";
import type { Parts } from "../../pass.ts";

// Block time passes ten times as fast as real time. Retry delays are measured in block time, so the
// tests wait only a tenth of each delay.
const { world, store } = await prepare({ tickMs: 100, blockSeconds: 1 });
const slots = { batchItemsMax: 2, inFlightMax: 2 };
const [first, second] = twoKeys.map(({ address }) => address) as [Hex, Hex];

const asksBalance = ({ method }: Call) => method === "eth_getBalance";

/** Returns `count` correct endpoints, and one that returns a wrong balance for `key`. */
function withLiar(honest: Endpoint, count: number, key: Hex, wei: bigint): Endpoint[] {
  const asksIt = (call: Call) => asksBalance(call) && call.params[0] === key;
  const liar: Endpoint = {
    name: "liar",
    async ask(calls) {
      const answers = await honest.ask(calls);
      const lie = { result: toQuantity(wei) };
      return answers.map((answer, at) => (asksIt(calls[at]!) ? lie : answer));
    },
  };
  const others = Array.from({ length: count }, (_, at) => ({ ...honest, name: `honest ${at}` }));
  return [liar, ...others];
}

describe("an executor with two keys", () => {
  let running: Running;
  let sentBefore: Awaited<ReturnType<typeof sentBy>>;
  beforeEach(async () => {
    sentBefore = await sentBy();
  });
  afterEach(() => running.stop());

  const open = (change: (core: Parts) => Partial<Parts> = () => ({})) =>
    startCore(store, world.chains(), (core) => ({
      ...core,
      signers: twoKeys,
      tuning: { ...core.tuning, ...slots, resendMs: 500, stuckSeconds: 100_000 },
      ...change(core),
    }));
  const start = (change?: Parameters<typeof open>[0]) => {
    running = open(change);
  };
  const pay = async (count: number) => {
    const records = await Promise.all(Array.from({ length: count }, () => world.newRecord()));
    await saveRecords(store, records);
    await world.pay(records.map((r) => ({ to: r.address, amount: r.intent.amount })));
    return records;
  };
  const allExecuted = async (records: readonly AddressRecord[]) =>
    (await fatesOf(world, records)).every((fate) => fate.executed === 1);
  async function reasonsOf(records: readonly AddressRecord[]) {
    const jobs = await store.db
      .selectFrom("executor_jobs")
      .select("reason")
      .where(
        "address",
        "in",
        records.map(({ address }) => fromHex(address)),
      )
      .execute();
    return records.map((_, index) => jobs[index]?.reason);
  }
  /** Returns how many nonces each key has used. */
  async function sentBy() {
    const rows = await store.db.selectFrom("executor_purposes").select("sender").execute();
    const of = (key: Hex) => rows.filter(({ sender }) => sender === key).length;
    return { first: of(first), second: of(second) };
  }

  test("executes all payments with one key if the other key does not sign", async () => {
    let asked = 0;
    const signers = mapSigners(twoKeys, (signer) => (transaction) => {
      if (signer.address === second) return signer.sign(transaction);
      asked++;
      return Promise.reject(new Error("no session"));
    });
    start(() => ({ signers }));
    const records = await pay(6);
    await until("all are executed", () => allExecuted(records));
    await until("no transaction is pending", () => isAtRest(store));
    assert.equal((await sentBy()).first, sentBefore.first);
    const failed = running.events.filter(({ kind }) => kind === "signer_failed").length;
    assert.ok(failed > 0 && failed === asked, `${failed} of ${asked}`);
    const passes = running.events.filter(({ kind }) => kind === "pass_failed");
    assert.deepEqual(passes, []);
  });

  test("stores a reason for each waiting job while no key signs", async () => {
    let isLocked = true;
    let skippedMs = 0;
    const signers = mapSigners(twoKeys, (signer) => (transaction) => {
      if (isLocked) return Promise.reject(new Error("no session"));
      return signer.sign(transaction);
    });
    start(({ clock }) => ({ signers, clock: () => clock() + skippedMs }));
    const records = await pay(2);
    const reasons = () => store.db.selectFrom("executor_jobs").select("reason").execute();
    await until("they wait", async () =>
      (await reasons()).some(({ reason }) => reason === "signer_unavailable"),
    );
    isLocked = false;
    // A key that failed to sign is not used for 15 s.
    skippedMs = 15_000;
    await until("all are executed", () => allExecuted(records));
  });

  test("sends nothing with a key that has no funds", async () => {
    const wei = await world.client.getBalance({ address: first });
    await world.client.setBalance({ address: first, value: 0n });
    start();
    const records = await pay(6);
    await until("all are executed", () => allExecuted(records));
    assert.equal((await sentBy()).first, sentBefore.first);
    await world.client.setBalance({ address: first, value: wei });
    await until("both send", async () => {
      const more = await pay(4);
      await until("these are executed", () => allExecuted(more));
      return (await sentBy()).first > sentBefore.first;
    });
  });

  test("control: an executor executes nothing if its only key has no funds", onlyLong, async () => {
    const wei = await world.client.getBalance({ address: first });
    await world.client.setBalance({ address: first, value: 0n });
    start(() => ({ signers: [twoKeys[0]] }));
    const records = await pay(2);
    await until("they wait", async () =>
      (await reasonsOf(records)).every((reason) => reason === "executor_out_of_gas_money"),
    );
    await world.client.setBalance({ address: first, value: wei });
    await running.stop();
    start();
    await until("they are executed", () => allExecuted(records));
  });

  test("sends nothing if no endpoint reports the balances of the keys", async () => {
    const error = { code: -32601, message: "no such method" };
    start((core) => ({
      endpoints: core.endpoints.map((honest) => ({
        ...honest,
        async ask(calls) {
          const answers = await honest.ask(calls);
          return answers.map((answer, at) => (asksBalance(calls[at]!) ? { error } : answer));
        },
      })),
    }));
    const records = await pay(1);
    const message =
      /^ChainUnavailable: expected the balance of 0x\w+ at block \d+, found \S+: .*no such method/;
    const isLogged = async () =>
      running.events.some((event) => event.kind === "pass_failed" && message.test(event.message));
    await until("it is logged", isLogged, 60);
    assert.deepEqual(await sentBy(), sentBefore);
    await running.stop();
    start();
    await until("they are executed", () => allExecuted(records));
  });

  test(
    "control: a key without funds is used if the only endpoint overstates the balance",
    onlyLong,
    async () => {
      const wei = await world.client.getBalance({ address: first });
      await world.client.setBalance({ address: first, value: 0n });
      start((core) => ({ endpoints: withLiar(core.endpoints[0]!, 0, first, 2n ** 255n) }));
      const records = await pay(6);
      await until("it has sent", async () => (await sentBy()).first > sentBefore.first);
      await world.client.setBalance({ address: first, value: wei });
      await running.stop();
      start();
      await until("all are executed", () => allExecuted(records));
    },
  );

  for (const honest of [2, 1]) {
    const options = honest === 1 ? {} : onlyLong;
    test(
      `does not use a key without funds if one of ${honest + 1} endpoints overstates the balance`,
      options,
      async () => {
        const wei = await world.client.getBalance({ address: first });
        await world.client.setBalance({ address: first, value: 0n });
        start((core) => ({ endpoints: withLiar(core.endpoints[0]!, honest, first, 2n ** 255n) }));
        const records = await pay(6);
        await until("all are executed", () => allExecuted(records));
        await until("no transaction is pending", () => isAtRest(store));
        assert.equal((await sentBy()).first, sentBefore.first);
        await world.client.setBalance({ address: first, value: wei });
      },
    );

    test(
      `uses a key even if one of ${honest + 1} endpoints reports a balance of 0`,
      options,
      async () => {
        start((core) => ({
          signers: [twoKeys[0]],
          endpoints: withLiar(core.endpoints[0]!, honest, first, 0n),
        }));
        const records = await pay(2);
        await until("all are executed", () => allExecuted(records));
      },
    );
  }

  test("logs each key that does not sign, and measures how long payments wait", async () => {
    const silent = () => () => Promise.reject(new Error("no session"));
    start(() => ({ signers: mapSigners(twoKeys, silent) }));
    const eventsOf = (wanted: string) => running.events.filter(({ kind }) => kind === wanted);
    const records = await pay(1);
    await until("both are logged", async () => {
      const senders = eventsOf("signer_failed").map((event) => "sender" in event && event.sender);
      return new Set(senders).size === 2;
    });
    const { timestamp } = await world.client.getBlock();
    const later = Number(timestamp) + 3600;
    assert.ok((await openLedger(store.db, store.dialect).readWaitedSeconds(31_337, later)) > 3000);
    await running.stop();
    start();
    await until("it is executed", () => allExecuted(records));
  });

  /** While `isStuck` is true, the node accepts the first key's transactions, but drops them. */
  function startStuck(signers: Parts["signers"], change?: Parameters<typeof open>[0]) {
    const stuck = { isStuck: true, swallowed: new Set<string>() };
    start((core) => ({
      signers,
      ...change?.(core),
      endpoints: core.endpoints.map((endpoint) => ({
        ...endpoint,
        async ask(calls) {
          const [call] = calls;
          const isSend = call?.method === "eth_sendRawTransaction";
          if (!stuck.isStuck || !isSend) return endpoint.ask(calls);
          const raw = call.params[0] as TransactionSerializedEIP1559;
          const from = await recoverTransactionAddress({ serializedTransaction: raw });
          if (from.toLowerCase() !== first) return endpoint.ask(calls);
          stuck.swallowed.add(raw);
          return [{ result: keccak256(raw) }];
        },
      })),
    }));
    return stuck;
  }

  test("control: an executor executes nothing if its only key is stuck", onlyLong, async () => {
    const stuck = startStuck([twoKeys[0]]);
    const records = await pay(6);
    await until("its slots are taken", async () => stuck.swallowed.size >= 2);
    const later = await pay(4);
    const passes = () => running.events.filter(({ kind }) => kind === "pass").length;
    const before = passes();
    await until("many passes have ended", async () => passes() > before + 10);
    const fates = await fatesOf(world, [...records, ...later]);
    assert.ok(fates.every(({ executed }) => executed === 0));
    stuck.isStuck = false;
    await running.stop();
    start();
    await until("all are executed", () => allExecuted([...records, ...later]));
    await until("no transaction is pending", () => isAtRest(store));
  });

  test("does not use a key again for a while after the key failed to sign", async () => {
    const signed = new Set<number>();
    let refused = 0;
    const signers = mapSigners([twoKeys[0]], (signer) => (transaction) => {
      if (!signed.has(transaction.nonce)) {
        signed.add(transaction.nonce);
        return signer.sign(transaction);
      }
      refused++;
      return Promise.reject(new Error("no session"));
    });
    // After a key failed to sign, the executor does not use the key for 15 s. The executor's clock
    // runs a thousand times slower, so this pause lasts for hours.
    const stuck = startStuck(signers, ({ clock, tuning }) => ({
      clock: () => clock() / 1_000,
      tuning: { ...tuning, ...slots, stuckSeconds: 1 },
    }));
    const records = await pay(2);
    await until("it was asked for one", async () => refused > 0);
    const passes = () => running.events.filter(({ kind }) => kind === "pass").length;
    const before = passes();
    await until("many passes have ended", async () => passes() > before + 10);
    assert.equal(refused, 1);
    stuck.isStuck = false;
    await running.stop();
    start();
    await until("all are executed", () => allExecuted(records));
    await until("no transaction is pending", () => isAtRest(store));
  });

  test("executes other payments while the transactions of one key are not mined", async () => {
    const stuck = startStuck(twoKeys);
    const records = [...(await pay(4)), ...(await pay(8))];
    const fates = () => fatesOf(world, records);
    const onItsWay = async () =>
      (await store.db.selectFrom("executor_purposes").select(["sender", "state"]).execute()).filter(
        ({ state }) => state === "pending",
      );
    await until("its two slots are taken, and all others executed", async () => {
      const pending = await onItsWay();
      const open = (await fates()).filter(({ executed }) => executed === 0).length;
      return pending.length === 2 && pending.every(({ sender }) => sender === first) && open <= 4;
    });
    assert.ok(stuck.swallowed.size >= 2);
    const later = await pay(6);
    await until("the other key executes later payments", () => allExecuted(later));
    stuck.isStuck = false;
    await until("the rest is executed", () => allExecuted(records));
    await until("no transaction is pending", () => isAtRest(store));
  });

  test("executes each payment once even if two instances run", async (context) => {
    start();
    const other = open();
    context.after(other.stop);
    const records = await pay(20);
    await until("the first are executed", () => allExecuted(records));
    await running.stop();
    const more = await pay(20);
    await until("the rest is executed", () => allExecuted(more));
    await until("no transaction is pending", () => isAtRest(store));
    const sent = await sentBy();
    assert.ok(sent.first > sentBefore.first && sent.second > sentBefore.second);
  });
});
