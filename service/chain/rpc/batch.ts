// One request to an endpoint: sends a batch of calls, puts each answer in its place, and returns
// the calls that failed for now, to be sent again.

import { readRetryAfterSeconds } from "executable-address/client";
import { type Answer, type Call, ChainUnavailable } from "./json-rpc.ts";
import { classifyError } from "./node-errors.ts";
import type { Pace } from "./pace.ts";
import type { Transport } from "./transport.ts";

/** An endpoint's name for logs, how it is reached, and what it allows. */
export type Provider = { name: string; transport: Transport; pace: Pace };

/** A call that has no answer yet; `index` is its place among the answers. */
export type OpenCall = { call: Call; index: number; attempts: number };

/** How often one call may meet a fault of the node's own, or a limit, before that is its answer. */
const attemptsMax = 4;
/** Their callers ask for less after the first failure, whatever its text. */
const askedOnce = new Set(["eth_getLogs", "eth_getBlockReceipts"]);

/**
 * Sends `batch`, and fills `answers` in.
 * @returns the calls to send again
 * @throws {ChainUnavailable} if the endpoint as a whole failed
 */
export async function sendBatch(
  provider: Provider,
  batch: OpenCall[],
  answers: Answer[],
  timeoutMs: number,
): Promise<OpenCall[]> {
  const { name, pace, transport } = provider;
  if (batch.length === 0) return [];
  const calls = batch.map(({ call }) => call);
  const { status, body, ...times } = await transport(calls, timeoutMs);
  if (status === 429) {
    const seconds = readRetryAfterSeconds(times.retryAfter, times.date);
    const isOfLogs = calls.some(({ method }) => method === "eth_getLogs");
    pace.limited(isOfLogs ? "eth_getLogs" : undefined, seconds && seconds * 1000);
    const error = { code: 429, message: `${name} answered 429` };
    return again(provider, batch, { error }, answers);
  }
  const isRefused = status === 413 || (status === 400 && batch.length > 1);
  if (isRefused && batch.length > 1) {
    pace.tooMuch(batch.length);
    return batch;
  }
  if (status < 200 || status > 299) {
    throw new ChainUnavailable(`${name} answered ${status}`, { isReached: true });
  }
  return sort(provider, batch, body, answers);
}

/** Batches may be answered in any order, in part, or by one error for all of them. */
function sort(provider: Provider, batch: OpenCall[], body: unknown, answers: Answer[]): OpenCall[] {
  const { name, pace } = provider;
  const items = (Array.isArray(body) ? body : [body]) as (Partial<Reply> | null)[];
  const found = new Map<number, Answer>();
  for (const item of items) {
    const answer = answerOf(item);
    const id = idOf(item?.id);
    if (id !== undefined && answer) found.set(id, answer);
  }
  if (found.size === 0) {
    const fault = items.map(answerOf).find((answer) => answer && "error" in answer);
    if (batch.length === 1 && fault) return settle(provider, batch, () => fault, answers);
    if (batch.length === 1 || !fault) {
      throw unanswered(name, batch[0]!);
    }
    const isLimited = "error" in fault && classifyError("", fault.error) === "rate_limited";
    if (isLimited) pace.limited();
    else pace.tooMuch(batch.length);
    return batch.map((each) => ({ ...each, attempts: each.attempts + 0.5 }));
  }
  pace.succeeded(new Set(batch.map(({ call }) => call.method)));
  return settle(provider, batch, (index) => found.get(index), answers);
}

function settle(
  provider: Provider,
  batch: OpenCall[],
  answerTo: (index: number) => Answer | undefined,
  answers: Answer[],
): OpenCall[] {
  const limited = new Set<string>();
  const left = batch.flatMap((each, index) => {
    const answer = answerTo(index) ?? missing;
    const { method } = each.call;
    const kind = "error" in answer ? classifyError(method, answer.error) : undefined;
    if (kind === "rate_limited") limited.add(method);
    if (answer === missing || kind === "rate_limited" || kind === "transient") {
      return again(provider, [each], answer, answers);
    }
    answers[each.index] = answer;
    return [];
  });
  for (const method of limited) provider.pace.limited(method);
  return left;
}

function again({ name }: Provider, batch: OpenCall[], last: Answer, answers: Answer[]): OpenCall[] {
  const isSpent = ({ attempts, call }: OpenCall) =>
    attempts + 1 >= attemptsMax || askedOnce.has(call.method);
  const spent = batch.filter(isSpent);
  const unheard = spent.find(({ call }) => last === missing && !askedOnce.has(call.method));
  if (unheard) throw unanswered(name, unheard);
  for (const { index } of spent) answers[index] = last;
  return batch
    .filter((each) => !isSpent(each))
    .map((each) => ({ ...each, attempts: each.attempts + 1 }));
}

type Reply = { id: unknown; result: unknown; error: { code: number; message: string } };

const missing: Answer = { error: { code: 0, message: "no answer" } };

/** Some gateways return an ID as a string. */
function idOf(id: unknown): number | undefined {
  if (typeof id === "number") return id;
  return typeof id === "string" && /^\d{1,9}$/.test(id) ? Number(id) : undefined;
}

function answerOf(item: Partial<Reply> | null | undefined): Answer | undefined {
  if (item?.error) {
    const { code, message, ...rest } = item.error;
    return { error: { ...rest, code: Number(code), message: String(message) } };
  }
  return item && "result" in item ? { result: item.result } : undefined;
}

const unanswered = (name: string, { call: { method } }: OpenCall) =>
  new ChainUnavailable(`${name} left ${method} unanswered`);
