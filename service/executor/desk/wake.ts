// Tells the executor of money that a status shows and it does not know of. The executor finds
// payments by their logs; native coin leaves none, and a payment made before its address was
// created here matched no record. Only vaults that hold money make rows.

import type { Hex } from "executable-address";
import type { AddressStatus } from "executable-address/status";
import type { Kysely } from "kysely";
import type { Logger } from "pino";
import { seldom } from "../../flow/seldom.ts";
import type { Tables } from "../../store/tables.ts";
import { hintJobs, notWorthItsGas, underfunded } from "./hints.ts";
import type { JobNews } from "./progress.ts";

/** @returns whether the executor was told just now */
type Wake = (status: AddressStatus, job: JobNews | undefined) => Promise<boolean>;

/** How long what was not worth its gas is left alone, however often its status is read. */
const worthlessSeconds = 3600;

export function openWake(db: Kysely<Tables>, log: Pick<Logger, "warn">): Wake {
  const tell = seldom();
  const led = new Set<number>();
  const waking = new Map<Hex, Promise<boolean>>();

  /** Without an executor, now or ever, a job would never be worked on. */
  const isLed = async (chainId: number) => {
    if (led.has(chainId)) return true;
    const lease = await db
      .selectFrom("executor_leases")
      .select("chain_id")
      .where("chain_id", "=", chainId)
      .executeTakeFirst();
    if (lease) led.add(chainId);
    return lease !== undefined;
  };

  const wake = async ({ address, chainId, block, state }: AddressStatus): Promise<boolean> => {
    try {
      if (!(await isLed(chainId))) return false;
      await hintJobs(db, chainId, [{ address, block, isEnough: state === "funded" }]);
      return true;
    } catch (err) {
      // The status is true all the same, and the next one tells the executor again.
      tell("wake", (leftOut) => {
        log.warn({ err, address, leftOut }, "the executor could not be told of money");
      });
      return false;
    } finally {
      waking.delete(address);
    }
  };

  return async (status, job) => {
    if (!isNews(status, job)) return false;
    const { address } = status;
    const told = waking.get(address) ?? wake(status);
    waking.set(address, told);
    return told;
  };
}

/** There is money, and the executor has no job of it, or has not read its balance since. */
function isNews(
  { balance, recoverable, block, state }: AddressStatus,
  job: JobNews | undefined,
): boolean {
  if (balance === "0" && recoverable.length === 0) return false;
  if (!job) return true;
  const isMore = state === "funded" && job.state === "waiting" && job.reason === underfunded;
  // The executor's endpoints may contradict ours for long: one hint for each block is enough.
  if (job.state === "idle" || isMore) return job.detectedBlock !== block.number;
  if (job.state !== "given_up" || job.reason !== notWorthItsGas) return false;
  return Math.abs(block.timestamp - job.detectedAtSeconds) >= worthlessSeconds;
}
