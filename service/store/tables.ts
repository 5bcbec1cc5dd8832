// All tables, as Kysely sees them: one type per migration file, joined here.

import type { RecordTables } from "./migrations/001-records.ts";
import type { AccountTables } from "./migrations/002-accounts.ts";
import type { ExecutorTables } from "./migrations/003-executor.ts";
import type { LookTables } from "./migrations/004-looks.ts";
import type { BudgetTables } from "./migrations/010-budgets.ts";
import type { JobCreatorTables } from "./migrations/011-job-creators.ts";
import type { ReferenceTables } from "./migrations/020-references.ts";
import type { EventTables } from "./migrations/021-events.ts";
import type { WebhookTables } from "./migrations/022-webhooks.ts";
import type { MoneyTables } from "./migrations/040-money.ts";
import type { AccountNameTables } from "./migrations/041-account-names.ts";

export type { Dialect } from "./dialect.ts";

export type Tables = {
  /** Which files of migrations/ ran, and when, in Unix milliseconds. */
  migrations: { name: string; applied_at: number };
} & RecordTables &
  AccountTables &
  ExecutorTables &
  LookTables &
  BudgetTables &
  JobCreatorTables &
  ReferenceTables &
  EventTables &
  WebhookTables &
  MoneyTables &
  AccountNameTables;
