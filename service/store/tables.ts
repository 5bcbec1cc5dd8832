// All tables, as Kysely sees them: one file a room in tables/, joined here.

import type { AccountTables } from "./tables/accounts.ts";
import type { EventTables } from "./tables/events.ts";
import type { ExecutorTables } from "./tables/executor.ts";
import type { FollowTables } from "./tables/follow.ts";
import type { RecordTables } from "./tables/records.ts";
import type { WebhookTables } from "./tables/webhooks.ts";

export type { Dialect } from "./dialect.ts";

export type Tables = {
  /** Which files of tables/ ran, by name and digest, and when, in Unix milliseconds. */
  migrations: { name: string; applied_at: number };
} & RecordTables &
  AccountTables &
  FollowTables &
  ExecutorTables &
  EventTables &
  WebhookTables;
