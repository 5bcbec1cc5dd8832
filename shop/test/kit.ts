// Opens shops for tests. A shop can use any kind of store. The tests use a real chain and the real
// service.

import assert from "node:assert/strict";
import { createHmac, randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Hex } from "executable-address";
import type { ServiceEvent } from "executable-address/client";
import { readStatus } from "executable-address/status";
import { findCredentials } from "../../service/accounts/account.ts";
import { addOrigin } from "../../service/accounts/origins/origin-list.ts";
import { ensureReferenceKeys } from "../../service/accounts/reference-keys.ts";
import { listen } from "../../service/testing/app.ts";
import { serveWorld } from "../../service/testing/app-on-chain.ts";
import { startPostgres, type TestPostgres } from "../../service/testing/postgres.ts";
import {
  openShop,
  postgresStore,
  type ShopOptions,
  type ShopOrder,
  type ShopStore,
  sqliteStore,
} from "../shop.ts";

export const wallet: Hex = "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65";
const customer: Hex = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";
const secret = `whsec_${randomBytes(32).toString("base64")}`;

export let served: Awaited<ReturnType<typeof serveWorld>>;
export let service: { baseUrl: string; apiKey: string };
export let referenceKey: string;
/** Creates an address with the client ID from the shop's page, as anyone can. */
export let createAsPage: (intent: object, reference: string) => Promise<number>;
export let postgres: TestPostgres;
/** Opens an empty store of the kind that the current suite tests. */
export let newStore: () => Promise<ShopStore>;
let names = 0;

before(async () => {
  served = await serveWorld();
  postgres = await startPostgres();
  const { accountId, apiKey } = await served.server.newKey();
  service = { baseUrl: `http://127.0.0.1:${await listen(served.server)}/v1`, apiKey };
  const { db } = served.server.parts.store;
  [referenceKey] = await ensureReferenceKeys(db, accountId, Date.now());
  const origin = "https://shop.example.com";
  await addOrigin(db, accountId, origin, { atMs: Date.now() });
  const { clientId } = await findCredentials(db, accountId);
  createAsPage = async (payload, reference) => {
    const headers = { "x-client-id": clientId.client_id, origin };
    const url = `/v1/address/create?reference=${reference}`;
    return (await served.server.app.inject({ method: "POST", url, headers, payload })).statusCode;
  };
});
after(async () => {
  await served.stop();
  await postgres.stop();
});

const kinds: Record<string, typeof newStore> = {
  sqlite: async () => sqliteStore(new DatabaseSync(":memory:")),
  postgres: async () => postgresStore(postgres.newPool(await postgres.newDatabase())),
};
/**
 * Defines a suite that runs once with each kind of store.
 * @param options options of the test runner, which apply only to the suite on PostgreSQL
 */
export const describeOnEach = (name: string, define: () => void, options = {}) => {
  for (const [kind, open] of Object.entries(kinds))
    describe(`${name}, on ${kind}`, kind === "postgres" ? options : {}, () => {
      before(() => {
        newStore = open;
      });
      define();
    });
};
export const nextName = () => `order-${++names}`;

export async function intentFor(amount = "100") {
  const { token, client, chain } = served.world;
  const call = { target: token, function: "transfer(address to, uint256 amount)" };
  return {
    chainId: chain.chainId,
    ...{ token, amount },
    calls: [{ ...call, args: [wallet, amount] }],
    expirationTimestamp: Number((await client.getBlock()).timestamp) + 3600,
    recovery: customer,
  };
}

/** Opens a shop that records its deliveries and notifications. */
export async function newShop(given: Partial<ShopOptions> = {}) {
  const delivered: string[] = [];
  const refunded: string[] = [];
  const warnings: string[] = [];
  const inner = given.store ?? (await newStore());
  /** The number of stored events that are not completed. */
  let due = 0;
  const store: ShopStore = {
    ...inner,
    async saveEvents(events, cursor) {
      due += events.length;
      await inner.saveEvents(events, cursor);
    },
    async endEvent(claim) {
      await inner.endEvent(claim);
      due -= 1;
    },
  };
  const shop = openShop({
    service,
    referenceKeys: [referenceKey],
    secrets: [secret],
    rpcs: [served.world.rpcUrl],
    confirmations: 0,
    deliver: ({ reference }) => delivered.push(reference),
    refund: (_, { recoveries }) => refunded.push(...recoveries.map(({ amount }) => amount)),
    warn: (message) => warnings.push(message),
    ...given,
    store,
  });
  return { shop, delivered, refunded, warnings, due: () => due };
}

export async function eventOf(
  { record, reference }: Pick<ShopOrder, "record" | "reference">,
  type: ServiceEvent["type"],
  payment: ServiceEvent["data"]["payment"] = null,
): Promise<ServiceEvent> {
  const status = await readStatus(record, { rpc: served.world.rpcUrl });
  const place = type === "address.recovered" ? status.recoveries.at(-1) : status.execution;
  return {
    id: `evt_${randomBytes(8).toString("hex")}`,
    type,
    version: 1,
    timestamp: new Date().toISOString(),
    data: {
      address: record.address,
      reference,
      claimedReference: null,
      createdBy: "api_key",
      sequence: 1,
      recordUrl: `${service.baseUrl}/address/${record.address}`,
      transactionHash: place?.transactionHash ?? null,
      ...{ payment, payments: [], paymentsOmitted: 0 },
      status,
      ...{ chainId: status.chainId, returned: [] },
      recoveriesOmitted: 0,
    },
  };
}

/** Signs and sends the event as the service does. */
export async function deliverTo(
  { shop }: { shop: ReturnType<typeof openShop> },
  event: ServiceEvent,
) {
  const body = JSON.stringify(event);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice(6), "base64");
  const content = `${event.id}.${timestamp}.${body}`;
  const signature = `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
  const headers = { "webhook-id": event.id, "webhook-timestamp": timestamp };
  await shop.receive(body, { ...headers, "webhook-signature": signature });
}

export async function paidOrder(shop: ReturnType<typeof openShop>, more = 0n) {
  const order = await shop.order(nextName(), await intentFor());
  await served.world.pay(order.record.address, 100n + more);
  await served.world.execute(order.record);
  return order;
}

export async function until(what: string, isTrue: () => boolean | Promise<boolean>) {
  for (let tries = 0; tries < 400; tries++) {
    if (await isTrue()) return;
    await sleep(25);
  }
  assert.fail(`never: ${what}`);
}
