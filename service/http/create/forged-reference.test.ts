// Tests an attack on a shop. On the shop's web page, an attacker creates an address for a small
// amount. The address has the reference of an expensive order. The attacker then pays the small
// amount. The shop must not deliver the order. Each test runs the whole path, from the create
// request to the shop's webhook handlers.

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type AddressRecord, factoryAddress, fromHex } from "executable-address";
import { proveEvent, type ServiceEvent, verifyWebhook } from "executable-address/webhook";
import { openShop, sqliteStore } from "executable-address-shop";
import { findCredentials } from "../../accounts/account.ts";
import { addOrigin } from "../../accounts/origins/origin-list.ts";
import { ensureReferenceKeys } from "../../accounts/reference-keys.ts";
import { markWatches } from "../../events/mark.ts";
import { observe } from "../../events/observe.ts";
import { saveAnchor } from "../../follow/anchors.ts";
import { keccak } from "../../store/record.ts";
import { listen, startApp } from "../../testing/app.ts";
import { chainsAt, observedChainOf } from "../../testing/app-on-chain.ts";
import { startWorld, type World } from "../../testing/chain/world.ts";
import { startPostgres, type TestPostgres } from "../../testing/postgres.ts";
import { addHook, type Delivery, startReceiver } from "../../testing/webhooks/world.ts";
import { startDelivery } from "../../webhooks/deliver.ts";
import { enqueue } from "../../webhooks/deliveries/enqueue.ts";
import { sender } from "../../webhooks/send.ts";

const origin = "https://shop.example.com";
const price = "9000";

let world: World;
let postgres: TestPostgres;
before(async () => {
  [world, postgres] = await Promise.all([startWorld(), startPostgres()]);
});
after(async () => {
  await world.stop();
  await postgres.stop();
});

async function until(what: string, isSo: () => boolean | Promise<boolean>) {
  for (let tries = 0; tries < 2_000; tries++) {
    if (await isSo()) return;
    await sleep(10);
  }
  assert.fail(`never: ${what}`);
}

/** Starts the service with a shop: an account, a web page, and a webhook receiver. */
async function openScene(databaseUrl: string | undefined) {
  const chains = chainsAt(world);
  const service = await startApp({ chains, ...(databaseUrl && { databaseUrl }) });
  const { store, log } = service.parts;
  const { accountId, apiKey } = await service.newKey();
  await addOrigin(store.db, accountId, origin, { atMs: Date.now() });
  const { clientId } = await findCredentials(store.db, accountId);
  const [referenceKey] = await ensureReferenceKeys(store.db, accountId, Date.now());
  const receiver = await startReceiver();
  const { secret } = await addHook(store, accountId, receiver.url, ["address.executed"]);
  const send = sender("any", 5_000);
  const delivery = startDelivery({
    ...{ store, send, log },
    ...{ now: Date.now, random: Math.random, pollMs: 10 },
  });
  await store.db
    .insertInto("event_chains")
    .values({ chain_id: 31_337, confirmations: 0 })
    .execute();
  const chain = observedChainOf(world);

  const ask = async (method: "GET" | "POST", url: string, isPage: boolean, payload?: object) => {
    const page = { "x-client-id": clientId.client_id, origin };
    const headers = isPage ? page : { authorization: `Bearer ${apiKey}` };
    return service.app.inject({ method, url, headers, ...(payload && { payload }) });
  };

  /** Pays and executes the address, waits for the event, and returns its signed webhook. */
  async function payAndHear(record: AddressRecord): Promise<Delivery> {
    await world.pay(record.address, BigInt(record.intent.amount));
    await world.execute(record);
    await saveAnchor(store.db, 31_337, await chain.head());
    const block = Number(await world.client.getBlockNumber());
    await store.db
      .transaction()
      .execute((transaction) => markWatches(transaction, 31_337, [record.address], block));
    await observe(
      {
        ...{ store, keccak, factory: factoryAddress, now: Date.now },
        publicUrl: "https://pay.example",
        findReturns: async () => [],
        onFault: (address, fault) => assert.fail(`${address}: ${fault}`),
        onEvents: enqueue,
      },
      chain,
    );
    const isOf = ({ body }: Delivery) => JSON.parse(body).data.address === record.address;
    await until("the webhook", () => receiver.taken.some(isOf));
    return receiver.taken.find(isOf)!;
  }

  const baseUrl = `http://127.0.0.1:${await listen(service)}/v1`;
  return {
    ...{ ask, payAndHear, secret, store, accountId },
    shop: openShopOf({ service: { baseUrl, apiKey }, referenceKeys: [referenceKey] }, secret),
    async close() {
      await delivery.stop();
      await receiver.close();
      await service.close();
    },
  };
}

function openShopOf(
  given: Pick<Parameters<typeof openShop>[0], "service" | "referenceKeys">,
  secret: string,
) {
  const db = new DatabaseSync(":memory:");
  const delivered: string[] = [];
  const shop = openShop({
    ...given,
    ...{ store: sqliteStore(db), secrets: [secret], rpcs: [world.rpcUrl], confirmations: 0 },
    deliver: ({ reference }) => delivered.push(reference),
    refund: () => assert.fail("nothing comes back"),
    warn: (message) => assert.fail(message),
  });
  const due = db.prepare("select count(*) as count from shop_events where due_at is not null");
  return { ...shop, delivered, isDone: () => due.get()!.count === 0 };
}

/**
 * Passes a webhook to three handlers, and returns the orders that each handler would fulfill. The
 * first handler trusts the event's reference. The second handler finds the order by the event's
 * address. It also verifies the payment with a node. The third handler is the package
 * executable-address-shop.
 */
async function handle(
  { body, headers }: Delivery,
  orders: Record<string, AddressRecord>,
  { shop, secret }: Pick<Awaited<ReturnType<typeof openScene>>, "shop" | "secret">,
) {
  const event = await verifyWebhook(body, headers, { secret });
  const byReference = Object.keys(orders).filter((name) => name === event.data.reference);
  const record = Object.values(orders).find(({ address }) => address === event.data.address);
  const options = { rpcs: [world.rpcUrl], confirmations: 0 };
  const fact = record && (await proveEvent(event, record, options));
  const paid = fact?.fact === "executed" ? fact.address : undefined;
  const byAddress = Object.keys(orders).filter((name) => orders[name]!.address === paid);
  const before = shop.delivered.length;
  await shop.receive(body, headers);
  await until("the kit is done", shop.isDone);
  return { event, byReference, byAddress, kit: shop.delivered.slice(before) };
}

async function intentOf(amount: string) {
  const { salt: _, ...intent } = (await world.newRecord({ amount })).intent;
  return intent;
}

for (const dialect of ["sqlite", "postgres"] as const) {
  describe(`a reference that a page forges, on ${dialect}`, () => {
    let scene: Awaited<ReturnType<typeof openScene>>;
    before(async () => {
      scene = await openScene(dialect === "postgres" ? postgres.url : undefined);
    });
    after(() => scene.close());

    const forge = async (reference: string, intent: object) =>
      scene.ask("POST", `/v1/address/create?reference=${reference}`, true, intent);
    const referencesOf = ({ data }: ServiceEvent) => [
      data.reference,
      data.claimedReference,
      data.createdBy,
    ];

    test("appears in the event only as `claimedReference`", async () => {
      const { record } = await scene.shop.order("order-1", await intentOf(price));
      const cheap = await world.newRecord({ amount: "1" });
      assert.equal((await forge("order-1", cheap.intent)).statusCode, 200);
      const delivery = await scene.payAndHear(cheap);
      const { event, byReference, byAddress, kit } = await handle(
        delivery,
        { "order-1": record },
        scene,
      );
      assert.deepEqual(referencesOf(event), [null, "order-1", "client_id"]);
      // A handler that trusts `reference` finds no order, because the reference is in
      // `claimedReference`.
      assert.deepEqual([byReference, byAddress, kit], [[], [], []]);

      const listed = await scene.ask("GET", `/v1/events/${event.id}`, false);
      assert.equal(listed.body, delivery.body, "the list says the very same");
      const mine = await scene.ask("GET", `/v1/address/${cheap.address}/mine`, false);
      const { reference, claimedReference, createdBy } = mine.json();
      assert.deepEqual([reference, claimedReference, createdBy], [null, "order-1", "client_id"]);
    });

    test("cannot replace the reference that a server set", async () => {
      const { record } = await scene.shop.order("order-2", await intentOf("1"));
      const dear = await scene.shop.order("order-9000", await intentOf(price));
      const orders = { "order-2": record, "order-9000": dear.record };
      const refused = await forge("order-9000&again=true", record.intent);
      assert.equal(refused.json().error.code, "reference_in_use");
      const sold = await handle(await scene.payAndHear(record), orders, scene);
      assert.deepEqual(referencesOf(sold.event), ["order-2", null, "api_key"]);
      assert.deepEqual([sold.byReference, sold.byAddress, sold.kit], Array(3).fill(["order-2"]));

      // The test now changes the reference's row to the values that an old version stored. The row
      // then says that an API key set the reference, although a client ID set it. The attack then
      // succeeds: the handler that trusts references fulfills the expensive order.
      const other = await scene.shop.order("order-3", await intentOf("1"));
      await scene.store.db
        .updateTable("address_references")
        .set({ reference: "order-9000", by_client_id: 0, is_again: 1 })
        .where("account_id", "=", scene.accountId)
        .where("address", "=", Buffer.from(fromHex(other.record.address)))
        .execute();
      const delivery = await scene.payAndHear(other.record);
      const forged = await handle(delivery, { ...orders, "order-3": other.record }, scene);
      assert.deepEqual(referencesOf(forged.event), ["order-9000", null, "api_key"]);
      assert.deepEqual(forged.byReference, ["order-9000"], "goods for 9,000 leave for 1");
      assert.deepEqual([forged.byAddress, forged.kit], [["order-3"], ["order-3"]]);
    });
  });
}
