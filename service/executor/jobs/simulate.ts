// Asks one endpoint to simulate calls. Slow calls do not delay fast ones.
//
// At no cost, a stranger can create intents whose simulation takes a long time. So the executor
// records how long each account's simulations take, and starts with the fastest accounts. The calls
// of fast accounts share requests, and several requests run simultaneously. For an account without
// a recorded simulation time, one call runs with little gas. The calls of slow accounts run one at
// a time, and only for a limited time.
//
// A simulation overrides the gas price, the balance, and block fields. Some endpoints do not
// support all overrides, so each request has several variants. Realistic simulations make it hard
// for a contract to behave differently on chain. A contract can still recognize a simulation,
// because nobody can predict a block's randomness and builder. A contract can also recognize a
// simulated recovery, because its transaction origin is the address itself.

import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import {
  type EndpointRecord,
  recordAccountMs,
  recordVariantRefused,
} from "../../chain/rpc/endpoint-record.ts";
import type { BlockPace } from "../../chain/rpc/heads.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import type { EndpointClient } from "../../chain/rpc/view.ts";
import type { MeasuredReason } from "../ledger/reasons.ts";
import type { Pass } from "../pass.ts";
import type { Purse } from "../transactions/purse.ts";

/** An account is slow if its simulations take longer than this time. */
export const slowMs = 100;
/**
 * The time that is recorded for an account if a simulation with the low gas limit fails. The
 * account then counts as slow until a simulation with the full gas limit has finished.
 */
const justSlowMs = slowMs + 1;
/** The maximum number of calls in one request. */
const callsMax = 10;
/**
 * The number of simultaneous requests for the fastest accounts, and for accounts without a recorded
 * simulation time. Some nodes process simultaneous requests one after the other. Even these nodes
 * answer within `slowMs`, because a call of the fastest accounts takes at most `slowMs /
 * requestsAtOnce`.
 *
 * The number was chosen by simulating 100 slow intents (12 seeds of crowd.long.test.ts). With 3
 * requests, the slow intents delay payments of other accounts by at most 5 s. With 2 or 4 requests,
 * this test fails.
 */
const requestsAtOnce = 3;
/** The time limit for each simulation of a slow account's call. */
const slowCallMsMax = 1500;
/** The share of `estimateMsMax` that is reserved for simulating the calls of slow accounts. */
const slowShare = 1 / 8;

type Limits = { clock(): number; tuning: { estimateMsMax: number } };

export type SimulationRequest = {
  /**
   * Several variants of the same call. The first variant has all overrides, and later variants have
   * fewer. If a node does not accept a variant, the executor tries the next one.
   */
  variants: readonly Call[];
  /**
   * The same call with little gas. It is made first if the account has no recorded simulation time.
   */
  lightVariants?: readonly Call[];
  accountId: string;
};

/** "late" if the call timed out; undefined if the call was not made. */
export type SimulationAnswer = Answer | "late" | undefined;
export const lateReason: MeasuredReason = `not simulated within ${slowCallMsMax} ms`;

type Round = {
  clock: Limits["clock"];
  client: EndpointClient;
  requests: readonly SimulationRequest[];
  /** The answers are in the order of `requests`. */
  answers: SimulationAnswer[];
  /** Whether the endpoint no longer answers. */
  isGone: boolean;
};

/**
 * Returns the milliseconds that the fastest endpoint needs for an account's simulations. Returns 0
 * if the account is fast or unknown.
 */
export function findSlowness(records: readonly EndpointRecord[], accountId: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { estimates } of records) {
    least = Math.min(least, estimates.accountMs.get(accountId) ?? least);
  }
  return least > slowMs && least < Number.POSITIVE_INFINITY ? least : 0;
}

/**
 * Simulates at least one request, and as many as the available time allows.
 *
 * @returns the answers in the order of `requests`; undefined if the endpoint does not answer
 */
export async function simulateAll(
  { clock, tuning }: Limits,
  client: EndpointClient,
  requests: readonly SimulationRequest[],
  untilMs: number,
): Promise<SimulationAnswer[] | undefined> {
  const answers = new Array<SimulationAnswer>(requests.length).fill(undefined);
  const round: Round = { clock, client, requests, answers, isGone: false };
  const slowMsMax = tuning.estimateMsMax * slowShare;
  const fastUntilMs = untilMs - slowMsMax;
  await simulateFast(round, fastUntilMs);
  await simulateUnknown(round, fastUntilMs);
  await simulateFast(round, fastUntilMs);
  await simulateSlow(round, clock() + slowMsMax);
  return round.isGone ? undefined : answers;
}

async function simulateFast(round: Round, untilMs: number): Promise<void> {
  const fastestMs = slowMs / requestsAtOnce;
  await simulateGroups(round, (ms) => ms <= fastestMs, requestsAtOnce, untilMs);
  await simulateGroups(round, (ms) => ms <= slowMs, 1, untilMs);
}

/**
 * Simulates calls in requests of up to ten calls. Starts with the accounts whose recorded
 * simulation times are shortest. If a request times out, deletes the recorded times of its
 * accounts.
 */
async function simulateGroups(
  round: Round,
  isPace: (ms: number) => boolean,
  atOnce: number,
  untilMs: number,
): Promise<void> {
  const { client, requests } = round;
  const left = findOpen(round, (ms) => ms !== undefined && isPace(ms));
  const simulateNext = async () => {
    while (left.length > 0 && hasTime(round, untilMs)) {
      const group = left.splice(0, callsMax);
      const tookMs = await simulate(round, group, callsMax * slowMs + 2 * client.record.answerMs);
      for (const index of group) {
        if (tookMs === undefined) {
          recordAccountMs(client.record, requests[index]!.accountId, undefined);
        } else recordPace(round, index, tookMs / group.length);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, simulateNext));
}

/**
 * For each account without a recorded simulation time, simulates one call with little gas. A call
 * with more gas could keep the node busy long after the timeout. If the call fails with little gas,
 * `simulateSlow` repeats it with more gas.
 */
async function simulateUnknown(round: Round, untilMs: number): Promise<void> {
  const { client, requests, answers } = round;
  const open = findOpen(round, (ms) => ms === undefined);
  const first = new Map(open.toReversed().map((index) => [requests[index]!.accountId, index]));
  const left = open.filter((index) => first.get(requests[index]!.accountId) === index);
  const simulateNext = async () => {
    while (left.length > 0 && hasTime(round, untilMs)) {
      const index = left.shift()!;
      const timeoutMs = 2 * (slowMs + client.record.answerMs);
      const tookMs = await simulate(round, [index], timeoutMs, "lightVariants");
      const answer = answers[index];
      const isLight = requests[index]!.lightVariants !== undefined;
      const isOpen = isLight && answer !== undefined && answer !== "late" && "error" in answer;
      if (isOpen) answers[index] = undefined;
      recordPace(round, index, isOpen ? justSlowMs : (tookMs ?? timeoutMs));
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, simulateNext));
}

/**
 * Simulates the calls for slow accounts one at a time. The first call always runs. A later call
 * runs only if it is expected to end in time.
 */
async function simulateSlow(round: Round, untilMs: number): Promise<void> {
  const { accountMs } = round.client.record.estimates;
  const open = findOpen(round, (ms) => ms !== undefined && ms > slowMs);
  for (const [place, index] of open.entries()) {
    const paceMs = accountMs.get(round.requests[index]!.accountId) ?? 0;
    if (round.isGone || (place > 0 && round.clock() + paceMs > untilMs)) return;
    const tookMs = await simulate(round, [index], slowCallMsMax);
    recordPace(round, index, tookMs ?? slowCallMsMax);
    if (tookMs === undefined) round.answers[index] = "late";
  }
}

/**
 * Returns the indexes of the unanswered requests that `isPace` accepts, fastest first. `isPace`
 * gets the recorded simulation time of the request's account.
 */
function findOpen(
  { client, requests, answers }: Round,
  isPace: (ms: number | undefined) => boolean,
): number[] {
  const { accountMs } = client.record.estimates;
  const paceAt = (index: number) => accountMs.get(requests[index]!.accountId);
  return requests
    .flatMap((_, index) => (answers[index] === undefined && isPace(paceAt(index)) ? [index] : []))
    .toSorted((a, b) => (paceAt(a) ?? 0) - (paceAt(b) ?? 0));
}

const hasTime = ({ clock, answers, isGone }: Round, untilMs: number): boolean =>
  !isGone && (clock() <= untilMs || answers.every((each) => each === undefined));

/**
 * Sends one request. Returns the duration minus the endpoint's usual response time, or undefined
 * after a timeout.
 */
async function simulate(
  round: Round,
  group: readonly number[],
  timeoutMs: number,
  which: "variants" | "lightVariants" = "variants",
): Promise<number | undefined> {
  const { clock, client } = round;
  const beganMs = clock();
  const answers = await requestVariant(round, group, timeoutMs, which);
  if (answers === "gone") round.isGone = true;
  if (answers === "gone" || answers === "slow") return undefined;
  group.forEach((index, place) => {
    round.answers[index] = answers[place]!;
  });
  return Math.max(0, clock() - beganMs - client.record.answerMs);
}

/** Sends variants of the requests until the endpoint accepts one. */
async function requestVariant(
  { client, requests }: Round,
  group: readonly number[],
  timeoutMs: number,
  which: "variants" | "lightVariants",
): ReturnType<EndpointClient["ask"]> {
  const selectVariants = (index: number) => requests[index]![which] ?? requests[index]!.variants;
  for (let { variant } = client.record.estimates; ; variant++) {
    const calls = group.map((index) => selectVariants(index)[variant]!);
    const answers = await client.ask(calls, timeoutMs);
    const isLast = variant === selectVariants(group[0]!).length - 1;
    if (typeof answers === "string" || isLast) return answers;
    if (!answers.some((answer) => isVariantRefused(calls[0]!.method, answer))) return answers;
    recordVariantRefused(client.record, variant);
  }
}

function recordPace({ client, requests, isGone }: Round, index: number, ms: number): void {
  if (!isGone) recordAccountMs(client.record, requests[index]!.accountId, ms);
}

/** A call, and its sender's balance in wei. */
type Simulated = { call: { from: Hex; gas: Hex; value?: Hex }; balance: bigint };

/** The gas price in wei, and the expected fields of the next block. */
type Surroundings = { perGas: bigint; block: { time: Hex; baseFeePerGas: Hex }; number: Hex };

export function surroundingsOf(
  { parts, view, memory, nowSeconds }: Pass<{ pace: BlockPace }>,
  purse: Purse,
): Surroundings {
  const { nextBaseFee, suggested } = purse;
  return {
    perGas: nextBaseFee + suggested.priorityFee,
    number: toQuantity(view.head.number + 1),
    block: {
      time: toQuantity(Math.max(nowSeconds, memory.pace.nextSeconds(parts.tuning.pollMs))),
      baseFeePerGas: toQuantity(nextBaseFee),
    },
  };
}

/**
 * Returns three variants of a request for a gas estimate. Some nodes reject overrides of block
 * fields or balances, so each variant has fewer overrides than the previous one. The last variant
 * overrides nothing, and its gas price is 0 if the balance does not cover the call's cost. No
 * request uses the pending block, because some nodes would first execute their whole transaction
 * pool.
 */
export function estimateVariants(surroundings: Surroundings, { call, balance }: Simulated): Call[] {
  const { perGas, block, number } = surroundings;
  const needed = BigInt(call.gas) * perGas + BigInt(call.value ?? 0);
  const state = overrideBalance(call.from, balance, needed);
  const isCovered = balance >= needed;
  const priced = { ...call, gasPrice: toQuantity(perGas) };
  const plain = isCovered ? priced : { ...call, gasPrice: "0x0" };
  const variants = [
    [priced, "latest", state, { number, ...block }],
    [priced, "latest", state],
    [plain, "latest"],
  ];
  return variants.map((params) => ({ method: "eth_estimateGas", params }));
}

/**
 * Returns two variants of the `eth_simulateV1` request for several calls from one sender. The
 * second variant does not override block fields.
 */
export function simulationVariants(
  { perGas, block }: Surroundings,
  calls: readonly { from: Hex; to: Hex; data: Hex; gas: Hex }[],
  balance: bigint,
): Call[] {
  const { from, gas } = calls[0]!;
  const state = overrideBalance(from, balance, BigInt(gas) * perGas * BigInt(calls.length));
  const priced = calls.map(({ data, ...rest }) => {
    return { ...rest, input: data, gasPrice: toQuantity(perGas) };
  });
  const run = { stateOverrides: state, calls: priced };
  return [{ blockOverrides: block, ...run }, run].map((each) => ({
    method: "eth_simulateV1",
    params: [{ blockStateCalls: [each] }, "latest"],
  }));
}

/** Returns a state override that adds `needed` wei to a balance that is lower than `needed`. */
const overrideBalance = (from: Hex, balance: bigint, needed: bigint) => ({
  [from]: { balance: toQuantity(balance >= needed ? balance : balance + needed) },
});

/** Returns whether the node does not accept this variant of the call. */
export function isVariantRefused(method: string, answer: Answer): boolean {
  if ("result" in answer) return false;
  const kind = classifyError(method, answer.error);
  return kind === "invalid_parameters" || kind === "no_funds";
}
