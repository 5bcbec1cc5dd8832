// One call of a client's method: its own options over the client's, one deadline for all of its
// attempts, and the response beside the answer for callers who want its request ID.

import { refuseUnknown } from "../errors.ts";
import { NetworkError, UnprovenError } from "./errors.ts";
import { limitMsMax, parseCount, parseHeaders } from "./options.ts";
import type { ResponseInfo, Signal, Transport } from "./request.ts";
import { startBound } from "./within.ts";

/** What one call does differently. */
export type CallOptions = {
  readonly signal?: Signal;
  /** In place of the client's: how long one attempt may take. */
  readonly timeoutMs?: number;
  /** In place of the client's: how long all attempts and the waits between them may take. */
  readonly deadlineMs?: number;
  /** In place of the client's `retriesMax`. */
  readonly retries?: number;
  /** Beside the client's, or in place of those of the same name. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** For what must not be repeated without the caller's knowledge. */
export const optionsOfOneAttempt = "signal, timeoutMs, deadlineMs, headers";
export const callOptions = `${optionsOfOneAttempt}, retries`;

/** The answer, by `await`. `withResponse` gives the last response beside it. */
export type Answered<Answer> = Promise<Answer> & {
  withResponse(): Promise<{ readonly data: Answer; readonly response: ResponseInfo }>;
};

type Page = {
  readonly items: readonly unknown[];
  readonly next: string | null;
  readonly hasMore?: boolean;
};

/** One page, by `await`; by `for await` its items and those of every later page. */
export type Paged<P extends Page> = Answered<P> & AsyncIterable<P["items"][number]>;

/** The transport of one call, and the signal that ends it. */
export type Call = { readonly transport: Transport; readonly signal: Signal | undefined };

/**
 * Starts one call.
 *
 * @param known the names of the options that the method has
 */
export function startCall<Answer>(
  transport: Transport,
  options: CallOptions,
  known: string,
  run: (call: Call) => Promise<Answer>,
): Answered<Answer> {
  let last: ResponseInfo | undefined;
  const onResponse = (response: ResponseInfo) => {
    last = response;
    transport.onResponse?.(response);
  };
  const data = runBounded({ ...transport, onResponse }, options, known, run);
  return Object.assign(data, {
    withResponse: async () => ({ data: await data, response: last! }),
  });
}

/** @throws {TypeError} on options that cannot work */
async function runBounded<Answer>(
  transport: Transport,
  options: CallOptions,
  known: string,
  run: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  refuseUnknown(options, known, "option");
  const { signal } = options;
  const own = {
    ...transport,
    timeoutMs: parseCount(options, "timeoutMs", transport.timeoutMs, 1, limitMsMax),
    retriesMax: parseCount(options, "retries", transport.retriesMax, 0, 100),
    headers: { ...transport.headers, ...parseHeaders(options) },
  };
  const byDefault = transport.deadlineMs ?? limitMsMax;
  const deadlineMs = parseCount(options, "deadlineMs", byDefault, 1, limitMsMax);
  const late = () => new NetworkError("timeout", `no answer within ${deadlineMs} ms`);
  const bound = startBound(signal, deadlineMs, late);
  const endsAtMs = performance.now() + deadlineMs;
  try {
    return await run({ transport: { ...own, endsAtMs }, signal: bound.signal });
  } finally {
    bound.end();
  }
}

/**
 * Reads pages as they are wanted, one after the other, so that only one is in memory.
 *
 * @param cursor where to start
 */
export function startPages<P extends Page>(
  read: (cursor: string | undefined) => Answered<P>,
  cursor: string | undefined,
): Paged<P> {
  const first = read(cursor);
  return Object.assign(first, {
    async *[Symbol.asyncIterator]() {
      let at = cursor;
      for (let page = await first; ; page = await read(at)) {
        yield* page.items;
        // A list of the oldest first always names a next page, for those who poll it.
        const { next, hasMore = page.items.length > 0 } = page;
        if (next === null || !hasMore) return;
        if (next === at) throw new UnprovenError("the next page is the same page");
        at = next;
      }
    },
  });
}
