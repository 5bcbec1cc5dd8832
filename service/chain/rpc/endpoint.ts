// One JSON-RPC endpoint over HTTP. It learns what its provider allows: a batch that is refused for
// its size is cut in half, a provider that asks for fewer calls a second gets fewer, and no sooner
// than its Retry-After says. Each call has an outcome of its own.

import { setTimeout as wait } from "node:timers/promises";
import { type Answer, type Call, ChainUnavailable, isLimited, isTransient } from "./json-rpc.ts";
import { openPace } from "./pace.ts";

export type Endpoint = {
  /** For logs and metrics; never a URL, which may hold a key. */
  name: string;
  /**
   * One answer per call, in order.
   * @param timeoutMs of one request, where it is to be another than the endpoint's own
   * @throws {ChainUnavailable} when the endpoint could not be asked, or not in time
   */
  ask(calls: readonly Call[], timeoutMs?: number): Promise<Answer[]>;
};

export type EndpointOptions = {
  /** Of one HTTP request. */
  timeoutMs: number;
  /** Of all requests that one `ask` may take, waiting for the provider included. */
  patienceMs?: number;
};

/** How often one call may meet a fault of the node's own, or a limit, before that is its answer. */
const attemptsMax = 4;
/** Requests under way at once, where each may hold few calls. */
const lanesMax = 8;
const fewCalls = 8;

type Open = { call: Call; index: number; attempts: number };

/** @param name how logs and metrics call it */
export function httpEndpoint(name: string, url: string, options: EndpointOptions): Endpoint {
  const { patienceMs = 2 * options.timeoutMs } = options;
  const pace = openPace(() => performance.now());
  const failed = (error: unknown) => {
    if (error instanceof ChainUnavailable) return error;
    const isReached = error instanceof Error && error.name === "TimeoutError";
    const message = error instanceof Error ? error.message : String(error);
    return new ChainUnavailable(`${name}: ${message}`, { isReached });
  };
  return {
    name,
    async ask(calls, timeoutMs = options.timeoutMs) {
      const answers = new Array<Answer>(calls.length);
      const open = calls.map((call, index): Open => ({ call, index, attempts: 0 }));
      const until = performance.now() + patienceMs;
      const lane = async () => {
        while (open.length > 0) {
          const pauseMs = pace.pauseMs();
          if (performance.now() + pauseMs > until) {
            throw new ChainUnavailable(`${name} allows no more calls for ${pauseMs} ms`);
          }
          if (pauseMs > 0) await wait(pauseMs);
          else open.push(...(await send(pace.take(open), answers, timeoutMs)));
        }
      };
      const lanes = pace.callsMax() < fewCalls ? lanesMax : 1;
      try {
        await Promise.all(Array.from({ length: lanes }, lane));
      } catch (error) {
        open.length = 0;
        throw failed(error);
      }
      return answers;
    },
  };

  /** @returns those to be asked again */
  async function send(batch: Open[], answers: Answer[], timeoutMs: number): Promise<Open[]> {
    if (batch.length === 0) return [];
    const response = await post(batch, timeoutMs);
    if (response.status === 429) {
      pace.limited(retryAfterMs(response));
      return again(batch, { error: { code: 429, message: `${name} answered 429` } }, answers);
    }
    const isRefused = response.status === 413 || (response.status === 400 && batch.length > 1);
    if (isRefused && batch.length > 1) {
      pace.tooMuch(batch.length);
      return batch;
    }
    if (!response.ok) {
      throw new ChainUnavailable(`${name} answered ${response.status}`, { isReached: true });
    }
    return sort(batch, response.body, answers);
  }

  /** Batches may be answered in any order, in part, or by one error for all of them. */
  function sort(batch: Open[], body: unknown, answers: Answer[]): Open[] {
    const items = (Array.isArray(body) ? body : [body]) as Partial<Reply>[];
    const found = new Map<number, Answer>();
    for (const item of items) {
      const answer = answerOf(item);
      if (typeof item?.id === "number" && answer) found.set(item.id, answer);
    }
    if (found.size === 0) {
      const fault = items.map(answerOf).find((answer) => answer && "error" in answer);
      if (batch.length === 1 && fault) return settle(batch, () => fault, answers);
      if (batch.length === 1 || !fault) {
        throw new ChainUnavailable(`${name} left a call unanswered`);
      }
      if ("error" in fault && isLimited(fault.error)) pace.limited(undefined);
      else pace.tooMuch(batch.length);
      return batch.map((each) => ({ ...each, attempts: each.attempts + 0.5 }));
    }
    pace.succeeded();
    return settle(batch, (index) => found.get(index), answers);
  }

  function settle(
    batch: Open[],
    answerTo: (index: number) => Answer | undefined,
    answers: Answer[],
  ): Open[] {
    let isSlowed = false;
    return batch.flatMap((each, index) => {
      const answer = answerTo(index);
      if (!answer) return again([each], missing, answers);
      if ("result" in answer) answers[each.index] = answer;
      else if (isLimited(answer.error)) {
        if (!isSlowed) pace.limited(undefined);
        isSlowed = true;
        return again([each], answer, answers);
      } else if (isTransient(answer.error)) return again([each], answer, answers);
      else answers[each.index] = answer;
      return [];
    });
  }

  function again(batch: Open[], last: Answer, answers: Answer[]): Open[] {
    const spent = batch.filter((each) => each.attempts + 1 >= attemptsMax);
    const [first] = spent;
    if (first && last === missing) throw new ChainUnavailable(`${name} left a call unanswered`);
    for (const { index } of spent) answers[index] = last;
    return batch
      .filter((each) => !spent.includes(each))
      .map((each) => ({ ...each, attempts: each.attempts + 1 }));
  }

  async function post(batch: Open[], timeoutMs: number) {
    const body = batch.map(({ call }, id) => ({ jsonrpc: "2.0", id, ...call }));
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body.length === 1 ? body[0] : body),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const { status, ok, headers } = response;
    if (ok) return { status, ok, headers, body: (await response.json()) as unknown };
    await response.body?.cancel();
    return { status, ok, headers, body: undefined };
  }
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

/** Seconds or a date; undefined where the provider does not say. */
function retryAfterMs({ headers }: { headers: Headers }): number | undefined {
  const text = headers.get("retry-after");
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
