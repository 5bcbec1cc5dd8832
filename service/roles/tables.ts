// The rooms that keep tables beside the store's own, in the order in which these are made.

import * as accounts from "../accounts/tables.ts";
import * as events from "../events/tables.ts";
import * as executor from "../executor/tables.ts";
import * as follow from "../follow/tables.ts";
import type { Rooms } from "../store/migrate.ts";
import * as webhooks from "../webhooks/tables.ts";

export const rooms: Rooms = {
  accounts,
  follow,
  executor,
  events,
  webhooks,
  "client-ids": { statements: accounts.clientIdStatements },
};
