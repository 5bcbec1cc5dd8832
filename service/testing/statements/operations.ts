// Lists all database operations of the running service. Each operation has its worst case, such as
// a filter without matches or the largest page. The test statements.test.ts fails if an operation
// is missing.

import type { Store } from "../../store/store.ts";
import { began } from "./account.ts";
import { deliveries } from "./operations/deliveries.ts";
import { executor } from "./operations/executor.ts";
import { lists } from "./operations/lists.ts";
import { observer } from "./operations/observer.ts";
import { people } from "./operations/people.ts";
import { references } from "./operations/references.ts";
import type { Operations } from "./operations/world.ts";

export async function openOperations(store: Store, size: number): Promise<Operations> {
  const nowMs = began + size * 1000 + 10 ** 9;
  const world = { store, size, nowMs, crowd: Math.min(2_000, size / 100) };
  return {
    ...lists(world),
    ...(await people(world)),
    ...observer(world),
    ...references(world),
    ...deliveries(world),
    ...(await executor(world)),
  };
}
