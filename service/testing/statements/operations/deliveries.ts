// Operations that claim, complete, and replay webhook deliveries, operations that delete events and
// deliveries, and operations that change webhook endpoints.

import { pruneEvents } from "../../../events/list.ts";
import { addTestDelivery, replay } from "../../../webhooks/deliveries/enqueue.ts";
import { listDeliveries, pruneDeliveries } from "../../../webhooks/deliveries/list.ts";
import { claim, findDueEndpoints, finish } from "../../../webhooks/deliveries/queue.ts";
import {
  addEndpoint,
  findEndpoint,
  removeEndpoint,
  rotateSecret,
  setPaused,
} from "../../../webhooks/endpoints.ts";
import { allLanes } from "../../../webhooks/lanes.ts";
import { ensureSigningKeys, rotateSigningKey } from "../../../webhooks/sign.ts";
import { accounts, began, endpointId } from "../account.ts";
import { actor, type Operations, type World } from "./world.ts";

export function deliveries({ store, nowMs }: World): Operations {
  const { db } = store;
  const { many } = accounts;
  const sent = { status: 500, latencyMs: 1, answer: "no" } as const;
  const claimed = () => claim(db, [{ id: endpointId, accountId: many, room: 128 }], nowMs);
  const finished = async (status: number) => {
    const claims = await claimed();
    const each = { ...sent, status } as never;
    await finish(
      db,
      claims.map((claim) => ({ claim, sent: each, nowMs: claim.attempts })),
      () => 0.5,
    );
    await setPaused(db, many, endpointId, false, actor);
  };
  const untilMs = nowMs + 10 ** 9;
  return {
    "webhooks: find endpoints with deliveries that are due": async () => {
      for (const lane of allLanes) await findDueEndpoints(db, lane, [accounts.large], nowMs, 1_000);
    },
    "webhooks: claim 128 deliveries": claimed,
    "webhooks: record 128 accepted deliveries": () => finished(204),
    "webhooks: record 128 refused deliveries": () => finished(500),
    "webhooks: replay the events of a time range": () =>
      replay(db, many, endpointId, { fromMs: began, untilMs }, nowMs),
    "webhooks: replay one event": () =>
      replay(db, many, endpointId, { eventId: "evt_many7" }, nowMs),
    "webhooks: send a test event": () => addTestDelivery(db, endpointId, nowMs),
    "webhooks: list an endpoint's deliveries": () => listDeliveries(db, endpointId, 100),
    "events: delete old events": () => pruneEvents(db, nowMs + 10 ** 10),
    "webhooks: fail 128 deliveries whose events were deleted": claimed,
    "webhooks: delete old deliveries": () => pruneDeliveries(db, nowMs + 10 ** 10),
    "webhooks: read the signing keys": () => ensureSigningKeys(db, nowMs),
    "webhooks: rotate the signing key": () => rotateSigningKey(db, nowMs),
    "webhooks: create, rotate, pause, and remove an endpoint": async () => {
      const targets = "any" as const;
      const input = { url: "https://example.com/hook", types: [], targets };
      const { id } = await addEndpoint(db, accounts.large, input, actor);
      await rotateSecret(db, accounts.large, id, actor);
      await setPaused(db, accounts.large, id, true, actor);
      await removeEndpoint(db, accounts.large, id, actor);
    },
    "webhooks: remove the endpoint with the most deliveries": async () => {
      const values = await db
        .selectFrom("webhook_endpoints")
        .selectAll()
        .where("id", "=", endpointId)
        .executeTakeFirstOrThrow();
      await removeEndpoint(db, many, endpointId, actor);
      await db.insertInto("webhook_endpoints").values(values).execute();
      await findEndpoint(db, many, endpointId);
    },
  };
}
