// Verifies the signatures of deliveries with the packages standardwebhooks and svix, before and
// after rotations.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { verifyWebhook, WebhookError } from "executable-address/webhook";
import { pino } from "pino";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { openStore } from "../roles/open-store.ts";
import {
  addHook,
  type Delivery,
  happen,
  newAccount,
  startReceiver,
} from "../testing/webhooks/world.ts";
import { startDelivery } from "./deliver.ts";
import { rotateSecret } from "./endpoints.ts";
import { sender } from "./send.ts";
import { ensureSigningKeys, rotateSigningKey } from "./sign.ts";

const oracles: Record<string, (secret: string, delivery: Delivery) => unknown> = {
  standardwebhooks: (secret, { body, headers }) =>
    new Webhook(secret).verify(body, headers as Record<string, string>),
  svix: (secret, { body, headers }) =>
    new SvixWebhook(secret).verify(body, headers as Record<string, string>),
};

const dataDirectory = mkdtempSync(join(tmpdir(), "signatures-"));
const store = await openStore({ dataDirectory });
let aheadMs = 0;
const now = () => Date.now() + aheadMs;
const delivery = startDelivery({
  ...{ store, now, random: () => 0.5, pollMs: 10, log: pino({ level: "silent" }) },
  send: sender("any", 500),
});
after(async () => {
  await delivery.stop();
  await store.close();
  rmSync(dataDirectory, { recursive: true });
});
beforeEach(() => {
  aheadMs = 0;
});

/**
 * Starts a receiver, and adds an endpoint with the receiver's URL. The returned `deliver` creates
 * an event and waits for the request that delivers this event.
 */
async function openHook() {
  const receiver = await startReceiver();
  after(receiver.close);
  const account = await newAccount(store);
  const hook = await addHook(store, account, `${receiver.url}/hook`);
  const deliver = async () => {
    const count = receiver.taken.length;
    const id = await happen(store, account, {}, now());
    while (receiver.taken.length === count) await sleep(5);
    const taken = receiver.taken.at(-1)!;
    assert.equal(taken.headers["webhook-id"], id);
    return taken;
  };
  return { account, hook, deliver };
}

test("two libraries and `verifyWebhook` reject a webhook if any part has changed", async () => {
  const { hook, deliver } = await openHook();
  const delivery = await deliver();
  const id = String(delivery.headers["webhook-id"]);
  for (const verify of Object.values(oracles)) verify(hook.secret, delivery);
  const publicKey = (await ensureSigningKeys(store.db, now()))[0]!.publicKey;
  assert.equal((await verifyWebhook(delivery.body, delivery.headers, { publicKey })).id, id);
  const { secret } = hook;
  assert.equal((await verifyWebhook(delivery.body, delivery.headers, { secret })).id, id);

  const signature = String(delivery.headers["webhook-signature"]);
  const mutants: Delivery[] = [
    { ...delivery, body: delivery.body.replace("funded", "executed") },
    { ...delivery, body: `${delivery.body} ` },
    ...["webhook-id", "webhook-timestamp", "webhook-signature"].flatMap((name) => {
      const value = String(delivery.headers[name]);
      const other = value.replace(/[0-9]/, (digit) => String((Number(digit) + 1) % 10));
      const old = String(Number(delivery.headers["webhook-timestamp"]) - 301);
      return [other, "", ...(name === "webhook-timestamp" ? [old] : [])].map((changed) => ({
        ...delivery,
        headers: { ...delivery.headers, [name]: changed },
      }));
    }),
    ...[signature.replaceAll("v1,", "v2,").replace("v1a,", "v2,"), "v1,", "v1a,AAAA"].map(
      (changed) => ({
        ...delivery,
        headers: { ...delivery.headers, "webhook-signature": changed },
      }),
    ),
  ];
  for (const mutant of mutants) {
    // The header contains two kinds of signatures. A receiver verifies only one of the two, so it
    // accepts a delivery whose other signature was changed.
    const kept = String(mutant.headers["webhook-signature"]);
    const [v1, v1a] = signature.split(" ") as [string, string];
    const isSame =
      mutant.body === delivery.body &&
      mutant.headers["webhook-id"] === id &&
      mutant.headers["webhook-timestamp"] === delivery.headers["webhook-timestamp"];
    if (!(isSame && kept.includes(v1))) {
      for (const [name, verify] of Object.entries(oracles)) {
        assert.throws(() => verify(secret, mutant), Error, `${name} takes a mutant`);
      }
      await assert.rejects(verifyWebhook(mutant.body, mutant.headers, { secret }), WebhookError);
    }
    if (!(isSame && kept.includes(v1a))) {
      await assert.rejects(verifyWebhook(mutant.body, mutant.headers, { publicKey }), WebhookError);
    }
  }
  const wrong = `whsec_${randomBytes(32).toString("base64")}`;
  await assert.rejects(verifyWebhook(delivery.body, delivery.headers, { secret: wrong }));
});

test("for a day after a rotation, deliveries are signed with both signing keys", async () => {
  const { hook, deliver } = await openHook();
  const [old] = await ensureSigningKeys(store.db, now());
  const takes = ({ body, headers }: Delivery, publicKey: string | string[]) =>
    verifyWebhook(body, headers, { publicKey, now: now() }).then(
      () => true,
      () => false,
    );
  const before = await deliver();
  const [fresh, ending, ...others] = await rotateSigningKey(store.db, now());
  assert.deepEqual(others, []);
  assert.equal(fresh!.untilMs, null);
  assert.equal(ending!.publicKey, old!.publicKey);
  const keys = [fresh!.publicKey, old!.publicKey];
  const taken = async (delivery: Delivery) =>
    Promise.all([...keys, keys].map((key) => takes(delivery, key)));
  assert.deepEqual(await taken(before), [false, true, true]);
  const during = await deliver();
  assert.deepEqual(await taken(during), [true, true, true]);
  for (const verify of Object.values(oracles)) verify(hook.secret, during);
  aheadMs = 86_400_000;
  assert.deepEqual(await taken(await deliver()), [true, false, true]);
  assert.deepEqual(
    (await ensureSigningKeys(store.db, now())).map(({ publicKey }) => publicKey),
    [fresh!.publicKey],
  );
});

test("a second rotation of the signing key within a day invalidates the oldest key", async () => {
  const [first] = await ensureSigningKeys(store.db, now());
  const [second] = await rotateSigningKey(store.db, now());
  const keys = await rotateSigningKey(store.db, now());
  assert.equal(keys.length, 2);
  assert.equal(keys[1]!.publicKey, second!.publicKey);
  assert.ok(keys.every(({ publicKey }) => publicKey !== first!.publicKey));
});

test("for 24 hours after a rotation, deliveries are signed with both secrets", async () => {
  const { account, hook, deliver } = await openHook();
  const rotated = await rotateSecret(store.db, account, hook.id, { atMs: now() });
  const during = await deliver();
  for (const verify of Object.values(oracles)) {
    verify(hook.secret, during);
    verify(rotated!.secret, during);
  }
  aheadMs = 86_400_001;
  const signatures = String((await deliver()).headers["webhook-signature"]).split(" ");
  assert.deepEqual(
    signatures.map((each) => each.split(",")[0]),
    ["v1", "v1a"],
  );
});
