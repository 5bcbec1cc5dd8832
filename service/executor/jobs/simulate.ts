// Asks one endpoint to simulate calls, in the truest form that it accepts and in an order that slow
// calls cannot delay. A simulation gets a gas price, coin to pay it, and the block that the
// transaction would meet, so that a call cannot distinguish the two. It can still recognize a
// simulation by the block's randomness and builder, which nobody knows in advance, and a recovery
// by its origin, which is the vault here.
//
// A stranger can make a simulation slow free of charge, so its time is recorded by account. The
// fastest accounts come first and share requests, several at the same time. Unknown accounts get
// one call each with little gas. Slow accounts share a part of each pass, one call at a time.

import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import {
  type EndpointRecord,
  recordAccountMs,
  recordFormRefused,
} from "../../chain/rpc/endpoint-record.ts";
import type { BlockPace } from "../../chain/rpc/heads.ts";
import type { Answer, Call } from "../../chain/rpc/json-rpc.ts";
import { classifyError } from "../../chain/rpc/node-errors.ts";
import type { Asker } from "../../chain/rpc/view.ts";
import type { Pass } from "../pass.ts";
import type { Purse } from "../transactions/send.ts";

/** An account whose simulations take longer is slow. */
export const slowMs = 100;
/** It counts as slow until it was asked with all of its gas. */
const justSlowMs = slowMs + 1;
const groupMax = 10;
/**
 * Requests at once about accounts that are not known, and about the quickest: so quick that their
 * requests, which a node may run one after the other, are answered in the time of one of the rest.
 */
const requestsAtOnce = 4;
/** A call of a slow account gets at most this long. */
const aloneMs = 1500;
/** Part of a pass's time that slow accounts share. */
const slowShare = 1 / 4;

type Limits = { clock(): number; tuning: { estimateMsMax: number } };

/**
 * `forms`: the same question, the truest first, for nodes that do not take it. `lightForms`: with
 * so little gas that it takes a node little time, for accounts that are not known yet.
 */
export type Question = {
  forms: readonly Call[];
  lightForms?: readonly Call[];
  accountId: string;
};
/** "late": not answered in the time that one call may take at most. Undefined: not asked. */
export type Heard = Answer | "late" | undefined;
export const lateReason = `not simulated within ${aloneMs} ms`;

type Asking = {
  clock: Limits["clock"];
  asker: Asker;
  asked: readonly Question[];
  heard: Heard[];
  isGone: boolean;
};

/** Milliseconds at the endpoint where it was quickest; 0: the account is not slow, or unknown. */
export function findSlowness(records: readonly EndpointRecord[], accountId: string): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { estimates } of records) {
    least = Math.min(least, estimates.accountMs.get(accountId) ?? least);
  }
  return least > slowMs && least < Number.POSITIVE_INFINITY ? least : 0;
}

/**
 * Asks as much as there is time for, and something whatever the time.
 * @returns in the order of `asked`; undefined where the endpoint is gone
 */
export async function askInLanes(
  { clock, tuning }: Limits,
  asker: Asker,
  asked: readonly Question[],
  untilMs: number,
): Promise<Heard[] | undefined> {
  const heard = new Array<Heard>(asked.length).fill(undefined);
  const asking: Asking = { clock, asker, asked, heard, isGone: false };
  const slowMsMax = tuning.estimateMsMax * slowShare;
  const quickUntilMs = untilMs - slowMsMax;
  await askQuick(asking, quickUntilMs);
  await askUnknown(asking, quickUntilMs);
  await askQuick(asking, quickUntilMs);
  await askSlow(asking, clock() + slowMsMax);
  return asking.isGone ? undefined : heard;
}

async function askQuick(asking: Asking, untilMs: number): Promise<void> {
  const quickestMs = slowMs / requestsAtOnce;
  await askInGroups(asking, (ms) => ms <= quickestMs, requestsAtOnce, untilMs);
  await askInGroups(asking, (ms) => ms <= slowMs, 1, untilMs);
}

/** Asks ten in a request, the quickest accounts first; if it is late, their paces are unknown. */
async function askInGroups(
  asking: Asking,
  isOf: (ms: number) => boolean,
  atOnce: number,
  untilMs: number,
): Promise<void> {
  const { asker, asked } = asking;
  const left = openBy(asking, (ms) => ms !== undefined && isOf(ms));
  const askGroups = async () => {
    while (left.length > 0 && hasTime(asking, untilMs)) {
      const group = left.splice(0, groupMax);
      const tookMs = await ask(asking, group, groupMax * slowMs + 2 * asker.record.answerMs);
      for (const index of group) {
        if (tookMs === undefined) recordAccountMs(asker.record, asked[index]!.accountId, undefined);
        else note(asking, index, tookMs / group.length);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, askGroups));
}

/**
 * Asks the first call of each account, with little gas: a node may work on a slow one long after it
 * timed out, and all that is asked meanwhile waits. What fails with so little gas may succeed with
 * more, so it comes with the slow ones, which show how long it takes.
 */
async function askUnknown(asking: Asking, untilMs: number): Promise<void> {
  const { asker, asked, heard } = asking;
  const open = openBy(asking, (ms) => ms === undefined);
  const first = new Map(open.toReversed().map((index) => [asked[index]!.accountId, index]));
  const left = open.filter((index) => first.get(asked[index]!.accountId) === index);
  const probe = async () => {
    while (left.length > 0 && hasTime(asking, untilMs)) {
      const index = left.shift()!;
      const timeoutMs = 2 * (slowMs + asker.record.answerMs);
      const tookMs = await ask(asking, [index], timeoutMs, "lightForms");
      const answer = heard[index];
      const isLight = asked[index]!.lightForms !== undefined;
      const isOpen = isLight && answer !== undefined && answer !== "late" && "error" in answer;
      if (isOpen) heard[index] = undefined;
      note(asking, index, isOpen ? justSlowMs : (tookMs ?? timeoutMs));
    }
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, probe));
}

async function askSlow(asking: Asking, untilMs: number): Promise<void> {
  const open = openBy(asking, (ms) => ms !== undefined && ms > slowMs);
  for (const [place, index] of open.entries()) {
    if (asking.isGone || (place > 0 && asking.clock() > untilMs)) return;
    const tookMs = await ask(asking, [index], aloneMs);
    note(asking, index, tookMs ?? aloneMs);
    if (tookMs === undefined) asking.heard[index] = "late";
  }
}

/** Finds what is not answered yet and whose account has such a pace, the quickest first. */
function openBy(
  { asker, asked, heard }: Asking,
  isOf: (ms: number | undefined) => boolean,
): number[] {
  const { accountMs } = asker.record.estimates;
  const paceAt = (index: number) => accountMs.get(asked[index]!.accountId);
  return asked
    .flatMap((_, index) => (heard[index] === undefined && isOf(paceAt(index)) ? [index] : []))
    .toSorted((a, b) => (paceAt(a) ?? 0) - (paceAt(b) ?? 0));
}

const hasTime = ({ clock, heard, isGone }: Asking, untilMs: number): boolean =>
  !isGone && (clock() <= untilMs || heard.every((each) => each === undefined));

/** @returns how long it took beyond what the endpoint takes for anything; undefined: too long */
async function ask(
  asking: Asking,
  group: readonly number[],
  timeoutMs: number,
  which: "forms" | "lightForms" = "forms",
): Promise<number | undefined> {
  const { clock, asker, heard } = asking;
  const beganMs = clock();
  const answers = await askInForm(asking, group, timeoutMs, which);
  if (answers === "gone") asking.isGone = true;
  if (answers === "gone" || answers === "slow") return undefined;
  group.forEach((index, place) => {
    heard[index] = answers[place]!;
  });
  return Math.max(0, clock() - beganMs - asker.record.answerMs);
}

/** Asks in the truest form that the endpoint takes, as far as it is known. */
async function askInForm(
  { asker, asked }: Asking,
  group: readonly number[],
  timeoutMs: number,
  which: "forms" | "lightForms",
): ReturnType<Asker["ask"]> {
  const formsOf = (index: number) => asked[index]![which] ?? asked[index]!.forms;
  for (let { form } = asker.record.estimates; ; form++) {
    const calls = group.map((index) => formsOf(index)[form]!);
    const answers = await asker.ask(calls, timeoutMs);
    const isLast = form === formsOf(group[0]!).length - 1;
    if (typeof answers === "string" || isLast || !answers.some(isFormRefused)) return answers;
    recordFormRefused(asker.record, form);
  }
}

function note({ asker, asked, isGone }: Asking, index: number, ms: number): void {
  if (!isGone) recordAccountMs(asker.record, asked[index]!.accountId, ms);
}

/** A call that the sender, with `balance` wei, is to afford. */
type Simulated = { call: { from: Hex; gas: Hex; value?: Hex }; balance: bigint };

/** The price of gas in wei and the block that a transaction sent now would meet. */
type Surroundings = { perGas: bigint; block: { time: Hex; baseFeePerGas: Hex }; number: Hex };

export function openForms(
  { view, memory, nowSeconds }: Pass<{ pace: BlockPace }>,
  purse: Purse,
): Surroundings {
  const { nextBaseFee, suggested } = purse;
  return {
    perGas: nextBaseFee + suggested.priorityFee,
    number: toQuantity(view.head.number + 1),
    block: {
      time: toQuantity(Math.max(nowSeconds, memory.pace.nextSeconds())),
      baseFeePerGas: toQuantity(nextBaseFee),
    },
  };
}

/**
 * The ways to ask for one estimate, the truest first. Not all nodes take another block's fields, or
 * another balance: without that, a price goes only with what the balance covers.
 * Not at the pending block: there some nodes run their whole pool for each call.
 */
export function estimateForms(surroundings: Surroundings, { call, balance }: Simulated): Call[] {
  const { perGas, block, number } = surroundings;
  const needed = BigInt(call.gas) * perGas + BigInt(call.value ?? 0);
  const state = stateOf(call.from, balance, needed);
  const isCovered = balance >= needed;
  const priced = { ...call, gasPrice: toQuantity(perGas) };
  const plain = isCovered ? priced : { ...call, gasPrice: "0x0" };
  const forms = [
    [priced, "latest", state, { number, ...block }],
    [priced, "latest", state],
    [plain, "latest"],
  ];
  return forms.map((params) => ({ method: "eth_estimateGas", params }));
}

/** The ways to ask for the gas that each of some calls of one sender uses, the truest first. */
export function simulationForms(
  { perGas, block }: Surroundings,
  calls: readonly { from: Hex; to: Hex; data: Hex; gas: Hex }[],
  balance: bigint,
): Call[] {
  const { from, gas } = calls[0]!;
  const state = stateOf(from, balance, BigInt(gas) * perGas * BigInt(calls.length));
  const priced = calls.map(({ data, ...rest }) => {
    return { ...rest, input: data, gasPrice: toQuantity(perGas) };
  });
  const run = { stateOverrides: state, calls: priced };
  return [{ blockOverrides: block, ...run }, run].map((each) => ({
    method: "eth_simulateV1",
    params: [{ blockStateCalls: [each] }, "latest"],
  }));
}

/** The state in which the sender can pay what is needed, with its own balance if that suffices. */
const stateOf = (from: Hex, balance: bigint, needed: bigint) => ({
  [from]: { balance: toQuantity(balance >= needed ? balance : balance + needed) },
});

/** The node does not take the form, whatever the call is. */
export function isFormRefused(answer: Answer): boolean {
  if ("result" in answer) return false;
  const kind = classifyError("eth_estimateGas", answer.error);
  return kind === "invalid_parameters" || kind === "no_funds";
}
