// The API's client of the executor: reads the progress of an address and the gas costs of an
// account. The executor can run in another process with the same database. If a status request
// finds undetected money, this module wakes the address's job.

import { formatAddress, fromHex, type Hex, type Keccak } from "executable-address";
import type { AddressStatus, ExecutorProgress } from "executable-address/status";
import type { Kysely } from "kysely";
import type { Logger } from "pino";
import type { ReportedFate, TokenReport } from "../chain/sent.ts";
import type { AddressOf, MovedElsewhere } from "../events/elsewhere/amounts.ts";
import { hourSeconds } from "../flow/days.ts";
import { limitLogs } from "../flow/log-limit.ts";
import { together, togetherBy } from "../flow/together.ts";
import { keccak } from "../store/record.ts";
import { statementRows } from "../store/statement-rows.ts";
import type { Store } from "../store/store.ts";
import type { Tables } from "../store/tables.ts";
import { findJobs, hintJobs } from "./ledger/jobs.ts";
import { findLease, isPaused, openRunningCheck } from "./ledger/lease.ts";
import type { Reason } from "./ledger/reasons.ts";
import { reportTokens } from "./ledger/reported-tokens.ts";
import { findRecoveredElsewhere } from "./ledger/settlements.ts";
import { findAccountGas } from "./ledger/spending.ts";

/**
 * Implements `ExecutorClient` from http/parts.ts.
 * @param nowMs milliseconds of a monotonic clock
 */
export function openExecutorClient(
  { db }: Pick<Store, "db">,
  log: Pick<Logger, "warn">,
  reportedTokensPerDay: number,
  nowMs = () => performance.now(),
) {
  const findJob = jobFinder(db);
  const isRunning = openRunningCheck(db, nowMs);
  const isLed = ledChains(db);
  const wake = openWake(db, log, isLed);
  return {
    async readProgressAndWake(status: AddressStatus): Promise<ExecutorProgress | null> {
      const job = await findJob(status);
      const present = (await wake(status, job)) ? await findJob(status) : job;
      return present?.progress ?? null;
    },
    async isActive(chainId: number): Promise<boolean> {
      const [running, paused] = await Promise.all([isRunning(chainId), isPaused(db, chainId)]);
      return running && !paused;
    },
    findReturns: returnsFinder(db, keccak),
    async reportTokens(report: TokenReport): Promise<ReportedFate[]> {
      const { chainId, tokens } = report;
      if (tokens.length === 0) return [];
      const job = await findJob(report);
      const isReturned = reportedTokensPerDay > 0 && job?.state !== "dropped";
      if (!isReturned || !(await isLed(chainId))) return tokens.map(() => "left_to_owner");
      return reportTokens(db, report);
    },
    readGasSpent: (accountId: string) => findAccountGas(db, accountId),
  };
}

/**
 * Returns a function that lists the executor's transfers from an address to `recovery`, sorted by
 * block. Transfers on the chain `chainId` are omitted.
 */
export function returnsFinder(
  db: Kysely<Tables>,
  keccak: Keccak,
): (request: AddressOf) => Promise<MovedElsewhere[]> {
  return togetherBy<AddressOf, MovedElsewhere[]>(
    ({ chainId }) => `${chainId}`,
    async (requests) => {
      const keys = requests.map(({ address }) => Buffer.from(toDigits(address), "hex"));
      const outcomes = await findRecoveredElsewhere(db, requests[0]!.chainId, keys);
      const byAddress = Map.groupBy(outcomes, ({ address }) =>
        Buffer.from(address).toString("hex"),
      );
      return requests.map(({ address }) =>
        (byAddress.get(toDigits(address)) ?? []).map((row) => ({
          chainId: Number(row.chain_id),
          token: formatAddress(fromHex(row.token), keccak),
          amount: row.amount,
          blockNumber: Number(row.block_number),
          transactionHash: row.transaction_hash as Hex,
        })),
      );
    },
    statementRows.costly,
  );
}

/**
 * `progress` is null while the job has nothing to do. `detectedBlock` and `detectedAtSeconds` say
 * when money was last detected (block number and Unix time).
 */
type JobNews = {
  progress: ExecutorProgress | null;
  state: Row["state"];
  reason: string | null;
  detectedBlock: number;
  detectedAtSeconds: number;
};

/** Returns undefined if the executor never detected money at the address. */
type FindJob = (job: AddressOf) => Promise<JobNews | undefined>;

export function jobFinder(db: Kysely<Tables>): FindJob {
  return together<AddressOf, JobNews | undefined>(
    async (requests) => {
      const found = new Map<string, JobNews>();
      for (const row of await readRows(db, requests)) {
        // The rows are sorted by signing time, so a job's newest transaction overwrites older ones.
        found.set(toKey(row.chain_id, Buffer.from(row.address).toString("hex")), toNews(row));
      }
      return requests.map(({ chainId, address }) => found.get(toKey(chainId, toDigits(address))));
    },
    { sizeMax: statementRows.short },
  );
}

const toDigits = (address: Hex) => address.slice(2).toLowerCase();

/** An address has a separate job on each chain. */
const toKey = (chainId: number, digits: string) => `${chainId} ${digits}`;

type Row = Awaited<ReturnType<typeof readRows>>[number];

function readRows(db: Kysely<Tables>, requests: AddressOf[]) {
  const digits = new Set(requests.map(({ address }) => toDigits(address)));
  const addresses = [...digits].map((each) => Buffer.from(each, "hex"));
  const chainIds = [...new Set(requests.map(({ chainId }) => chainId))];
  return findJobs(db, chainIds, addresses);
}

function toNews(row: Row): JobNews {
  return {
    progress: toProgress(row),
    state: row.state,
    reason: row.reason,
    detectedBlock: row.detected_block,
    detectedAtSeconds: row.detected_at,
  };
}

function toProgress({ state, reason, failures, kind, hash }: Row): ExecutorProgress | null {
  if (state === "idle") return null;
  return {
    purpose: kind === "return" ? "recover" : kind === "fill" ? null : kind,
    phase: state === "dropped" ? "given_up" : state,
    transactionHash: hash as Hex | null,
    attempts: failures,
    reason,
  };
}

/** Returns whether the executor was notified of the money at the address. */
type Wake = (status: AddressStatus, job: JobNews | undefined) => Promise<boolean>;

/**
 * The executor abandons a job if the money is not worth the gas for a return. A status request
 * retries the job if money was last detected at least this number of seconds ago.
 */
const worthlessSeconds = hourSeconds;

/**
 * Returns a function that checks whether an executor has ever run on a chain. Jobs are created only
 * for chains that have had an executor, because nothing else completes jobs.
 */
function ledChains(db: Kysely<Tables>): (chainId: number) => Promise<boolean> {
  const led = new Set<number>();
  return async (chainId) => {
    if (led.has(chainId)) return true;
    const lease = await findLease(db, chainId);
    if (lease) led.add(chainId);
    return lease !== undefined;
  };
}

export function openWake(
  db: Kysely<Tables>,
  log: Pick<Logger, "warn">,
  isLed = ledChains(db),
): Wake {
  const logLimited = limitLogs();
  const waking = new Map<Hex, Promise<boolean>>();

  const wake = async ({ address, chainId, block, state }: AddressStatus): Promise<boolean> => {
    try {
      if (!(await isLed(chainId))) return false;
      await hintJobs(db, chainId, [{ address, block, isEnough: state === "funded" }]);
      return true;
    } catch (err) {
      // A failure to wake the job does not affect the status request. The next status request tries
      // again.
      logLimited("wake", (leftOut) => {
        log.warn({ err, address, leftOut }, "a payment could not be reported to the executor");
      });
      return false;
    } finally {
      waking.delete(address);
    }
  };

  return async (status, job) => {
    if (!isNews(status, job)) return false;
    const { address } = status;
    const pending = waking.get(address) ?? wake(status);
    waking.set(address, pending);
    return pending;
  };
}

/**
 * Returns whether the status is a reason to wake the address's job. The job is woken if the
 * executor has not detected the money, or should try again to return the money.
 */
function isNews(
  { balance, recoverable, block, state }: AddressStatus,
  job: JobNews | undefined,
): boolean {
  if (balance === "0" && recoverable.length === 0) return false;
  if (!job) return true;
  const isMore =
    state === "funded" &&
    job.state === "waiting" &&
    job.reason === ("underfunded" satisfies Reason);
  // This process and the executor may use different endpoints, which may disagree for a long time.
  // To limit the executor's work, status requests make a job due at most once per block.
  if (job.state === "idle" || isMore) return job.detectedBlock !== block.number;
  if (job.state !== "given_up" || job.reason !== ("not_worth_its_gas" satisfies Reason))
    return false;
  return Math.abs(block.timestamp - job.detectedAtSeconds) >= worthlessSeconds;
}
