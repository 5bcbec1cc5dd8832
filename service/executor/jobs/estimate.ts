// Simulates transactions before they are sent, to check their success and to estimate their gas.
// The calls may be hostile. Therefore, a simulated call gets at most the gas of its transaction.
// The total time for simulations is limited. Slow calls do not delay other calls (simulate.ts).

import {
  encodeTransfer,
  executeCalldata,
  gasMargin,
  type Hex,
  toHex,
  zeroAddress,
} from "executable-address";
import { toQuantity } from "executable-address/status";
import { dependsOnGas } from "../../chain/execution-gas.ts";
import type { BlockPace } from "../../chain/rpc/block-pace.ts";
import { recordWithoutGasUse } from "../../chain/rpc/endpoint-record.ts";
import {
  type Answer,
  type Call,
  type CallError,
  ChainUnavailable,
  isRevert,
  quantity,
} from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import { type EndpointClient, readAnswers } from "../../chain/rpc/view.ts";
import { explainRevert, shortAscii } from "../../chain/simulation/revert.ts";
import { hourMs } from "../../flow/days.ts";
import { groupsOf, partsOf } from "../../flow/groups.ts";
import { upperMedian } from "../../flow/median.ts";
import { type JobReason, quoteText } from "../ledger/reasons.ts";
import type { Pass } from "../pass.ts";
import type { Examined } from "../payments/vaults.ts";
import { gasMax, type Purse } from "../transactions/send.ts";
import { baseGas } from "./gas.ts";
import {
  estimateForms,
  isFormRefused,
  lateReason,
  openForms,
  type SimulationRequest,
  simulateAll,
  simulationForms,
  slowMs,
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
 * can measure the gas used at a high limit, `planGas` raises the estimate accordingly.
 *
 * @returns undefined for an execution if there was no time for it
 */
export async function estimateExecutions(
  pass: EstimatePass,
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
 * Starts with a quorum of endpoints. While they disagree about a call, asks one more endpoint about
 * this call.
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
 * is the median of the successful estimates, or the higher of two.
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

const simulateMethod = "eth_simulateV1";

/**
 * The maximum number of executions in one `eth_simulateV1` call. For slow accounts, there is a
 * separate call for each execution.
 */
const executionsPerCallMax = 50;
/**
 * `callMsMax` limits the duration of one call. `slowStartMs` is the time during which calls for
 * slow accounts can start.
 */
const callMsMax = 1500;
const slowStartMs = 500;

/** An endpoint that does not support the method is asked again only after this time. */
const missingMs = hourMs;

/**
 * Measures how much gas each execution uses if its gas limit is `limit`. Omits executions for which
 * no endpoint answered in time. If two answers differ, uses the higher one.
 *
 * The measurement is necessary because an execution can succeed with too little gas. For example, a
 * contract can ignore that one of its calls ran out of gas.
 */
async function readGasUses(
  pass: EstimatePass,
  items: readonly Examined[],
  purse: Purse,
  limit: number,
): Promise<Map<Examined, number>> {
  if (items.length === 0) return new Map();
  const { parts, memory, view } = pass;
  const nowMs = parts.clock();
  const isWilling = ({ record }: EndpointClient) => nowMs >= record.estimates.withoutGasUseUntilMs;
  const clients = view.clients(memory.estimates.turn).filter(isWilling).slice(0, view.quorum);
  const found = new Map<Examined, bigint[]>(items.map((item) => [item, []]));
  await Promise.all(
    clients.map(async (client) => {
      for await (const [item, gas] of requestGasUses(pass, client, items, purse, limit)) {
        found.get(item)!.push(gas);
      }
    }),
  );
  const uses = [...found].map(([item, all]) => [item, upperMedian(all)] as const);
  return new Map(uses.flatMap(([item, gas]) => (gas === undefined ? [] : [[item, Number(gas)]])));
}

/** Asks one endpoint how much gas each execution uses, starting with fast accounts. */
async function* requestGasUses(
  pass: EstimatePass,
  client: EndpointClient,
  items: readonly Examined[],
  purse: Purse,
  limit: number,
): AsyncGenerator<[Examined, bigint]> {
  const { clock, tuning } = pass.parts;
  const { accountMs } = client.record.estimates;
  const isQuick = ({ job }: Examined) => (accountMs.get(job.accountId) ?? 0) <= slowMs;
  const quickUntilMs = clock() + tuning.estimateMsMax / 2;
  const quick = [...groupsOf(items.filter(isQuick), executionsPerCallMax)];
  const slow = items.filter((item) => !isQuick(item)).map((item) => [item]);
  let slowUntilMs = Number.POSITIVE_INFINITY;
  for (const [place, group] of [...quick, ...slow].entries()) {
    if (place === quick.length) slowUntilMs = clock() + slowStartMs;
    if (clock() > (place < quick.length ? quickUntilMs : slowUntilMs)) continue;
    const answer = await requestGasUse(pass, client, writeGasUseForms(pass, purse, group, limit));
    if (!answer) return;
    for (const [index, item] of group.entries()) {
      const gas = parseGasUsed(answer, index);
      if (gas !== undefined) yield [item, gas];
    }
  }
}

/** @returns undefined if the endpoint is slow, does not answer, or does not support the method */
async function requestGasUse(
  pass: EstimatePass,
  client: EndpointClient,
  forms: readonly Call[],
): Promise<Answer | undefined> {
  for (const [index, form] of forms.entries()) {
    const answers = await client.ask([form], callMsMax);
    if (typeof answers === "string") return undefined;
    const answer = answers[0]!;
    if (isFormRefused(answer) && index < forms.length - 1) continue;
    if ("error" in answer && classifyError(simulateMethod, answer.error) === "no_method") {
      recordWithoutGasUse(client.record, pass.parts.clock() + missingMs);
      return undefined;
    }
    return answer;
  }
  return undefined;
}

function writeGasUseForms(
  pass: EstimatePass,
  purse: Purse,
  group: readonly Examined[],
  gas: number,
): Call[] {
  const calls = group.map(({ job }) => ({
    ...{ from: pass.signer.address, to: pass.parts.factory },
    ...{ data: toHex(executeCalldata(job.terms)), gas: toQuantity(gas) },
  }));
  return simulationForms(openForms(pass, purse), calls, purse.balance);
}

/** Returns the gas used by the call at `place`; undefined if the call failed or is missing. */
function parseGasUsed(answer: Answer, place: number): bigint | undefined {
  if ("error" in answer) return undefined;
  try {
    const [block] = answer.result as { calls: { status: unknown; gasUsed: unknown }[] }[];
    const { status, gasUsed } = block!.calls[place]!;
    return quantity(status) === 1n ? quantity(gasUsed) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the gas to reserve for an execution. If `use` is known, the gas is enough for all work at
 * `limit`, unless `gasMax` is lower.
 *
 * @param estimate the lowest limit at which the execution succeeds
 * @param use the gas used with the gas limit `limit`; undefined if it is unknown
 * @param gasMax the gas limit of a transaction
 */
export function planGas(estimate: number, use: number | undefined, limit: number, gasMax: number) {
  if (use === undefined) return estimate;
  if (!dependsOnGas(estimate, use)) return Math.max(estimate, use);
  // This execution does more work if it gets more gas. On chain, it must therefore get as much gas
  // as in the simulation. In a batch, an item gets 63/64 of its share of the gas.
  const needed = Math.min((limit * 64) / 63, gasMax - baseGas);
  return Math.max(estimate, Math.floor(needed / gasMargin));
}
