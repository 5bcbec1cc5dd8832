// Simulates transactions before they are sent, to check their success and to estimate their gas.
// The calls may be hostile. Therefore, a simulated call gets at most the gas of its transaction.
// The total time for simulations is limited. Slow calls do not delay other calls (simulate.ts).

import { encodeTransfer, executeCalldata, type Hex, toHex, zeroAddress } from "executable-address";
import { toQuantity } from "executable-address/status";
import type { BlockPace } from "../../chain/rpc/heads.ts";
import {
  type Answer,
  type CallError,
  ChainUnavailable,
  isRevert,
  quantity,
} from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import { type EndpointClient, readAnswers } from "../../chain/rpc/view.ts";
import { explainRevert, shortAscii } from "../../chain/simulation/revert.ts";
import { partsOf } from "../../flow/groups.ts";
import { upperMedian } from "../../flow/numbers.ts";
import { type JobReason, quoteText } from "../ledger/reasons.ts";
import type { Pass } from "../pass.ts";
import type { Examined } from "../payments/vaults.ts";
import type { Purse } from "../transactions/purse.ts";
import { gasMax } from "../transactions/send.ts";
import { planGas, readGasUses } from "./gas.ts";
import {
  estimateVariants,
  lateReason,
  type SimulationRequest,
  simulateAll,
  surroundingsOf,
} from "./simulate.ts";

const method = "eth_estimateGas";

/**
 * `turn` counts the calls of the estimate functions, so that successive calls start with different
 * endpoints.
 */
export type EstimateMemory = { estimates: { turn: number } };

export const openEstimateMemory = (): EstimateMemory => ({ estimates: { turn: 0 } });

type EstimatePass = Pass<EstimateMemory & { pace: BlockPace }>;

/**
 * `unknown` means that no node returned a usable answer. This result does not count as a failure of
 * the address's job.
 */
export type Estimate =
  | { result: "succeeds"; gas: number }
  | { result: "fails"; reason: JobReason }
  | { result: "unknown" };

/**
 * The gas limit for an account's first simulation. The limit is low, because the duration of the
 * simulation is not known in advance. Most executions need less gas.
 */
const lightGas = 400_000;

/**
 * Estimates the gas of each execution separately. The estimate is at least the lowest gas limit at
 * which the execution succeeds. Some contracts do less work if the gas limit is low. If an endpoint
 * can measure the gas used at a high limit, `planGas` (gas.ts) raises the estimate accordingly.
 *
 * @returns undefined for each execution that was not simulated in time
 */
export async function estimateExecutions(
  pass: EstimatePass,
  items: readonly Examined[],
  purse: Purse,
): Promise<(Estimate | undefined)[]> {
  const { parts } = pass;
  const limit = Math.min(parts.tuning.intentGasMax, gasMax(pass));
  const surroundings = surroundingsOf(pass, purse);
  const calls = items.map(({ job }) => {
    const data = toHex(executeCalldata(job.terms));
    const variantsWith = (gas: number) => {
      const call = { from: pass.signer.address, to: parts.factory, data, gas: toQuantity(gas) };
      return estimateVariants(surroundings, { call, balance: purse.balance });
    };
    const lightVariants = variantsWith(Math.min(lightGas, limit));
    return { accountId: job.accountId, variants: variantsWith(limit), lightVariants };
  });
  const estimates = await estimateAll(pass, calls);
  const passing = items.filter((_, index) => estimates[index]?.result === "succeeds");
  const endpoints = pass.view.clients(pass.memory.estimates.turn);
  const uses = await readGasUses(pass, endpoints, passing, purse, limit);
  return estimates.map((estimate, index) => {
    if (estimate?.result !== "succeeds") return estimate;
    const gas = planGas(estimate.gas, uses.get(items[index]!), limit, gasMax(pass));
    return { result: "succeeds", gas };
  });
}

/** A token, and the gas for its transfer. The gas for the rest of the recovery is not included. */
export type Transfer = { token: Hex; gas: number };

/** If tokens are missing in `transfers`, `reason` says why. */
type RecoveryEstimate = { transfers: Transfer[]; reason: JobReason };

/**
 * Finds the transfers that would succeed, the cheapest first. Estimates each transfer separately,
 * because a recovery succeeds even if its transfers fail.
 *
 * @returns undefined for a recovery if not all its transfers were estimated in time
 */
export async function estimateRecoveries(
  pass: EstimatePass,
  items: readonly { item: Examined; tokens: readonly Hex[] }[],
  purse: Purse,
): Promise<(RecoveryEstimate | undefined)[]> {
  const gas = toQuantity(Math.min(pass.parts.tuning.recoveryGasMax, gasMax(pass)));
  const surroundings = surroundingsOf(pass, purse);
  const calls = items.flatMap(({ item: { recovery, job, vault }, tokens }) =>
    tokens.map((token) => {
      const amount = vault.balances.get(token) ?? 0n;
      const from = job.address;
      const call =
        token === zeroAddress
          ? { from, gas, to: recovery, value: toQuantity(amount) }
          : { from, gas, to: token, data: encodeTransfer(recovery, amount) };
      const balance = vault.balances.get(zeroAddress) ?? 0n;
      return {
        accountId: job.accountId,
        variants: estimateVariants(surroundings, { call, balance }),
      };
    }),
  );
  const found = await estimateAll(pass, calls);
  return partsOf(found, items, ({ tokens }) => tokens.length).map(({ owner, part }) =>
    part.includes(undefined) ? undefined : combineEstimates(owner.tokens, part as Estimate[]),
  );
}

export function combineEstimates(
  tokens: readonly Hex[],
  estimates: readonly Estimate[],
): RecoveryEstimate {
  const transfers = estimates.flatMap((estimate, index) =>
    estimate.result === "succeeds" ? [{ token: tokens[index]!, gas: estimate.gas }] : [],
  );
  const failed = estimates.findLast(({ result }) => result === "fails");
  const reason = failed?.result === "fails" ? failed.reason : "simulation_unavailable";
  return { transfers: transfers.sort((a, b) => a.gas - b.gas), reason };
}

/**
 * Asks a quorum of endpoints about each call. While the endpoints disagree about a call, asks one
 * more endpoint about this call.
 *
 * @returns undefined for a call if no endpoint had time for it
 * @throws {ChainUnavailable} if no endpoint answers
 */
async function estimateAll(
  pass: EstimatePass,
  calls: readonly SimulationRequest[],
): Promise<(Estimate | undefined)[]> {
  if (calls.length === 0) return [];
  const { parts, view, memory } = pass;
  const { quorum } = view;
  const untilMs = parts.clock() + parts.tuning.estimateMsMax;
  const endpoints = view.clients(memory.estimates.turn++);
  const votes = calls.map((): Vote[] => []);
  let answered = 0;
  const findOpen = () =>
    [...calls.keys()].filter((index) => answered < quorum || !isSettled(votes[index]!, quorum));
  for (let open = findOpen(); endpoints.length > 0 && open.length > 0; open = findOpen()) {
    const next = endpoints.splice(0, Math.max(1, quorum - answered));
    const requests = open.map((index) => calls[index]!);
    const lists = await Promise.all(
      next.map((client) => simulateAll(parts, client, requests, untilMs)),
    );
    for (const [place, answers] of lists.entries()) {
      if (!answers) continue;
      answered++;
      const client = next[place]!;
      for (const [at, answer] of answers.entries()) {
        if (answer) votes[open[at]!]!.push({ client, estimate: parseEstimate(answer) });
      }
    }
  }
  if (answered === 0) throw new ChainUnavailable(`no endpoint responds to ${method}`);
  return votes.map(decideEstimate);
}

/**
 * Combines the endpoints' estimates for a call. If at least three endpoints answered, also records
 * which endpoints contradict the result.
 */
function decideEstimate(votes: readonly Vote[]): Estimate | undefined {
  const result = judge(votes.map(({ estimate }) => estimate));
  const isMinority = ({ estimate }: Vote) => estimate.result !== result?.result;
  if (votes.length > 2) for (const { client } of votes.filter(isMinority)) client.accuse(method);
  return result;
}

/** The estimate of one endpoint for one call. */
type Vote = { client: EndpointClient; estimate: Estimate };

/**
 * Estimates agree if they differ by at most this factor. Small differences are normal, because some
 * endpoints are a block behind.
 */
const agreedRatioMax = 1.25;

function isSettled(votes: readonly Vote[], quorum: number): boolean {
  const estimates = votes.map(({ estimate }) => estimate);
  const gas = sortGas(estimates);
  const failed = estimates.filter(({ result }) => result === "fails").length;
  if (failed > 0 && gas.length > 0) return estimates.length > quorum;
  if (failed >= quorum) return true;
  return gas.length >= quorum && gas.at(-1)! <= gas[0]! * agreedRatioMax;
}

const sortGas = (estimates: readonly Estimate[]): number[] =>
  estimates.flatMap((each) => (each.result === "succeeds" ? [each.gas] : [])).sort((a, b) => a - b);

/**
 * Returns the majority's result. If one of two estimates succeeds, returns that estimate. The gas
 * is the {@link upperMedian} of the successful estimates.
 */
export function judge(estimates: readonly Estimate[]): Estimate | undefined {
  const gas = sortGas(estimates);
  const failed = estimates.find(({ result }) => result === "fails");
  const failures = estimates.filter(({ result }) => result === "fails").length;
  if (failed && failures > gas.length) return failed;
  const median = upperMedian(gas);
  if (median !== undefined) return { result: "succeeds", gas: median };
  return estimates[0];
}

function parseEstimate(answer: Answer | "late"): Estimate {
  if (answer === "late") return { result: "fails", reason: lateReason };
  if ("result" in answer) {
    const [gas] = readAnswers([[answer]], 0, (result) => Number(quantity(result)));
    return gas === undefined ? { result: "unknown" } : { result: "succeeds", gas };
  }
  const { error } = answer;
  const isOverGas = classifyError(method, error) === "over_call_gas";
  if (!isRevert(error) && !isOverGas) return { result: "unknown" };
  return { result: "fails", reason: quoteText(explainError(error)) };
}

function explainError({ data, message }: CallError): string {
  if (typeof data === "string" && /^0x([0-9a-f]{2})+$/i.test(data))
    return explainRevert(data as Hex);
  return shortAscii(message);
}
