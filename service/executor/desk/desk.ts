// Answers what the rest of the service asks of the executor, which may be another process on the
// same database: what it has in hand for an address, asked for with each status that is told, and
// what gas it paid for an account.

import type { AddressStatus, ExecutorProgress } from "executable-address/status";
import type { Logger } from "pino";
import type { Store } from "../../store/store.ts";
import { jobFinder } from "./progress.ts";
import { findAccountGas } from "./spending.ts";
import { openWake } from "./wake.ts";

/** The ExecutorDesk of http/parts.ts. */
export function openDesk({ db }: Pick<Store, "db">, log: Pick<Logger, "warn">) {
  const findJob = jobFinder(db);
  const wake = openWake(db, log);
  return {
    async progressOf(status: AddressStatus): Promise<ExecutorProgress | null> {
      const job = await findJob(status);
      const present = (await wake(status, job)) ? await findJob(status) : job;
      return present?.progress ?? null;
    },
    gasSpentFor: (accountId: string) => findAccountGas(db, accountId),
  };
}
