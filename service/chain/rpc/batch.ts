// One request to an endpoint: a batch of calls is sent, each answer is put in its place, and the
// calls that failed for now are given back, to be asked again.

import { readRetryAfterSeconds } from "executable-address/client";
import { type Answer, type Call, ChainUnavailable, isLimited, isTransient } from "./json-rpc.ts";
import type { ProviderPace } from "./pace.ts";

/**
 * An endpoint's name for logs, its URL, which may hold a key, and what it is known to allow. `url`
 * is without user and password, which `authorization` sends where there were any.
 */
export type Provider = {
  name: string;
  url: string;
  authorization: string | undefined;
  pace: ProviderPace;
};

/** A call that has no answer yet; `index` is its place among the answers. */
export type OpenCall = { call: Call; index: number; attempts: number };

/** How often one call may meet a fault of the node's own, or a limit, before that is its answer. */
const attemptsMax = 4;

/**
 * Sends `batch`, and fills `answers` in.
 * @returns those to be asked again
 * @throws {ChainUnavailable} where the endpoint as a whole failed
 */
export async function sendBatch(
  provider: Provider,
  batch: OpenCall[],
  answers: Answer[],
  timeoutMs: number,
): Promise<OpenCall[]> {
  const { name, pace } = provider;
  if (batch.length === 0) return [];
  const response = await post(provider, batch, timeoutMs);
  if (response.status === 429) {
    const { headers } = response;
    const asked = headers.get("retry-after") ?? "";
    const seconds = readRetryAfterSeconds(asked, headers.get("date") ?? "");
    pace.limited(seconds === undefined ? undefined : seconds * 1000);
    return again(
      provider,
      batch,
      { error: { code: 429, message: `${name} answered 429` } },
      answers,
    );
  }
  const isRefused = response.status === 413 || (response.status === 400 && batch.length > 1);
  if (isRefused && batch.length > 1) {
    pace.tooMuch(batch.length);
    return batch;
  }
  if (!response.ok) {
    throw new ChainUnavailable(`${name} answered ${response.status}`, { isReached: true });
  }
  return sort(provider, batch, response.body, answers);
}

/** Batches may be answered in any order, in part, or by one error for all of them. */
function sort(provider: Provider, batch: OpenCall[], body: unknown, answers: Answer[]): OpenCall[] {
  const { name, pace } = provider;
  const items = (Array.isArray(body) ? body : [body]) as Partial<Reply>[];
  const found = new Map<number, Answer>();
  for (const item of items) {
    const answer = answerOf(item);
    if (typeof item?.id === "number" && answer) found.set(item.id, answer);
  }
  if (found.size === 0) {
    const fault = items.map(answerOf).find((answer) => answer && "error" in answer);
    if (batch.length === 1 && fault) return settle(provider, batch, () => fault, answers);
    if (batch.length === 1 || !fault) {
      throw unanswered(name, batch[0]!);
    }
    if ("error" in fault && isLimited(fault.error)) pace.limited(undefined);
    else pace.tooMuch(batch.length);
    return batch.map((each) => ({ ...each, attempts: each.attempts + 0.5 }));
  }
  pace.succeeded();
  return settle(provider, batch, (index) => found.get(index), answers);
}

function settle(
  provider: Provider,
  batch: OpenCall[],
  answerTo: (index: number) => Answer | undefined,
  answers: Answer[],
): OpenCall[] {
  let isSlowed = false;
  return batch.flatMap((each, index) => {
    const answer = answerTo(index);
    if (!answer) return again(provider, [each], missing, answers);
    if ("result" in answer) answers[each.index] = answer;
    else if (isLimited(answer.error)) {
      if (!isSlowed) provider.pace.limited(undefined);
      isSlowed = true;
      return again(provider, [each], answer, answers);
    } else if (isTransient(answer.error)) return again(provider, [each], answer, answers);
    else answers[each.index] = answer;
    return [];
  });
}

function again({ name }: Provider, batch: OpenCall[], last: Answer, answers: Answer[]): OpenCall[] {
  const spent = batch.filter((each) => each.attempts + 1 >= attemptsMax);
  const [first] = spent;
  if (first && last === missing) throw unanswered(name, first);
  for (const { index } of spent) answers[index] = last;
  return batch
    .filter((each) => !spent.includes(each))
    .map((each) => ({ ...each, attempts: each.attempts + 1 }));
}

async function post(
  { url, authorization }: Pick<Provider, "url" | "authorization">,
  batch: OpenCall[],
  timeoutMs: number,
) {
  const body = batch.map(({ call }, id) => ({ jsonrpc: "2.0", id, ...call }));
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      ...(authorization && { authorization }),
    },
    body: JSON.stringify(body.length === 1 ? body[0] : body),
    // A fraction of a millisecond is refused here, and clocks tell some.
    signal: AbortSignal.timeout(Math.ceil(timeoutMs)),
  });
  const { status, ok, headers } = response;
  if (ok) return { status, ok, headers, body: JSON.parse(await textOf(response)) as unknown };
  await response.body?.cancel();
  return { status, ok, headers, body: undefined };
}

/** More than any answer to a batch of ours; without a bound, one response may take all memory. */
const responseBytesMax = 32 * 2 ** 20;

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > responseBytesMax) {
      throw new ChainUnavailable(`a response above ${responseBytesMax} bytes`, { isReached: true });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

type Reply = { id: number; result: unknown; error: { code: number; message: string } };

const missing: Answer = { error: { code: 0, message: "no answer" } };

function answerOf(item: Partial<Reply> | null | undefined): Answer | undefined {
  if (item?.error) {
    const { code, message, ...rest } = item.error;
    return { error: { ...rest, code: Number(code), message: String(message) } };
  }
  return item && "result" in item ? { result: item.result } : undefined;
}

const unanswered = (name: string, { call: { method } }: OpenCall) =>
  new ChainUnavailable(`${name} left ${method} unanswered`);
