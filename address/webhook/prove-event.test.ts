// Tests signed events with false content, and nodes that return wrong data. A fact is returned only
// if the chain proves it.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { zeroAddress } from "../abi/token.ts";
import type { AddressRecord, Hex } from "../intent/intent.ts";
import { proveAddress } from "../proof/gather.ts";
import { makeRecord } from "../record.ts";
import type { Rpc } from "../status/status.ts";
import { openEventWorld } from "../test/event-world.ts";
import { eventTypes, type ProvedEvent, proveEvent, type ServiceEvent } from "./webhook.ts";

const { world, node, records, past, paid, pay, eventOf } = await openEventWorld();

type Type = ServiceEvent["type"];

describe("proveEvent and proveAddress", () => {
  const options = (confirmations = 0) => ({ rpcs: [world.rpcUrl], confirmations });
  const resultOf = async (event: unknown, record: AddressRecord, given = options()) => {
    try {
      return (await proveEvent(event as ServiceEvent, record, given)).fact;
    } catch (error) {
      return (error as Error).name;
    }
  };

  const truths: [name: string, type: Type, fact: Partial<ProvedEvent>][] = [
    ["funded", "address.payment", { fact: "payment" }],
    ["executed", "address.payment", { fact: "payment" }],
    ["returned", "address.payment", { fact: "payment" }],
    ["surplus", "address.payment", { fact: "payment" }],
    ["closed", "address.payment", { fact: "payment" }],
    ["funded", "address.funded", { fact: "funded", balance: "130" }],
    ["executed", "address.executed", { fact: "executed", held: "130", left: "30" }],
    ["returned", "address.executed", { fact: "executed", held: "130", left: "30" }],
    ["late", "address.expired", { fact: "expired" }],
    ["closed", "address.recovered", { fact: "recovered" }],
    ["returned", "address.recovered", { fact: "recovered" }],
    ["surplus", "address.surplus", { fact: "surplus" }],
    ["funded", "address.reverted", { fact: "reverted", state: "funded" }],
  ];

  for (const [name, type, wanted] of truths) {
    test(`proveEvent proves an ${type} event of the test address "${name}"`, async () => {
      const record = records[name]!;
      const found = await proveEvent(await eventOf(record, type), record, options(2));
      for (const [key, value] of Object.entries(wanted))
        assert.equal(found[key as keyof typeof found], value);
      assert.equal(found.address, record.address);
      assert.ok("depth" in found && found.depth >= 2);
      assert.ok(!("reference" in found));
      const client = { lookup: async () => record };
      assert.equal(
        (await proveEvent(await eventOf(record, type), client, options())).fact,
        wanted.fact,
      );
    });
  }

  test("proveEvent refuses an event that did not happen", async () => {
    const isSo = new Set(truths.map(([name, type]) => `${name} ${type}`));
    // The type address.reverted is skipped, because it reports only the current state. `truths`
    // does not list two events that happened: a recovery of `executed`, and an execution of
    // `surplus`.
    isSo.add("executed address.recovered").add("surplus address.executed");
    let lies = 0;
    for (const [name, record] of Object.entries(records)) {
      for (const type of eventTypes) {
        if (isSo.has(`${name} ${type}`) || type === "address.reverted") continue;
        const lie = await eventOf(record, type);
        assert.match(await resultOf(lie, record), /^(outdated|WebhookError)$/, `${name} ${type}`);
        const other = records.executed!;
        lie.data.transactionHash = (await eventOf(other, "address.executed")).data.transactionHash;
        lie.data.status.execution = (
          await eventOf(other, "address.executed")
        ).data.status.execution;
        lie.data.status.state = "executed";
        lie.data.payment &&= paid[other.address]!;
        assert.match(await resultOf(lie, record), /^(outdated|WebhookError)$/, `${name} ${type}`);
        lie.data.status.block.number = 1;
        assert.match(await resultOf(lie, record), /^(outdated|WebhookError)$/, `${name} ${type}`);
        lies += 3;
      }
    }
    assert.ok(lies >= 60, String(lies));
  });

  test("proveEvent replaces wrong values in a payment event with proved values", async () => {
    const record = records.funded!;
    const real = await eventOf(record, "address.payment");
    const truth = await proveEvent(real, record, options(2));
    const payments = [{ from: zeroAddress, amount: "130" }];
    const { transactionHash } = paid[record.address]!;
    assert.deepEqual("payments" in truth && truth.payments, payments);
    assert.equal("transactionHash" in truth && truth.transactionHash, transactionHash);
    for (const change of [
      { amount: "999" },
      { payer: record.address },
      { logIndex: 99 },
      { blockHash: `0x${"3".repeat(64)}` as Hex },
      { kind: "surplus", isLate: true } as const,
    ]) {
      const lie = structuredClone(real);
      Object.assign(lie.data.payment!, change);
      assert.deepEqual(await proveEvent(lie, record, options(2)), truth);
    }
  });

  test("proveEvent refuses a payment event with a wrong block, token, or transaction", async () => {
    const record = records.funded!;
    const real = await eventOf(record, "address.payment");
    const elsewhere = paid[records.executed!.address]!;
    const head = Number(await world.client.getBlockNumber());
    for (const change of [
      { blockNumber: elsewhere.blockNumber },
      { blockNumber: head + 1000 },
      { token: await world.newToken() },
      { token: zeroAddress },
      { transactionHash: elsewhere.transactionHash },
      elsewhere,
    ]) {
      const lie = structuredClone(real);
      Object.assign(lie.data.payment!, change);
      assert.match(
        await resultOf(lie, record),
        /^(outdated|WebhookError)$/,
        JSON.stringify(change),
      );
    }
    const bare = { ...real, data: { ...real.data, payment: null } };
    assert.match(await resultOf(bare, record), /^(outdated|WebhookError)$/);
  });

  test("proveEvent proves the balance if a payment event names no transaction", async () => {
    const [record, unpaid] = [records.funded!, records.unpaid!];
    const without = { transactionHash: null, logIndex: null, payer: null, amount: "999" };
    const proveChanged = async (of: AddressRecord, change: object) => {
      const event = await eventOf(of, "address.payment");
      Object.assign(event.data.payment!, without, change);
      return proveEvent(event, of, options(1));
    };
    const held = await proveChanged(record, { token: world.token });
    assert.deepEqual([held.fact, "amount" in held && held.amount], ["held", "130"]);
    assert.equal((await proveChanged(record, { token: zeroAddress })).fact, "outdated");
    assert.equal((await proveChanged(unpaid, { token: world.token })).fact, "outdated");
  });

  test("proveEvent returns the paid token if it is not the requested token", async () => {
    const record = await world.newRecord();
    const other = await world.newToken();
    await pay(record, 7n, other);
    const fact = await proveEvent(await eventOf(record, "address.payment"), record, options());
    assert.equal("token" in fact && fact.token, other);
  });

  test("proveEvent returns `notYet` if the payment has too few confirmations", async () => {
    const record = await world.newRecord();
    await pay(record, 7n);
    const event = await eventOf(record, "address.payment");
    assert.equal(await resultOf(event, record, options(3)), "notYet");
    await world.mine(3);
    assert.equal(await resultOf(event, record, options(3)), "payment");
  });

  test("proveEvent throws `WebhookError` if the event names another address", async () => {
    const real = await eventOf(records.executed!, "address.executed");
    const lie = structuredClone(real);
    lie.data.address = records.unpaid!.address;
    lie.data.status.address = records.unpaid!.address;
    const [executed, unpaid] = [records.executed!.address, records.unpaid!.address];
    const name = "WebhookError";
    const reported = `the event reports address.executed at block ${real.data.status.block.number}`;
    for (const [event, record, message] of [
      [lie, records.unpaid!, `${unpaid}: ${reported}, but the chain contradicts it`],
      [lie, records.executed!, `expected a record of ${unpaid}, found one of ${executed}`],
      [real, records.unpaid!, `expected a record of ${executed}, found one of ${unpaid}`],
    ] as const)
      await assert.rejects(proveEvent(event, record, options()), { name, message });
  });

  test("proveEvent throws `TypeError` for an unknown option", async () => {
    const event = { ...(await eventOf(records.executed!, "address.executed")), type: "later" };
    const wrong = { ...options(), quorm: 2 };
    await assert.rejects(proveEvent(event as never, records.executed!, wrong), {
      name: "TypeError",
      message:
        "quorm: unknown option, expected one of rpcs, quorum, confirmations, factory, keccak",
    });
  });

  test("proveEvent returns `unknown` for an unknown event type", async () => {
    const record = records.executed!;
    const real = await eventOf(record, "address.executed");
    const { address } = record;
    for (const later of [
      { ...real, type: "address.paid" },
      { ...real, type: "address.paid", version: 2, data: { address, more: [1] } },
      { ...real, type: "toString" },
    ])
      assert.deepEqual(await proveEvent(later as never, record, options()), {
        ...{ address, fact: "unknown" },
      });
  });

  test("a `reverted` event is outdated after an execution or recovery", async () => {
    for (const name of ["executed", "returned", "surplus", "closed"] as const) {
      const record = records[name]!;
      const reverted = await eventOf(record, "address.reverted");
      assert.equal(await resultOf(reverted, record), "outdated", name);
    }
  });

  test("proveEvent returns `outdated` if the chain contradicts the event's state", async () => {
    const lie = await eventOf(records.executed!, "address.reverted");
    lie.data.status.state = "unfunded";
    assert.equal(await resultOf(lie, records.executed!), "outdated");
  });

  test("proveEvent replaces wrong values in an execution event with proved values", async () => {
    const record = records.executed!;
    const real = await eventOf(record, "address.executed");
    const truth = await proveEvent(real, record, options());
    const changes: ((event: ServiceEvent) => unknown)[] = [
      ({ data }) => (data.status.execution!.held = "999"),
      ({ data }) => (data.status.execution!.left = "0"),
      ({ data }) => (data.status.execution!.transactionHash = `0x${"1".repeat(64)}`),
      ({ data }) => (data.status.execution!.blockNumber = 1),
      ({ data }) => (data.transactionHash = `0x${"2".repeat(64)}`),
      ({ data }) => (data.transactionHash = null),
      ({ data }) => (data.status.balance = "999"),
      ({ data }) => (data.status.block.number = 1),
      ({ data }) => (data.status.block.hash = `0x${"3".repeat(64)}`),
      ({ data }) => (data.reference = "order-2"),
    ];
    for (const change of changes) {
      const lie = structuredClone(real);
      change(lie);
      assert.deepEqual(await proveEvent(lie, record, options()), truth);
    }
  });

  test("proveEvent throws `WebhookError` for a malformed event", async () => {
    const record = records.executed!;
    const real = await eventOf(record, "address.executed");
    const elsewhere = structuredClone(real);
    elsewhere.data.status.chainId = 10;
    const noEvent = "the response is not a valid event";
    for (const [lie, message] of [
      [null, `${noEvent}: $: expected object, found null`],
      [{}, `${noEvent}: $.id: expected string, found nothing`],
      [{ ...real, data: null }, `${noEvent}: $.data: expected object, found null`],
      [elsewhere, new RegExp(`^${record.address}: expected an event of chain \\d+, found .* 10$`)],
    ] as const)
      await assert.rejects(proveEvent(lie as never, record, options()), {
        ...{ name: "WebhookError", message },
      });
  });

  test("proveEvent throws `WebhookError` if there is no matching record", async () => {
    const { address } = records.executed!;
    const event = await eventOf(records.executed!, "address.executed");
    const of = (record: AddressRecord | undefined) =>
      proveEvent(event, { lookup: async () => record }, options());
    const name = "WebhookError";
    const none = { name, message: `the service has no record of ${address}` };
    await assert.rejects(of(undefined), none);
    const other = records.unpaid!;
    const message = `expected a record of ${address}, found one of ${other.address}`;
    await assert.rejects(of(other), { name, message });
  });

  test("proveAddress throws if every node returns wrong logs", async () => {
    const record = records.executed!;
    const withLogs =
      (change: (logs: object[]) => object[]): Rpc =>
      async (method, params) => {
        const answer = await node(method, params);
        return method === "eth_getLogs" ? change(answer as object[]) : answer;
      };
    const blockHash = `0x${"9".repeat(64)}`;
    const liars: [Rpc, RegExp][] = [
      [
        withLogs((logs) => logs.map((log) => ({ ...log, blockHash }))),
        /^block \d+: expected 1 of 1 endpoints to have the hash 0x9{64}, found .*: 0x\w{64}$/,
      ],
      [withLogs(() => []), new RegExp(`^no node reports the execution of ${record.address}$`)],
    ];
    for (const [liar, message] of liars) {
      const proof = proveAddress(record, { rpcs: [liar], confirmations: 0 });
      await assert.rejects(proof, { code: "unproved", message });
    }
    const rpcs = liars.map(([liar]) => liar);
    const message = new RegExp(
      `to have the hash .*; the node returned no matching event of ${record.address}$`,
    );
    const proof = proveAddress(record, { rpcs, confirmations: 0 });
    await assert.rejects(proof, { code: "unproved", message });
  });

  test("proveEvent throws `InvalidError` for a forged record", async () => {
    const record = records.executed!;
    const real = await eventOf(record, "address.executed");
    const theirs = makeRecord(record.intent, { factory: world.token });
    assert.equal(await resultOf(real, theirs), "InvalidError");
    const factory = world.token;
    assert.equal(await resultOf(real, record, { ...options(), factory } as never), "InvalidError");
    const forged = { ...record, intent: { ...record.intent, amount: "1" } };
    assert.equal(await resultOf(real, forged), "InvalidError");
  });

  test("proveEvent returns `notYet` if the event's block is too new", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 100n);
    await world.execute(record);
    const event = await eventOf(record, "address.executed");
    assert.equal(await resultOf(event, record, options(3)), "notYet");
    await world.mine(3);
    assert.equal(await resultOf(event, record, options(3)), "executed");
    event.data.status.block.number += 1000;
    assert.equal(await resultOf(event, records.unpaid!, options()), "WebhookError");
    event.data.address = records.unpaid!.address;
    assert.equal(await resultOf(event, records.unpaid!, options()), "notYet");
  });

  test("proveEvent returns `outdated` if a reorganization removed the execution", async () => {
    const record = await world.newRecord();
    await world.pay(record.address, 100n);
    await world.mine(3);
    await world.execute(record);
    const event = await eventOf(record, "address.executed");
    await world.reorg(2);
    await world.mine(1);
    assert.equal(await resultOf(event, record), "outdated");
    assert.equal(await resultOf(await eventOf(record, "address.reverted"), record), "reverted");
  });

  test("proveEvent returns `outdated` if the state changed after the event", async () => {
    assert.equal(await resultOf(past.funded, records.executed!), "outdated");
  });

  test("proveEvent succeeds even if one of three nodes returns wrong data or fails", async () => {
    const lie: Record<string, unknown> = {
      eth_getProof: { accountProof: ["0xc0"] },
      eth_getBlockByHash: null,
      eth_getLogs: [],
      eth_blockNumber: "0xffffff",
    };
    const honest = [
      world.rpcUrl,
      (method: string, params: readonly unknown[]) => node(method, params),
    ];
    const liars: Rpc[] = [
      ...Object.keys(lie).map(
        (name): Rpc =>
          async (method, params) =>
            method === name ? lie[name] : node(method, params),
      ),
      async () => Promise.reject(new Error("silent")),
      async (method, params) => (method === "eth_blockNumber" ? "0x1" : node(method, params)),
      async (method, params) => {
        const answer = await node(method, params);
        const forged = { ...(answer as object), hash: `0x${"9".repeat(64)}` as Hex };
        return method.startsWith("eth_getBlockBy") ? forged : answer;
      },
      async (method, params) => (method === "eth_chainId" ? "0x1" : node(method, params)),
    ];
    for (const [name, type, { fact }] of truths) {
      const record = records[name]!;
      const event = await eventOf(record, type);
      for (const liar of liars) {
        const given = { rpcs: [liar, ...honest], confirmations: 1 };
        assert.equal(await resultOf(event, record, given as never), fact);
      }
    }
  });

  test("proveEvent throws `ProofError` if too few nodes agree", async () => {
    const record = records.executed!;
    const event = await eventOf(record, "address.executed");
    const silent: Rpc = async () => Promise.reject(new Error("silent"));
    const rpcs = [world.rpcUrl, silent];
    const refused = (given: object, name: string, message: string | RegExp) =>
      assert.rejects(proveEvent(event, record, given as never), { name, message });
    const heads =
      /^expected 2 of 2 .* on a block; newest blocks: rpcs\[0\]: \d+, rpcs\[1\]: silent$/;
    await refused({ rpcs, confirmations: 0 }, "ProofError", heads);
    for (const [given, message] of [
      [{ ...options(), rpcs: [] }, "rpcs: expected at least one, found none"],
      [{ ...options(), rpcs: [world.rpcUrl, world.rpcUrl] }, "rpcs[1]: is the same as rpcs[0]"],
      [{ ...options(), quorum: 2 }, "quorum: expected an integer from 1 to 1, found 2"],
      [options(-1), "confirmations: expected an integer of at least 0, found -1"],
      [{ rpcs }, "confirmations: expected a number of blocks, found none"],
    ] as const)
      await refused(given, "TypeError", message);
  });
});
