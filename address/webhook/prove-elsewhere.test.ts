// Uses two real chains to test signed events about a chain other than the intent's chain. A fact is
// returned only if the nodes of that chain prove it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startWorld, type World } from "../../service/testing/chain/world.ts";
import type { AddressRecord } from "../intent/intent.ts";
import { httpRpc, readStatus } from "../status/status.ts";
import { writeEvent } from "../test/event-world.ts";
import { type PaymentNews, proveEvent, type ServiceEvent } from "./webhook.ts";

const otherId = 31_338;

describe("proveEvent for a payment on another chain", () => {
  let own: World;
  let other: World;
  let record: AddressRecord;
  let paid: ServiceEvent;
  let returned: ServiceEvent;

  const eventOf = async (type: ServiceEvent["type"], data: Partial<ServiceEvent["data"]>) => {
    const status = await readStatus(record, { rpc: httpRpc(own.rpcUrl) });
    return writeEvent(record, type, status, { chainId: otherId, ...data });
  };
  const newsOf = ({ logs: [log] }: Awaited<ReturnType<World["pay"]>>): PaymentNews => ({
    ...{ transactionHash: log!.transactionHash, logIndex: log!.logIndex },
    ...{ blockNumber: Number(log!.blockNumber), blockHash: log!.blockHash },
    ...{ payer: record.intent.recovery, token: other.token, amount: "25" },
    ...{ kind: "other_chain", isLate: false, isLast: false },
  });

  before(async () => {
    [own, other] = await Promise.all([startWorld(), startWorld(otherId)]);
    record = await own.newRecord();
    const payment = newsOf(await other.pay(record.address, 25n));
    await other.payNative(record.address, 7n);
    const { transactionHash } = await other.recover(record, [other.token, nativeCoin]);
    await other.mine(3);
    paid = await eventOf("address.payment", {
      ...{ payment, transactionHash: payment.transactionHash },
    });
    returned = await eventOf("address.recovered", {
      transactionHash,
      returned: [{ token: other.token, amount: "25" }],
    });
  });
  after(() => Promise.all([own.stop(), other.stop()]));

  const nativeCoin = `0x${"0".repeat(40)}` as const;
  const both = () => ({ [own.chain.chainId]: [own.rpcUrl], [otherId]: [other.rpcUrl] });
  const prove = (event: ServiceEvent, more: { rpcs?: object; confirmations?: number } = {}) =>
    proveEvent(event, record, { rpcs: both(), confirmations: 0, ...more } as never);
  const changed = (event: ServiceEvent, change: Partial<ServiceEvent["data"]>): ServiceEvent => ({
    ...event,
    data: { ...event.data, ...change },
  });

  test("proveEvent throws if the transaction does not contain the payment", async () => {
    const { payment } = paid.data;
    const { transactionHash } = returned.data;
    for (const lie of [{ transactionHash }, { token: record.address }]) {
      const event = changed(paid, { payment: { ...payment!, ...lie } as PaymentNews });
      await assert.rejects(prove(event), {
        name: "WebhookError",
        message: new RegExp(
          `^${record.address}: the event reports address.payment at block \\d+, but the chain`,
        ),
      });
    }
  });

  test("proveEvent throws `TypeError` if it has no node of the intent's chain", async () => {
    const event = await eventOf("address.funded", { chainId: own.chain.chainId });
    await assert.rejects(prove(event, { rpcs: { [otherId]: [other.rpcUrl] } }), {
      name: "TypeError",
      message: `rpcs: expected nodes of chain ${own.chain.chainId}, found none`,
    });
  });

  test("proveEvent throws `ProofError` if a node serves the wrong chain", async () => {
    const rpcs = { ...both(), [otherId]: [own.rpcUrl] };
    for (const event of [paid, returned])
      await assert.rejects(prove(event, { rpcs }), { name: "ProofError", code: "no_quorum" });
  });

  test("proveEvent returns `paidElsewhere` with the proved payment", async () => {
    const lie = { ...paid.data.payment!, amount: "999", payer: record.address };
    for (const event of [paid, changed(paid, { payment: lie })]) {
      const { depth, ...fact } = (await prove(event)) as { depth: number };
      assert.ok(depth >= 3);
      assert.deepEqual(fact, {
        address: record.address,
        ...{ fact: "paidElsewhere", chainId: otherId, token: other.token },
        transactionHash: paid.data.transactionHash,
        payments: [{ from: nativeCoin, amount: "25" }],
      });
    }
  });

  test("proveEvent returns `returnedElsewhere` with the amount of each token", async () => {
    const { depth, ...fact } = (await prove(returned)) as { depth: number };
    assert.ok(depth >= 3);
    assert.deepEqual(fact, {
      address: record.address,
      ...{ fact: "returnedElsewhere", chainId: otherId },
      transactionHash: returned.data.transactionHash,
      recoveries: [
        { token: other.token, amount: "25" },
        { token: nativeCoin, amount: "7" },
      ],
    });
  });

  test("proveEvent returns `notYet` before the payment has enough confirmations", async () => {
    const { logs } = await other.pay(record.address, 25n);
    const newest = { ...paid.data.payment!, ...placeOf(logs[0]!) };
    const event = changed(paid, { payment: newest });
    assert.equal((await prove(event, { confirmations: 2 })).fact, "notYet");
    await other.mine(2);
    assert.equal((await prove(event, { confirmations: 2 })).fact, "paidElsewhere");
  });

  test("proveEvent returns `outdated` if the transaction is not on the chain", async () => {
    const transactionHash = `0x${"5".repeat(64)}` as const;
    assert.equal((await prove(changed(returned, { transactionHash }))).fact, "outdated");
    const payment = { ...paid.data.payment!, transactionHash, blockHash: transactionHash };
    assert.equal((await prove(changed(paid, { payment }))).fact, "outdated");
  });

  test("proveEvent returns `unknown` if it has no node of the other chain", async () => {
    for (const rpcs of [[own.rpcUrl], { [own.chain.chainId]: [own.rpcUrl] }]) {
      for (const event of [paid, returned]) {
        assert.deepEqual(await prove(event, { rpcs }), {
          ...{ address: record.address, fact: "unknown" },
        });
      }
    }
  });

  test("proveEvent returns `unknown` for an execution on another chain", async () => {
    for (const type of ["address.executed", "address.funded", "address.reverted"] as const)
      assert.equal((await prove(await eventOf(type, {}))).fact, "unknown");
  });

  test("proveEvent accepts `rpcs` as a list, or as one list per chain", async () => {
    const { logs } = await own.pay(record.address, 130n);
    const payment = { ...paid.data.payment!, ...placeOf(logs[0]!), token: own.token };
    for (const chainId of [own.chain.chainId, undefined]) {
      const event = await eventOf("address.payment", { chainId, payment });
      for (const rpcs of [[own.rpcUrl], both()])
        assert.equal((await prove(event, { rpcs })).fact, "payment");
    }
    const funded = await eventOf("address.funded", { chainId: own.chain.chainId });
    assert.equal((await prove(funded)).fact, "funded");
  });

  const placeOf = ({
    transactionHash,
    logIndex,
    blockNumber,
    blockHash,
  }: Awaited<ReturnType<World["pay"]>>["logs"][number]) => ({
    ...{ transactionHash, logIndex, blockHash },
    blockNumber: Number(blockNumber),
  });
});
