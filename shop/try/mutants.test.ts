// Tests try-receiver with receivers that have one flaw each. Each flaw would make a shop lose
// money, goods, or orders. Each receiver must fail the check that looks for its flaw. Each receiver
// must pass the check `plain`, unless the flaw also affects ordinary orders.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { AddressRecord } from "executable-address";
import { createClient } from "executable-address/client";
import { httpRpc, readStatus } from "executable-address/status";
import {
  type ProvedEvent,
  proveEvent,
  type ServiceEvent,
  verifyWebhook,
  WebhookError,
} from "executable-address/webhook";
import { type Receiver, serveReceiver } from "../test/receiver.ts";
import { type Flaw, type Order, openReceiver } from "../test/steps.ts";
import { trials } from "./trials.ts";
import { tryReceiver } from "./try-receiver.ts";

const plain = "delivers a paid order once";
const isReferenceOf =
  ({ data }: ServiceEvent) =>
  (order: Order) =>
    order.reference === (data.reference ?? data.claimedReference);

/**
 * Receivers that have one flaw each. Each key is a description of the flaw. `fails` is the check
 * that must find the flaw. `failsPlain` is true if the receiver also fails the check {@link plain}.
 */
const mutants: Record<string, { fails: string; flaw: Flaw; failsPlain?: true }> = {
  "trusts every signed event": {
    fails: "delivers nothing if an unpaid order is reported as executed",
    flaw: () => ({
      prove: async ({ type, data }) =>
        ({ address: data.address, fact: type.replace("address.", "") }) as ProvedEvent,
    }),
  },
  "finds the order by the event's reference": {
    fails: "delivers nothing if an unrelated address claims the order's reference and is executed",
    flaw: ({ orders, client, proof }) => ({
      find: (event) => orders.find(isReferenceOf(event)),
      prove: (event) => proveEvent(event, client, proof),
    }),
  },
  "finds the order by reference if the event says that the API key created the address": {
    fails: "delivers nothing if an event claims that the shop created an unrelated address",
    flaw: ({ orders, client, proof }) => ({
      find: (event) =>
        event.data.createdBy === "api_key" ? orders.find(isReferenceOf(event)) : undefined,
      prove: (event) => proveEvent(event, client, proof),
    }),
  },
  "proves the event's address, but delivers the order of the event's reference": {
    fails: "delivers nothing if another order's event contains this order's reference",
    flaw: ({ orders, isNew, send }) => ({
      deliver(_, __, event) {
        const order = orders.find(isReferenceOf(event));
        if (order && isNew(order.record.address)) send(order);
      },
    }),
  },
  "proves before the response, and responds 2xx if the node is down": {
    fails: "delivers after the node responds again",
    flaw: ({ handle }) => ({ accept: (event) => handle(event).catch(() => {}) }),
  },
  "proves before the response": {
    fails: "acknowledges the webhook without waiting for the node",
    flaw: ({ handle }) => ({ accept: handle }),
  },
  "delivers if the address is only funded": {
    fails: "delivers nothing for an order that is only funded",
    flaw: () => ({ isPaid: ({ fact }) => fact === "funded" || fact === "executed" }),
  },
  "delivers for a proved payment": {
    fails: "delivers nothing for an address.payment event before the execution",
    flaw: () => ({ isPaid: ({ fact }) => fact === "payment" || fact === "executed" }),
  },
  "delivers for any executed or recovered address": {
    fails: "delivers nothing for an order whose money was returned",
    flaw: () => ({ isPaid: ({ fact }) => fact === "recovered" || fact === "executed" }),
  },
  "delivers for any fact that is proved": {
    fails: "delivers nothing for a reverted execution",
    flaw: () => ({ isPaid: ({ fact }) => fact !== "outdated" && fact !== "unknown" }),
  },
  "delivers for each event": {
    fails: "delivers once if the event is repeated later with the same ID",
    flaw: ({ send }) => ({ deliver: send }),
  },
  "stores event IDs instead of deliveries": {
    fails: "delivers once if two events report the same execution",
    flaw: ({ isNew, send }) => ({ deliver: (order, _, { id }) => isNew(id) && send(order) }),
  },
  "stores transactions instead of deliveries": {
    fails: "delivers once if the execution is repeated after a reorganization",
    flaw: ({ isNew, send }) => ({
      deliver: (order, fact) =>
        isNew(String("transactionHash" in fact && fact.transactionHash)) && send(order),
    }),
  },
  "checks first whether goods were delivered, and delivers them later": {
    fails: "delivers once if the event arrives five times simultaneously",
    flaw({ handle, send }) {
      const gone = new Set<string>();
      return {
        accept: (event) => void handle(event),
        async deliver(order) {
          if (gone.has(order.record.address)) return;
          await wait(200);
          gone.add(order.record.address);
          send(order);
        },
      };
    },
  },
  "ignores an address after its first event": {
    fails: "accepts address.payment events, and delivers once",
    flaw: ({ orders, isNew }) => ({
      find: ({ data }) =>
        isNew(`first ${data.address}`)
          ? orders.find(({ record }) => record.address === data.address)
          : undefined,
    }),
  },
  "ignores an order after a false event about that order": {
    fails: "delivers a paid order after a false event about it",
    flaw: ({ isNew, proof }) => ({
      async prove(event, { record }) {
        if (!isNew(`lie ${record.address}`))
          throw new WebhookError("there was a false event about it");
        const fact = await proveEvent(event, record, proof);
        return fact;
      },
    }),
  },
  "requires a funded event before the executed event": {
    fails: "delivers once if address.executed arrives before address.funded",
    failsPlain: true,
    flaw: ({ isNew }) => {
      const funded = new Set<string>();
      return {
        isPaid({ address, fact }, { type }) {
          if (type === "address.funded") funded.add(address);
          return fact === "executed" && funded.has(address) && isNew(`paid ${address}`);
        },
      };
    },
  },
  "processes events in order, and stops at an event that fails": {
    fails: "delivers a paid order after outdated and malformed events",
    flaw: ({ handle }) => {
      let before = Promise.resolve();
      return {
        accept(event) {
          before = before.then(() => handle(event));
          before.catch(() => {});
        },
      };
    },
  },
  "rejects unknown event types": {
    fails: "accepts an event of an unknown type",
    flaw: ({ secret }) => ({
      async verify(body, headers) {
        const event = await verifyWebhook(body, headers, { secret });
        if ((event.type as string) === "address.later") throw new Error("what is this?");
        return event;
      },
    }),
  },
  "does not verify signatures": {
    fails: "rejects a delivery without a valid signature",
    flaw: () => ({ verify: async (body) => JSON.parse(body) }),
  },
  "verifies signatures, but reads the ID from the body": {
    fails: "rejects an event with another event's ID",
    flaw: ({ secret }) => ({
      async verify(body, headers) {
        const event: ServiceEvent = JSON.parse(body);
        await verifyWebhook(body, headers, { secret }).catch((error: Error) => {
          if (!error.message.startsWith("id: expected")) throw error;
        });
        return event;
      },
    }),
  },
  "accepts signatures that are an hour old": {
    fails: "rejects a delivery signed ten minutes ago",
    flaw: ({ secret }) => ({
      verify: (body, headers) => verifyWebhook(body, headers, { secret, toleranceSeconds: 3600 }),
    }),
  },
  "accepts signatures from the future": {
    fails: "rejects a delivery signed ten minutes in the future",
    flaw: ({ secret }) => ({
      verify(body, headers) {
        const now = Math.max(Date.now(), Number(headers["webhook-timestamp"]) * 1000);
        return verifyWebhook(body, headers, { secret, now });
      },
    }),
  },
  "verifies the body after parsing and serializing it again": {
    fails: "delivers if the signed body contains extra spaces",
    flaw: ({ secret }) => ({
      verify: (body, headers) =>
        verifyWebhook(JSON.stringify(JSON.parse(body)), headers, { secret }),
    }),
  },
  "counts payments without looking at their chain": {
    fails: "delivers nothing for a payment that arrived on a different chain",
    flaw: () => ({
      isPaid: ({ fact }, { data: { payment, status } }) =>
        fact === "executed" || payment?.amount === status.amount,
    }),
  },
  "cancels the order whenever money is returned": {
    fails: "delivers a paid order after money was returned on a different chain",
    flaw: ({ orders }) => {
      const canceled = new Set<string>();
      return {
        find({ type, data }) {
          if (type === "address.recovered") canceled.add(data.address);
          const isOpen = ({ record: { address } }: Order) => !canceled.has(address);
          return orders.filter(isOpen).find(({ record }) => record.address === data.address);
        },
      };
    },
  },
  "reads only the first signature": {
    fails: "delivers if there are two signatures, as after a rotation of the secret",
    flaw: ({ secret }) => ({
      verify(body, headers) {
        const [first = ""] = headers["webhook-signature"]!.split(" ");
        return verifyWebhook(body, { ...headers, "webhook-signature": first }, { secret });
      },
    }),
  },
  "acknowledges a body without an event ID before verifying the signature": {
    fails: "rejects a modified body",
    flaw: ({ secret }) => ({
      verify: async (body, headers) =>
        JSON.parse(body).id ? verifyWebhook(body, headers, { secret }) : JSON.parse(body),
    }),
  },
  "checks only the form of the signature": {
    fails: "rejects a delivery signed with another secret",
    flaw: () => ({
      async verify(body, headers) {
        assert.match(headers["webhook-signature"]!, /v1,[\w+/]{43}=/);
        return JSON.parse(body);
      },
    }),
  },
  "trusts an event of an execution if the address has the money": {
    fails: "delivers nothing for an order that is paid but not executed",
    flaw: ({ proof }) => ({
      async prove({ type, data }, { record }) {
        const { state } = await readStatus(record, { rpc: proof.rpcs[0]! });
        const fact = state === "funded" ? type.replace("address.", "") : state;
        return { address: data.address, fact } as ProvedEvent;
      },
    }),
  },
  "reads the receipt of a payment without comparing the recipient": {
    fails: "delivers nothing if an event attributes another order's payment to this order",
    flaw: ({ proof }) => ({
      async prove(event, { record }) {
        const { payment } = event.data;
        if (!payment) return proveEvent(event, record, proof);
        const params = [payment.transactionHash];
        const receipt = await httpRpc(proof.rpcs[0]!)("eth_getTransactionReceipt", params);
        return { address: record.address, fact: receipt ? "executed" : "unknown" } as ProvedEvent;
      },
    }),
  },
  "counts confirmations without comparing the hash of the block": {
    fails: "delivers nothing for a payment that a reorganization removed",
    flaw: ({ proof }) => ({
      async prove({ data }) {
        const newest = Number(await httpRpc(proof.rpcs[0]!)("eth_blockNumber", []));
        const isDeep = newest >= (data.status.execution?.blockNumber ?? Infinity);
        return { address: data.address, fact: isDeep ? "executed" : "notYet" } as ProvedEvent;
      },
    }),
  },
  "stores the transactions that events report instead of deliveries": {
    fails: "delivers once if a reorganization removes and restores the execution",
    flaw: ({ isNew, send }) => ({
      deliver: (order, _, { data }) => isNew(String(data.transactionHash)) && send(order),
    }),
  },
};

/**
 * Runs the checks named in `only`, or all checks.
 * @returns the names of the checks that fail
 */
async function tryAll(
  open: (settings: Record<string, string>) => Receiver,
  only?: readonly string[],
) {
  const { close, ...where } = await serveReceiver(open);
  const lines: string[] = [];
  const say = (line: string) => lines.push(line);
  const { passed, tried } = await tryReceiver({ ...where, form: "", say, ...(only && { only }) });
  await close();
  const failed = lines.filter((line) => line.startsWith("FAIL")).map((line) => line.slice(6));
  assert.equal(tried - passed, failed.length);
  if (only) assert.equal(tried, only.length, "every name in `only` is the name of a check");
  return failed;
}

describe("try-receiver", { concurrency: true }, () => {
  for (const [name, { fails, flaw, failsPlain }] of Object.entries(mutants))
    test(`try-receiver detects a receiver that ${name}`, async () => {
      const only = [...new Set([plain, fails])];
      const failed = await tryAll((settings) => openReceiver(settings, flaw), only);
      assert.deepEqual(failed, failsPlain ? [plain, fails] : [fails]);
    });

  test("try-receiver accepts a correct receiver", async () => {
    const failed = await tryAll((settings) => openReceiver(settings, () => ({})));
    assert.deepEqual(failed, []);
  });

  test("try-receiver accepts the receiver in docs/webhooks.md", async () => {
    assert.deepEqual(await tryAll(openDocumented), []);
  });

  test("each check is tested with one flawed receiver", () => {
    const found = Object.values(mutants).flatMap(({ fails, failsPlain }) =>
      failsPlain ? [plain, fails] : [fails],
    );
    assert.deepEqual(found.toSorted(), trials.map(({ name }) => name).toSorted());
  });
});

/** Opens a receiver with the code from docs/webhooks.md. */
function openDocumented(settings: Record<string, string>): Receiver {
  const page = readFileSync(new URL("../../docs/webhooks.md", import.meta.url), "utf8");
  const [, code = ""] = /```js\n(import \{ proveEvent[\s\S]*?)```/.exec(page) ?? [];
  const [, names] = /^import \{(.*)\} from "executable-address\/webhook";\n/.exec(code) ?? [];
  const body = code.replace(/^import .*\n/, "").replace("export function", "return function");
  const open = new Function(names!, body)(proveEvent, verifyWebhook, WebhookError);
  const client = createClient({ baseUrl: settings.BASE!, apiKey: settings.API_KEY! });
  const records = new Map<string, AddressRecord>();
  const goods = new Set<string>();
  const receiver = open({
    ...{ db: new DatabaseSync(":memory:"), secret: settings.WEBHOOK_SECRET },
    ...{ rpcs: [settings.RPC_URL], confirmations: 0 },
    findOrder: (address: string) =>
      records.has(address) ? { record: records.get(address) } : undefined,
    deliver({ record }: { record: AddressRecord }) {
      goods.add(record.address);
    },
  });
  let isOpen = true;
  const worked = (async () => {
    for (; isOpen; await wait(50)) await receiver.work();
  })();
  return {
    async order(reference, intent) {
      const record = await client.create(intent, { reference });
      records.set(record.address, record);
    },
    receive: receiver.receive,
    goodsOf: (address) => Number(goods.has(address)),
    close() {
      isOpen = false;
      return worked;
    },
  };
}
