// Tests the SDK and the command-line program with the service over a socket.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { type Hex, type Intent, makeRecord } from "executable-address";
import {
  createClient,
  InvalidError,
  type NewIntent,
  ServiceError,
} from "executable-address/client";
import { saltFor, signatureFor } from "executable-address/reference";
import { findCredentials } from "../service/accounts/account.ts";
import { addApiKey } from "../service/accounts/api-keys.ts";
import { bindClientId } from "../service/accounts/client-ids.ts";
import { addOrigin } from "../service/accounts/origins/origin-list.ts";
import { rotateReferenceKey } from "../service/accounts/reference-keys.ts";
import { newIntent, startApp, type TestApp } from "../service/testing/app.ts";

let service: TestApp;
let baseUrl: string;
let apiKey: string;

before(async () => {
  service = await startApp();
  baseUrl = `${await service.app.listen({ host: "127.0.0.1", port: 0 })}/v1`;
  ({ apiKey } = await service.newKey());
});
after(() => service.close());

const intent = () => newIntent() as unknown as NewIntent;

describe("executable-address/client with a real service", () => {
  test("the client throws `unauthorized` without a valid credential", async () => {
    const isUnauthorized = { name: "ServiceError", status: 401, code: "unauthorized" };
    await assert.rejects(createClient({ baseUrl }).create(intent()), isUnauthorized);
    const wrong = createClient({ baseUrl, apiKey: `svc_sk_${"0".repeat(64)}` });
    await assert.rejects(wrong.create(intent()), isUnauthorized);
  });

  test("the client throws `invalid_request` for an unlisted token", async () => {
    const client = createClient({ baseUrl, apiKey });
    const unlisted = { ...intent(), token: `0x${"3".repeat(40)}` as Hex };
    const error = await client.create(unlisted).catch((error) => error);
    assert.ok(error instanceof ServiceError && error.code === "invalid_request");
    assert.deepEqual(error.issues[0]?.path, ["token"]);
  });

  test("the client creates an address and looks it up", async () => {
    const client = createClient({ baseUrl, apiKey });
    const record = await client.create(intent());
    const upper = `0x${record.address.slice(2).toUpperCase()}` as Hex;
    assert.deepEqual(await client.lookup(upper), record);
    assert.equal(await client.lookup(record.intent.token), undefined);
    await assert.rejects(client.lookup("0x1"), InvalidError);
    assert.equal((await client.chains()).chains[0]?.chainId, 1);
  });

  test("the client retries rate-limited requests until they succeed", async () => {
    const client = createClient({ baseUrl, apiKey, retriesMax: 10 });
    const made = await Promise.all(Array.from({ length: 130 }, () => client.create(intent())));
    assert.equal(new Set(made.map(({ address }) => address)).size, 130);
  });

  test("the client finds an address by its reference", async () => {
    const mine = await service.newKey();
    const client = createClient({ baseUrl, apiKey: mine.apiKey });
    const { address } = await client.create(intent(), { reference: "order 42" });
    const { items } = await client.addresses({ reference: "order 42" });
    assert.equal(items[0]?.address, address);
    assert.deepEqual(await client.events(), { items: [], next: "0", hasMore: false });
    const nobody = createClient({ baseUrl });
    await assert.rejects(nobody.events(), { name: "ServiceError", code: "unauthorized" });
  });

  test("the client manages webhook endpoints", async () => {
    const { accountId, apiKey } = await service.newKey();
    const { db } = service.parts.store;
    const reader = { name: "reports", scopes: ["read"] as const, expiresAtMs: null };
    const made = (await addApiKey(db, accountId, reader, { atMs: Date.now() }))!;
    const { webhooks: refused } = createClient({ baseUrl, apiKey: made.apiKey });
    await assert.rejects(refused.list(), { status: 403, code: "scope_required" });
    const { webhooks } = createClient({ baseUrl, apiKey });
    const url = "https://shop.example.com/hook";
    await assert.rejects(webhooks.create({ url: "https://127.0.0.1/" }), {
      code: "invalid_request",
    });
    const { secret, ...added } = await webhooks.create({ url, types: ["address.executed"] });
    assert.match(secret, /^whsec_/);
    assert.deepEqual(await webhooks.get(added.id), added);
    assert.deepEqual(await webhooks.list(), [added]);
    assert.equal(await webhooks.get("whe_0"), undefined);
    const again = await webhooks.create({ url }).catch((error) => error);
    assert.ok(again.issues[0].message.includes(added.id), again.message);
    assert.equal((await webhooks.pause(added.id)).state, "paused");
    await assert.rejects(webhooks.test(added.id), { status: 409, code: "conflict" });
    assert.equal((await webhooks.resume(added.id)).state, "active");
    assert.notEqual((await webhooks.rotate(added.id)).secret, secret);
    const { deliveryId } = await webhooks.test(added.id);
    const [delivery] = await webhooks.deliveries(added.id);
    assert.deepEqual([delivery?.id, delivery?.type], [deliveryId, "webhook.test"]);
    const span = { from: "2026-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z" };
    assert.deepEqual(await webhooks.replay(added.id, span), { replayed: 0, next: null });
    await webhooks.remove(added.id);
    assert.deepEqual(await webhooks.list(), []);
  });

  test("the service rejects unsigned intents of a client ID that requires signatures", async () => {
    const { accountId } = await service.newKey();
    const { db } = service.parts.store;
    const actor = { atMs: Date.now() };
    const origin = "https://shop.example.com";
    await addOrigin(db, accountId, origin, actor);
    await bindClientId(db, accountId, true, actor);
    const { referenceKey } = (await rotateReferenceKey(db, accountId, actor))!;
    const { clientId } = await findCredentials(db, accountId);
    const asPage: typeof fetch = (input, init) =>
      fetch(input, { ...init, headers: { ...(init?.headers as object), origin } });
    const given = { baseUrl, clientId: clientId.client_id, fetch: asPage };
    const page = createClient(given);
    const signed = { ...intent(), salt: saltFor("order-42", referenceKey) } as Intent;
    const { address } = makeRecord(signed);
    const signature = signatureFor(address, referenceKey, "order-42");
    const named = { reference: "order-42", signature };
    for (const attempt of [
      page.create(signed),
      page.create({ ...signed, amount: "1" }, named),
      page.create(signed, { signature }),
    ])
      await assert.rejects(attempt, { status: 403, code: "not_signed" });
    assert.equal((await page.create(signed, named)).address, address);
  });

  test("the command line creates and looks up an address", async () => {
    const run = async (args: string[], input = "") => {
      const cli = new URL("../address/cli/cli.ts", import.meta.url).pathname;
      const env = { ...process.env, EXECUTABLE_ADDRESS_API_KEY: apiKey };
      const child = spawn(process.execPath, [cli, ...args, "--url", baseUrl], { env });
      child.stdin.end(input);
      let out = "";
      for await (const chunk of child.stdout) out += chunk;
      return JSON.parse(out);
    };
    const made = await run(["create"], JSON.stringify(intent()));
    assert.deepEqual(await run(["lookup", made.address]), made);
    const named = await run(["create", "--reference", "order-7"], JSON.stringify(intent()));
    const listed = await run(["addresses", '{"reference":"order-7"}']);
    assert.equal(listed.items[0].address, named.address);
    assert.deepEqual((await run(["events", "0"])).items, []);
  });
});
