// Asks endpoints by simulation whether a transaction would succeed and for how much gas, before
// anything is paid for it. The calls may be hostile: each gets no more gas than it would be sent
// with, slow ones delay no others (lanes.ts), and a pass spends a bounded time on all of them.

import { encodeTransfer, executeCalldata, type Hex, toHex, zeroAddress } from "executable-address";
import { toQuantity } from "executable-address/status";
import {
  type Answer,
  type CallError,
  ChainUnavailable,
  isRevert,
  quantity,
} from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import { type Asker, readAnswers } from "../../chain/rpc/view.ts";
import { explainRevert, printable } from "../../chain/simulation/revert.ts";
import type { Pass } from "../parts.ts";
import { gasMax, type Purse } from "../transactions/send.ts";
import type { Examined } from "./examine.ts";
import { estimateForms, openForms } from "./forms.ts";
import { planGas, readGasUses } from "./gas-use.ts";
import { askInLanes, lateReason, type Question } from "./lanes.ts";

const method = "eth_estimateGas";

/** `unknown`: the node could not say, which does not count as a failure of the address. */
export type Estimate =
  | { result: "succeeds"; gas: number }
  | { result: "fails"; reason: string }
  | { result: "unknown" };

/** Most executions need less: an account that is not known yet is tried with so much. */
const lightGas = 400_000;

/**
 * Estimates each execution separately: the least limit at which it succeeds, or the gas that it
 * uses with plenty if that is more, since a target may do less with less gas.
 *
 * @returns undefined for executions that this pass had no time for
 */
export async function estimateExecutions(
  pass: Pass,
  items: readonly Examined[],
  purse: Purse,
): Promise<(Estimate | undefined)[]> {
  const { parts } = pass;
  const limit = Math.min(parts.tuning.intentGasMax, gasMax(pass));
  const surroundings = openForms(pass, purse);
  const calls = items.map(({ job }) => {
    const data = toHex(executeCalldata(job.terms));
    const formsWith = (gas: number) => {
      const call = { from: pass.signer.address, to: parts.factory, data, gas: toQuantity(gas) };
      return estimateForms(surroundings, { call, balance: purse.balance });
    };
    const lightForms = formsWith(Math.min(lightGas, limit));
    return { accountId: job.accountId, forms: formsWith(limit), lightForms };
  });
  const estimates = await estimateAll(pass, calls);
  const passing = items.filter((_, index) => estimates[index]?.result === "succeeds");
  const uses = await readGasUses(pass, passing, purse, limit);
  return estimates.map((estimate, index) => {
    if (estimate?.result !== "succeeds") return estimate;
    const gas = planGas(estimate.gas, uses.get(items[index]!), limit, gasMax(pass));
    return { result: "succeeds", gas };
  });
}

/** The transfer of a token takes so much gas by itself. */
export type Transfer = { token: Hex; gas: number };

/** `reason`: why some, or all, are not among `transfers`. */
type RecoveryEstimate = { transfers: Transfer[]; reason: string };

/**
 * The transfers that would reach `recovery`, the cheapest first. A recovery as a whole succeeds
 * even if nothing is returned, since the factory goes on after a transfer that fails: so each
 * transfer is asked for by itself.
 * @returns undefined for those that this pass had no time for
 */
export async function estimateRecoveries(
  pass: Pass,
  items: readonly { item: Examined; tokens: readonly Hex[] }[],
  purse: Purse,
): Promise<(RecoveryEstimate | undefined)[]> {
  const gas = toQuantity(Math.min(pass.parts.tuning.recoveryGasMax, gasMax(pass)));
  const surroundings = openForms(pass, purse);
  const calls = items.flatMap(({ item: { recovery, job, vault }, tokens }) =>
    tokens.map((token) => {
      const amount = vault.balances.get(token) ?? 0n;
      const from = job.address;
      const call =
        token === zeroAddress
          ? { from, gas, to: recovery, value: toQuantity(amount) }
          : { from, gas, to: token, data: encodeTransfer(recovery, amount) };
      const balance = vault.balances.get(zeroAddress) ?? 0n;
      return { accountId: job.accountId, forms: estimateForms(surroundings, { call, balance }) };
    }),
  );
  const found = await estimateAll(pass, calls);
  let at = 0;
  return items.map(({ tokens }) => {
    const mine = found.slice(at, at + tokens.length);
    at += tokens.length;
    return mine.includes(undefined) ? undefined : sumOf(tokens, mine as Estimate[]);
  });
}

function sumOf(tokens: readonly Hex[], estimates: readonly Estimate[]): RecoveryEstimate {
  const transfers = estimates.flatMap((estimate, index) =>
    estimate.result === "succeeds" ? [{ token: tokens[index]!, gas: estimate.gas }] : [],
  );
  const failed = estimates.findLast(({ result }) => result === "fails");
  const reason = failed?.result === "fails" ? failed.reason : "simulation_unavailable";
  return { transfers: transfers.sort((a, b) => a.gas - b.gas), reason };
}

/**
 * Asks a quorum of endpoints simultaneously. Then it asks further ones, one after the other, about
 * the calls that are not settled yet. {@link judge} combines what they say about each call.
 *
 * @returns undefined for calls that no endpoint had time for
 * @throws {ChainUnavailable} if no endpoint answers
 */
async function estimateAll(
  pass: Pass,
  calls: readonly Question[],
): Promise<(Estimate | undefined)[]> {
  const { parts, view, memory } = pass;
  if (calls.length === 0) return [];
  const untilMs = parts.clock() + parts.tuning.estimateMsMax;
  const waiting = view.askers(memory.jobs.estimateTurn++);
  const votes = calls.map((): Vote[] => []);
  let open = [...calls.keys()];
  let answering = 0;
  while (waiting.length > 0 && open.length > 0) {
    const askers = waiting.splice(0, Math.max(1, view.quorum - answering));
    const asked = open.map((index) => calls[index]!);
    const lists = await Promise.all(askers.map((each) => askInLanes(parts, each, asked, untilMs)));
    for (const [place, answers] of lists.entries()) {
      if (!answers) continue;
      answering++;
      const asker = askers[place]!;
      answers.forEach((answer, at) => {
        if (answer) votes[open[at]!]!.push({ asker, estimate: readEstimate(answer) });
      });
    }
    open = open.filter(
      (index) => answering < view.quorum || !isSettled(votes[index]!, view.quorum),
    );
  }
  if (answering === 0) throw new ChainUnavailable(`no endpoint answers ${method}`);
  return votes.map((all) => {
    const judged = judge(all.map(({ estimate }) => estimate));
    const isMinority = ({ estimate }: Vote) => all.length > 2 && estimate.result !== judged?.result;
    for (const { asker } of all.filter(isMinority)) asker.accuse(method);
    return judged;
  });
}

/** What one endpoint says about one call. */
type Vote = { asker: Asker; estimate: Estimate };

/** Endpoints that are a block apart may well differ by so much. */
const gasFactor = 1.25;

function isSettled(votes: readonly Vote[], quorum: number): boolean {
  const estimates = votes.map(({ estimate }) => estimate);
  const gas = gasOf(estimates);
  const failed = estimates.filter(({ result }) => result === "fails").length;
  if (failed > 0 && gas.length > 0) return estimates.length > quorum;
  if (failed >= quorum) return true;
  return gas.length >= quorum && gas.at(-1)! <= gas[0]! * gasFactor;
}

/** Ascending. */
const gasOf = (estimates: readonly Estimate[]): number[] =>
  estimates.flatMap((each) => (each.result === "succeeds" ? [each.gas] : [])).sort((a, b) => a - b);

/**
 * Takes what most say, or the success where one of two fails; the middle of three amounts, or the
 * greater of two.
 */
export function judge(estimates: readonly Estimate[]): Estimate | undefined {
  const gas = gasOf(estimates);
  const failed = estimates.find(({ result }) => result === "fails");
  const failures = estimates.filter(({ result }) => result === "fails").length;
  if (failed && failures > gas.length) return failed;
  if (gas.length > 0) return { result: "succeeds", gas: gas[Math.floor(gas.length / 2)]! };
  return estimates[0];
}

function readEstimate(answer: Answer | "late"): Estimate {
  if (answer === "late") return { result: "fails", reason: lateReason };
  if ("result" in answer) {
    const [gas] = readAnswers([[answer]], 0, (result) => Number(quantity(result)));
    return gas === undefined ? { result: "unknown" } : { result: "succeeds", gas };
  }
  const { error } = answer;
  const isOverGas = classifyError(method, error) === "over_call_gas";
  if (!isRevert(error) && !isOverGas) return { result: "unknown" };
  return { result: "fails", reason: reasonOf(error) };
}

function reasonOf({ data, message }: CallError): string {
  if (typeof data === "string" && /^0x([0-9a-f]{2})+$/i.test(data))
    return explainRevert(data as Hex);
  return printable(message);
}
