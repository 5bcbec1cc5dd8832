// Computes when the jobs of a mined purpose are due again, and counts their failures.

import type { Hex } from "executable-address";
import { waitForBackoff, waitForBudget, waitUntil } from "../ledger/due.ts";
import type { JobUpdate } from "../ledger/jobs.ts";
import type { Purpose } from "../ledger/purposes.ts";
import { type JobReason, quoteText } from "../ledger/reasons.ts";
import type { VaultOutcome } from "../ledger/settlements.ts";
import type { Pass } from "../pass.ts";
import type { Receipt } from "./receipt.ts";

type UpdatePass = Pick<Pass, "parts" | "nowSeconds">;

export type MinedPurpose = { purpose: Purpose; receipt: Receipt };

/**
 * Computes the changes to the jobs of a mined purpose.
 * @param withCode the addresses that have code
 */
export async function computeUpdates(
  pass: UpdatePass,
  mined: MinedPurpose,
  outcomes: readonly VaultOutcome[],
  withCode: ReadonlySet<Hex>,
): Promise<JobUpdate[]> {
  const { purpose, receipt } = mined;
  const isReplaced = isZeroValueTransfer(mined);
  const overtaken = findOvertaken(purpose, !isReplaced && receipt.succeeded, outcomes, withCode);
  const updates: JobUpdate[] = [];
  for (const address of purpose.addresses) {
    const mine = outcomes.filter(({ vault }) => vault === address);
    const result = findResult(purpose, mine, isReplaced, overtaken.has(address));
    updates.push(await computeUpdate(pass, purpose, address, result));
  }
  return updates;
}

/**
 * The result of a transaction for one address. `returned` is the result of every attempt to return
 * a reported token, successful or not. `executed` means that the intent was executed, or that
 * another executor closed the address first. `replaced` means that a zero-value transfer was mined
 * instead of the jobs' transaction.
 */
type AddressResult =
  | { kind: "returned" | "executed" | "recovered" | "replaced" }
  | { kind: "failed"; reason: JobReason };

export const isFailure = (outcome: VaultOutcome) =>
  outcome.kind === "failed" || outcome.kind === "recovery_failed";

/** @param outcomes the outcomes for the address */
function findResult(
  { kind }: Purpose,
  outcomes: readonly VaultOutcome[],
  isReplaced: boolean,
  isOvertaken: boolean,
): AddressResult {
  if (kind === "return") return { kind: "returned" };
  if (isOvertaken) return { kind: "executed" };
  if (isReplaced) return { kind: "replaced" };
  if (outcomes.some((outcome) => outcome.kind === "executed")) return { kind: "executed" };
  const failure = outcomes.find(isFailure);
  if (failure) return { kind: "failed", reason: quoteText(failure.reason) };
  if (outcomes.some((outcome) => outcome.kind === "recovered")) return { kind: "recovered" };
  return { kind: "failed", reason: "reverted_on_chain" };
}

async function computeUpdate(
  pass: UpdatePass,
  { kind }: Purpose,
  address: Hex,
  result: AddressResult,
): Promise<JobUpdate> {
  const due = waitUntil(address, pass.nowSeconds, null);
  switch (result.kind) {
    // A reported token can make its transfer fail on purpose, so the job does not count as failed.
    case "returned":
      return due;
    case "executed":
      return { ...due, notBeforeSeconds: 0, failures: 0 };
    case "recovered":
      return { ...due, notBeforeSeconds: 0, failures: 0, recoveryFailures: 0 };
    case "replaced":
      return releaseJob(pass, address);
    case "failed":
      return postponeFailed(pass, address, kind === "execute", result.reason);
  }
}

/**
 * Postpones a job whose transaction was replaced by a zero-value transfer. The replacement does not
 * count as a failure of the job.
 */
async function releaseJob({ parts, nowSeconds }: UpdatePass, address: Hex): Promise<JobUpdate> {
  const history = await parts.ledger.readHistory(parts.chain.chainId, address);
  return waitForBudget({ address, ...history }, nowSeconds, "replaced_by_nothing");
}

/**
 * Postpones a job that failed on chain until its backoff ends. After a failed execution, the job
 * waits at most until the intent expires.
 */
async function postponeFailed(
  { parts, nowSeconds }: UpdatePass,
  address: Hex,
  isExecution: boolean,
  reason: JobReason,
): Promise<JobUpdate> {
  const { random } = parts;
  const before = await parts.ledger.readHistory(parts.chain.chainId, address);
  const job = { address, ...before };
  const expirationSeconds = isExecution ? before.expirationSeconds : undefined;
  return {
    ...waitForBackoff(job, { nowSeconds, random }, reason, expirationSeconds),
    ...(isExecution
      ? { paidFailures: before.paidFailures + 1 }
      : { recoveryFailures: before.recoveryFailures + 1 }),
  };
}

/**
 * Finds the addresses that another executor executed or recovered first. After a failed execution
 * by this executor, such an address has code. After a successful recovery by this executor, the
 * receipt has no event for such an address.
 */
function findOvertaken(
  { kind, addresses }: Purpose,
  succeeded: boolean,
  outcomes: readonly VaultOutcome[],
  withCode: ReadonlySet<Hex>,
): Set<Hex> {
  if (kind !== "execute" && succeeded) {
    return new Set(addresses.filter((vault) => !outcomes.some((each) => each.vault === vault)));
  }
  const isOurs = (vault: Hex) =>
    outcomes.some((outcome) => outcome.vault === vault && outcome.kind === "executed");
  const failed = kind === "execute" ? addresses.filter((vault) => !isOurs(vault)) : [];
  return new Set(failed.filter((vault) => withCode.has(vault)));
}

/** Returns whether the mined transaction is a zero-value transfer, such as a replacement. */
export const isZeroValueTransfer = ({ purpose, receipt }: MinedPurpose): boolean =>
  purpose.transactions.some(
    (each) => each.isZeroValueTransfer && each.hash === receipt.transactionHash,
  );
