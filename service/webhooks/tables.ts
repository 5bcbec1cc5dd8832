// The tables of webhooks: the endpoints of accounts, their deliveries, and the attempts of each
// delivery. Times are Unix milliseconds.

import { type Generated, sql } from "kysely";
import type { Dialect, TableStatement } from "../store/tables.ts";
import type { Lane } from "./lanes.ts";

declare module "../store/tables.ts" {
  interface Tables {
    /**
     * `types` contains event types, separated by commas. If it is empty, events of all types are
     * delivered. Deliveries are also signed with `old_secret` until `old_until`. `next_due` is the
     * time from which the endpoint's next delivery can be claimed. If no delivery is waiting,
     * `next_due` is null. `lane`, `streak`, and `barred_until` are the endpoint's state (lanes.ts).
     */
    webhook_endpoints: {
      id: string;
      account_id: string;
      url: string;
      types: string;
      secret: string;
      old_secret: string | null;
      old_until: number | null;
      state: "active" | "paused" | "disabled";
      reason: string | null;
      failing_since: number | null;
      lane: Lane;
      streak: number;
      barred_until: number;
      next_due: number | null;
      version: number;
      created_at: number;
    };
    /**
     * The delivery of one event to one endpoint. A `waiting` delivery is not sent before `due_at`.
     * A `held` delivery waits until earlier deliveries for the same address have finished. The
     * delivery of a replay or a test has no address. Only the delivery of a test has a `body`,
     * because test events are not stored. During a request, `is_claimed` is 1, and `due_at` is the
     * time at which the claim expires.
     */
    webhook_deliveries: {
      id: string;
      endpoint_id: string;
      event_id: string;
      type: string;
      address: Bytes | null;
      sequence: number;
      body: string | null;
      state: "waiting" | "held" | "delivered" | "failed";
      due_at: number | null;
      is_claimed: Generated<number>;
      attempts: number;
      created_at: number;
    };
    /**
     * `status` is the HTTP status, or null if there was no response. `answer` is the first kilobyte
     * of the response, or the reason why there was no response.
     */
    webhook_attempts: {
      delivery_id: string;
      number: number;
      at: number;
      status: number | null;
      latency_ms: number;
      answer: string;
    };
    /**
     * The service's private Ed25519 keys for the signature `v1a`, as PKCS #8 in base64. `until` is
     * null for the newest key.
     */
    webhook_keys: { id: number; private_key: string; until: number | null };
  }
}

export function statements(dialect: Dialect): TableStatement[] {
  const bytes = sql.raw(dialect === "postgres" ? "bytea" : "blob");
  return [
    sql`create table webhook_endpoints (id text primary key not null, account_id text not null,
        url text not null, types text not null, secret text not null, old_secret text,
        old_until bigint, state text not null, reason text, failing_since bigint,
        lane bigint not null, streak bigint not null, barred_until bigint not null,
        next_due bigint, version bigint not null, created_at bigint not null)`,
    sql`create index webhook_endpoints_account on webhook_endpoints (account_id, created_at)`,
    sql`create index webhook_endpoints_due on webhook_endpoints (state, lane, next_due)`,
    sql`create table webhook_deliveries (id text primary key not null, endpoint_id text not null,
        event_id text not null, type text not null, address ${bytes}, sequence bigint not null,
        body text, state text not null, due_at bigint,
        is_claimed bigint not null default 0, attempts bigint not null,
        created_at bigint not null)`,
    sql`create index webhook_deliveries_due on webhook_deliveries (endpoint_id, state, due_at)`,
    sql`create index webhook_deliveries_lane
        on webhook_deliveries (endpoint_id, address, state, sequence)`,
    sql`create index webhook_deliveries_newest on webhook_deliveries (endpoint_id, created_at, id)`,
    sql`create index webhook_deliveries_age on webhook_deliveries (created_at)`,
    sql`create table webhook_attempts (delivery_id text not null, number bigint not null,
        at bigint not null, status bigint, latency_ms bigint not null, answer text not null,
        primary key (delivery_id, number))`,
    sql`create table webhook_keys (id bigint primary key not null, private_key text not null,
        until bigint)`,
  ];
}
