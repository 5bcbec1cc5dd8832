// Functions for tests of webhooks: accounts with endpoints and events, and receivers that accept,
// refuse, or never respond.

import { randomBytes } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAccount } from "../../accounts/account.ts";
import { type NewEvent, newEventId } from "../../events/watches.ts";
import type { Store } from "../../store/store.ts";
import { enqueue, replay } from "../../webhooks/deliveries/enqueue.ts";
import { addEndpoint } from "../../webhooks/endpoints.ts";

export type Delivery = { path: string; headers: IncomingHttpHeaders; body: string };
export type Reply =
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  | "never";

/** Starts a receiver that records requests. `answer` returns its responses. */
export async function startReceiver(
  answer: (delivery: Delivery) => Reply = () => ({ status: 204 }),
) {
  const taken: Delivery[] = [];
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    const delivery = { path: request.url ?? "", headers: request.headers, body };
    taken.push(delivery);
    const reply = answer(delivery);
    if (reply === "never") return;
    response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    taken,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

export async function newAccount({ db }: Store): Promise<string> {
  const email = `${randomBytes(6).toString("hex")}@example.com`;
  return (await createAccount(db, email, { atMs: 1 }))!.accountId;
}

export const addHook = ({ db }: Store, accountId: string, url: string, types: string[] = []) =>
  addEndpoint(db, accountId, { url, types, targets: "any" }, { atMs: 1 });

/** Saves an event and its deliveries in one transaction, like the observer. */
export async function happen(
  { db }: Store,
  accountId: string,
  { address = randomBytes(20), sequence = 1, type = "address.funded" as NewEvent["type"] } = {},
  nowMs = Date.now(),
): Promise<string> {
  const id = newEventId();
  await db.transaction().execute(async (transaction) => {
    const { position } = await transaction
      .insertInto("event_positions")
      .values({ account_id: accountId, position: 1 })
      .onConflict((conflict) =>
        conflict
          .column("account_id")
          .doUpdateSet((eb) => ({ position: eb("event_positions.position", "+", 1) })),
      )
      .returning("position")
      .executeTakeFirstOrThrow();
    const data = { address: `0x${address.toString("hex")}`, sequence };
    const body = JSON.stringify({ id, type, data });
    await transaction
      .insertInto("events")
      .values({
        ...{ account_id: accountId, position, id, type, address, sequence },
        ...{ created_at: nowMs, body },
      })
      .execute();
    await enqueue(transaction, [{ accountId, id, type, address, sequence }], nowMs);
  });
  return id;
}

/**
 * Creates accounts with endpoints and events. Each event has one pending delivery for each endpoint
 * of its account.
 */
export async function pileUp(
  store: Store,
  { accounts, endpoints, events }: { accounts: number; endpoints: number; events: number },
  urlOf: (account: number, endpoint: number) => string,
  now = Date.now,
): Promise<void> {
  for (let a = 0; a < accounts; a++) {
    const account = await newAccount(store);
    const fromMs = now();
    for (let index = 0; index < events; index++) await happen(store, account, {}, now());
    for (let e = 0; e < endpoints; e++) {
      const { id } = await addHook(store, account, urlOf(a, e));
      await replay(store.db, account, id, { fromMs, untilMs: now() + 1 }, now());
    }
  }
}
