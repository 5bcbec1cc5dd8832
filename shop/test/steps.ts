// A correct webhook receiver in memory. The tests in mutants.test.ts replace some of the receiver's
// steps with faulty steps.

import { setTimeout as wait } from "node:timers/promises";
import type { AddressRecord } from "executable-address";
import { createClient } from "executable-address/client";
import {
  type ProvedEvent,
  proveEvent,
  type ServiceEvent,
  verifyWebhook,
  WebhookError,
} from "executable-address/webhook";
import type { Headers, Receiver } from "./receiver.ts";

export type Order = { readonly reference: string; readonly record: AddressRecord };

/** The replaceable steps of a receiver. */
type Steps = {
  verify(body: string, headers: Headers): Promise<ServiceEvent>;
  /**
   * Called before the receiver responds to a delivery. If this function throws, the receiver
   * responds with 400.
   */
  accept(event: ServiceEvent): unknown;
  find(event: ServiceEvent): Order | undefined;
  prove(event: ServiceEvent, order: Order): Promise<ProvedEvent>;
  /** Returns whether the proved fact means that the goods must be delivered. */
  isPaid(fact: ProvedEvent, event: ServiceEvent): boolean;
  deliver(order: Order, fact: ProvedEvent, event: ServiceEvent): unknown;
};

type Tools = {
  readonly orders: readonly Order[];
  readonly secret: string;
  readonly proof: { readonly rpcs: readonly string[]; readonly confirmations: number };
  readonly client: ReturnType<typeof createClient>;
  /** Delivers goods, even if they were already delivered. */
  send(order: Order): void;
  /** Returns true only for the first call with this `key`. */
  isNew(key: string): boolean;
  /** Processes an event. Throws if the event must be retried later. */
  handle(event: ServiceEvent): Promise<void>;
};

/** A correct receiver in memory. `flaw` replaces some of its steps. */
export function openReceiver(settings: Record<string, string>, flaw: Flaw): Receiver {
  const { BASE: baseUrl = "", API_KEY: apiKey = "", WEBHOOK_SECRET: secret = "" } = settings;
  const orders: Order[] = [];
  const goods = new Map<string, number>();
  const inbox = new Map<string, ServiceEvent>();
  const keys = new Set<string>();
  const tools: Tools = {
    ...{ orders, secret, client: createClient({ baseUrl, apiKey }) },
    proof: { rpcs: [settings.RPC_URL!], confirmations: 0 },
    send: ({ record }) => goods.set(record.address, (goods.get(record.address) ?? 0) + 1),
    isNew: (key) => !keys.has(key) && Boolean(keys.add(key)),
    async handle(event) {
      const order = steps.find(event);
      if (!order) return;
      const fact = await steps.prove(event, order);
      if (fact.fact === "notYet") throw new Error("not enough confirmations yet");
      if (steps.isPaid(fact, event)) steps.deliver(order, fact, event);
    },
  };
  const steps: Steps = {
    verify: (body, headers) => verifyWebhook(body, headers, { secret }),
    accept: (event) => inbox.set(event.id, event),
    find: ({ data }) => orders.find(({ record }) => record.address === data.address),
    prove: (event, { record }) => proveEvent(event, record, tools.proof),
    isPaid: ({ fact }) => fact === "executed",
    deliver: (order) => tools.isNew(order.record.address) && tools.send(order),
    ...flaw(tools),
  };
  let isOpen = true;
  async function work() {
    for (; isOpen; await wait(50))
      for (const [id, event] of inbox) {
        inbox.delete(id);
        await tools.handle(event).catch((error) => {
          if (!(error instanceof WebhookError)) inbox.set(id, event);
        });
      }
  }
  const worked = work();
  return {
    async order(reference, intent) {
      orders.push({ reference, record: await tools.client.create(intent, { reference }) });
    },
    receive: async (body, headers) => steps.accept(await steps.verify(body, headers)),
    goodsOf: (address) => goods.get(address) ?? 0,
    close() {
      isOpen = false;
      return worked;
    },
  };
}

/** Returns the faulty steps that replace correct steps of the receiver. */
export type Flaw = (tools: Tools) => Partial<Steps>;
