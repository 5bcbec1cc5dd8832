// Handles due jobs: decides between execution and recovery, forms batches, and sends transactions.
// A failing job delays other jobs only while its balance is read and its calls are simulated.

import { codeFault } from "../../chain/check.ts";
import { computeRecoveryGas } from "../../chain/gas-limits.ts";
import type { BlockPace } from "../../chain/rpc/heads.ts";
import { hexData, resultOf } from "../../chain/rpc/json-rpc.ts";
import { dayOf } from "../../flow/days.ts";
import { giveUp, waitForBackoff, waitForEndpoints, waitUntil } from "../ledger/due.ts";
import type { Job, JobUpdate } from "../ledger/jobs.ts";
import type { JobReason, MeasuredReason, Reason } from "../ledger/reasons.ts";
import type { Budgets } from "../money/budgets.ts";
import type { Size } from "../money/fees.ts";
import type { Pass } from "../pass.ts";
import { type Corrupt, type Examined, examine, type HoldingsMemory } from "../payments/vaults.ts";
import { canAfford, type Purse } from "../transactions/purse.ts";
import { gasMax } from "../transactions/send.ts";
import type { SendingKey } from "../transactions/sending-key.ts";
import { admit } from "./batch.ts";
import { type Decision, decide, isOpen } from "./decide.ts";
import {
  countFreeSlots,
  dispatch,
  isAble,
  type SendOrder,
  type ShortageMemory,
  skipUnaffordable,
} from "./dispatch.ts";
import {
  type EstimateMemory,
  estimateExecutions,
  estimateRecoveries,
  type Transfer,
} from "./estimate.ts";
import { computeGasLimit, estimateRecoveryCost, type Ready } from "./gas.ts";
import { findSlowness } from "./simulate.ts";

/**
 * An endpoint that lags behind can return a balance that does not yet include a detected payment.
 * The executor reads the balance again after this delay.
 */
const rereadSeconds = 60;

/** Whether the factory's code was verified. */
export type FactoryMemory = { factory: { isThere: boolean } };

export const openFactoryMemory = (): FactoryMemory => ({ factory: { isThere: false } });

type WorkPass = Pass<
  FactoryMemory & ShortageMemory & HoldingsMemory & EstimateMemory & { pace: BlockPace }
>;

/**
 * Works on the due jobs.
 *
 * @param openBudgets returns the budgets of the pass; the costs of the sent transactions are
 *   reserved in them
 * @param sendOrder sends the transactions (`signAndSend`); a dry run only records them
 * @returns the number of due jobs; 0 if no key can send another transaction
 */
export async function work(
  chainPass: WorkPass,
  keys: readonly SendingKey[],
  openBudgets: () => Promise<Budgets>,
  sendOrder: SendOrder,
): Promise<number> {
  const able = keys.filter(isAble);
  if (able.length === 0) return 0;
  const { parts, view, fence, nowSeconds } = chainPass;
  const slowness = (accountId: string) => findSlowness(view.records, accountId);
  const { chainId } = parts.chain;
  const due = await parts.ledger.findDueJobs(chainId, nowSeconds, jobsMax(able), slowness);
  if (due.length === 0) return 0;
  const richest = await findRichest(able);
  const pass = { ...chainPass, signer: richest.pass.signer };
  const { jobs, waiting } = await skipUnaffordable(pass, due, (size) => canAnyAfford(able, size));
  const updates = [...waiting];
  if (jobs.length > 0) {
    await assertFactory(pass);
    const { examined, corrupt } = await examine(pass, jobs);
    await noteElsewhere(pass, examined);
    const purse = await richest.openPurse();
    const decided = examined.map((item) => ({ item, decision: decideOn(pass, purse, item) }));
    const executions = await readyToExecute(pass, purse, decided);
    const recoveries = await readyToRecover(pass, purse, decided);
    const ready = [...executions.ready, ...recoveries.ready];
    const budgets = await openBudgets();
    const { batches, unpaid } = admit(pass, ready, purse, budgets);
    const dispatched = await dispatch(pass, purse, budgets, batches, keys, sendOrder);
    updates.push(
      ...decided.flatMap(({ item, decision }) => computeUpdate(pass, item, decision)),
      ...corrupt.map((each) => abandon(pass, each)),
      ...executions.updates,
      ...recoveries.updates,
      ...unpaid,
      ...dispatched,
    );
  }
  if (updates.length > 0) await parts.ledger.updateJobs(fence, updates);
  return due.length;
}

/**
 * The minimum of {@link jobsMax}. If it were lower, jobs that have to wait could prevent the
 * executor from reaching the next jobs.
 */
export const jobsMin = 250;

/**
 * Returns how many jobs to examine: as many as the keys can send now, within limits. The limits are
 * `jobsMin` and `jobsPerPass`.
 */
function jobsMax(keys: readonly SendingKey[]): number {
  const { jobsPerPass, batchItemsMax } = keys[0]!.pass.parts.tuning;
  const slots = keys.reduce((sum, key) => sum + countFreeSlots(key), 0);
  return Math.min(jobsPerPass, Math.max(jobsMin, slots * batchItemsMax));
}

/**
 * Finds the key with the most money that is not reserved for pending transactions. Compares keys by
 * `balanceSure`, and keys with the same `balanceSure` by `balance`.
 */
async function findRichest(keys: readonly SendingKey[]): Promise<SendingKey> {
  if (keys.length === 1) return keys[0]!;
  const withLeft = await Promise.all(
    keys.map(async (key) => {
      const { balance, balanceSure, reserved } = await key.openPurse();
      const sure = balanceSure > reserved ? balanceSure - reserved : 0n;
      return { key, sure, perhaps: balance - reserved };
    }),
  );
  const isRicher = (a: (typeof withLeft)[0], b: (typeof withLeft)[0]) =>
    a.sure === b.sure ? a.perhaps > b.perhaps : a.sure > b.sure;
  return withLeft.reduce((most, each) => (isRicher(each, most) ? each : most)).key;
}

async function canAnyAfford(keys: readonly SendingKey[], size: Size): Promise<boolean> {
  const purses = await Promise.all(keys.map((key) => key.openPurse()));
  return purses.some((purse) => canAfford(purse, size));
}

/**
 * Verifies the factory's code. A call to an address without code would succeed without any effect.
 *
 * @throws {Error} if the code differs
 */
async function assertFactory({ parts, memory, view }: Pass<FactoryMemory>): Promise<void> {
  if (memory.factory.isThere) return;
  const [answer] = await view.read([{ method: "eth_getCode", params: [parts.factory, view.at] }]);
  const code = hexData(resultOf(answer, "eth_getCode"));
  const fault = codeFault({ address: parts.factory, codeHash: parts.factoryCodeHash }, code);
  if (fault) throw new Error(fault);
  memory.factory.isThere = true;
}

/**
 * Saves the balances of addresses whose intent is for another chain, because the API shows them.
 */
async function noteElsewhere({ parts, view, fence }: WorkPass, examined: readonly Examined[]) {
  const { chainId } = parts.chain;
  const read = examined.flatMap(({ job: { address }, wanted, vault: { balances } }) =>
    wanted.chainId === chainId ? [] : [{ address, balances }],
  );
  if (read.length > 0) await parts.ledger.saveBalances(fence, view.head.number, read);
}

type Decided = { item: Examined; decision: Decision };

function decideOn({ parts, nowSeconds }: Pass, purse: Purse, item: Examined): Decision {
  const { job, wanted, vault } = item;
  const { chainId, fees, decision: policy } = parts.chain;
  return decide({
    wanted,
    chain: { chainId, timeSeconds: nowSeconds },
    vault,
    history: {
      paidFailures: job.paidFailures,
      recoveryFailures: job.recoveryFailures,
      recoveriesToday: job.recoveryDay === dayOf(nowSeconds) ? job.recoveries : 0,
      notBeforeSeconds: job.notBeforeSeconds,
    },
    fees: {
      perGas: purse.neededPerGas,
      perGasMax: fees.perGasMax,
      recovery: estimateRecoveryCost(item, purse),
    },
    policy,
  });
}

function computeUpdate(
  { parts, nowSeconds }: Pass,
  { job }: Examined,
  decision: Decision,
): JobUpdate[] {
  const { address } = job;
  if (decision.action === "give_up") {
    const { reason } = decision;
    parts.report({ kind: "given_up", address, reason });
    return [giveUp(address, reason)];
  }
  if (decision.action !== "wait") return [];
  const { reason, untilSeconds } = decision;
  if (reason !== "nothing_there") return [waitUntil(address, untilSeconds, reason)];
  const rereadAtSeconds = job.detectedAtSeconds + rereadSeconds;
  return [
    {
      address,
      state: "idle",
      dueAtSeconds: nowSeconds < rereadAtSeconds ? rereadAtSeconds : null,
      reason: null,
    },
  ];
}

type Estimated = { ready: Ready[]; updates: JobUpdate[] };

async function readyToExecute(
  pass: WorkPass,
  purse: Purse,
  decided: readonly Decided[],
): Promise<Estimated> {
  const items = decided.flatMap(({ item, decision }) =>
    decision.action === "execute" ? [item] : [],
  );
  const found = await estimateExecutions(pass, items, purse);
  const ready: Ready[] = [];
  const updates: JobUpdate[] = [];
  for (const [index, item] of items.entries()) {
    const estimate = found[index];
    if (!estimate) updates.push(...notSimulatedYet(pass, item.job));
    else if (estimate.result === "fails") updates.push(afterFailure(pass, item, estimate.reason));
    else if (estimate.result === "unknown") {
      updates.push(waitForEndpoints(item.job, pass.nowSeconds, "simulation_unavailable"));
    } else {
      const excess = findExcess(computeGasLimit([estimate]), gasMax(pass));
      if (excess) updates.push(afterFailure(pass, item, excess));
      else ready.push({ kind: "execute", item, gas: estimate.gas });
    }
  }
  return { ready, updates };
}

/**
 * Estimates recoveries. If a recovery needs too much gas, postpones its job. The job's reason
 * states the gas and the limit.
 */
async function readyToRecover(
  pass: WorkPass,
  purse: Purse,
  decided: readonly Decided[],
): Promise<Estimated> {
  const items = decided.flatMap(({ item, decision }) =>
    decision.action === "recover" ? [{ item, tokens: decision.tokens }] : [],
  );
  const found = await estimateRecoveries(pass, items, purse);
  const ready: Ready[] = [];
  const updates: JobUpdate[] = [];
  for (const [index, { item }] of items.entries()) {
    const estimate = found[index];
    if (!estimate) {
      updates.push(...notSimulatedYet(pass, item.job));
      continue;
    }
    const { transfers, reason } = estimate;
    if (transfers.length === 0) {
      updates.push(afterFailure(pass, item, reason));
      continue;
    }
    const part = chooseTransfers(pass, item, transfers);
    const excess = findRecoveryExcess(pass, part.gas);
    if (excess) updates.push(afterFailure(pass, item, excess));
    else ready.push({ kind: "recover", item, ...part });
  }
  return { ready, updates };
}

/** Returns the reason not to send a transaction that needs more gas than `max`. */
const findExcess = (gas: number, max: number): MeasuredReason | undefined =>
  gas > max ? `takes ${gas} gas, but the limit is ${max}` : undefined;

const findRecoveryExcess = (pass: Pass, gas: number): MeasuredReason | undefined =>
  findExcess(gas, pass.parts.tuning.recoveryGasMax) ??
  findExcess(computeGasLimit([{ gas }]), gasMax(pass));

/**
 * Returns as many tokens as one transaction's gas limit allows, but at least one. Later
 * transactions return the rest.
 */
function chooseTransfers(pass: Pass, item: Examined, transfers: readonly Transfer[]) {
  let part = transfers;
  while (part.length > 1 && findRecoveryExcess(pass, computeRecoveryGas(item.job.terms, part)))
    part = part.slice(0, -1);
  return { tokens: part.map(({ token }) => token), gas: computeRecoveryGas(item.job.terms, part) };
}

type FailurePass = Pick<Pass, "nowSeconds"> & {
  parts: Pick<Pass["parts"], "random" | "report"> & {
    chain: Pick<Pass["parts"]["chain"], "chainId">;
  };
};

/**
 * Reports that a job failed before its transaction was sent, and postpones the job. If the intent
 * is open, the job waits at most until the intent expires.
 */
export function afterFailure(
  { parts, nowSeconds }: FailurePass,
  { job, wanted, vault }: Pick<Examined, "job" | "wanted" | "vault">,
  reason: JobReason,
): JobUpdate {
  const { random, report } = parts;
  const chain = { chainId: parts.chain.chainId, timeSeconds: nowSeconds };
  const expirationSeconds = isOpen({ wanted, vault, chain }) ? wanted.expirationSeconds : undefined;
  report({ kind: "attempt_failed", address: job.address, reason });
  return waitForBackoff(job, { nowSeconds, random }, reason, expirationSeconds);
}

/**
 * Returns an update for a job that could not be simulated in time. If the job already has the
 * reason `not_simulated_yet`, returns no update.
 */
function notSimulatedYet({ nowSeconds }: Pass, { address, reason: before }: Job): JobUpdate[] {
  const reason: Reason = "not_simulated_yet";
  return before === reason ? [] : [waitUntil(address, nowSeconds, reason)];
}

/**
 * Abandons a job whose stored terms belong to another address, because no transaction could
 * succeed.
 */
function abandon({ parts }: Pass, { job: { address }, cause }: Corrupt): JobUpdate {
  parts.report({ kind: "corrupt_record", address, cause });
  return giveUp(address, "corrupt_record");
}
