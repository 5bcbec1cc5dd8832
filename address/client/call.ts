// Runs one call of a client's method. A call has its own options and a deadline for all attempts. A
// call also gives access to the last response, for example to its request ID.

import { type NamesOf, refuseUnknown } from "../errors.ts";
import { NetworkError, UnprovenError } from "./errors.ts";
import { limitMsMax, parseCount, parseHeaders } from "./options.ts";
import type { ResponseInfo, Signal, Transport } from "./request.ts";
import { startBound } from "./within.ts";

/** The options of one call, which override the client's options. */
export type CallOptions = {
  readonly signal?: Signal;
  /** The maximum time of one attempt. */
  readonly timeoutMs?: number;
  /** The maximum total time of all attempts, including the delays between them. */
  readonly deadlineMs?: number;
  /** Overrides `retriesMax` of the client. */
  readonly retries?: number;
  /** These headers are added to the headers of the client. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** The options of calls that the client does not retry. */
export const optionsOfOneAttempt: NamesOf<Omit<CallOptions, "retries">> = {
  signal: 1,
  timeoutMs: 1,
  deadlineMs: 1,
  headers: 1,
};
export const callOptions: NamesOf<CallOptions> = { ...optionsOfOneAttempt, retries: 1 };

/** A promise of the answer. To get the last HTTP response as well, call `withResponse`. */
export type Answered<Answer> = Promise<Answer> & {
  withResponse(): Promise<{ readonly data: Answer; readonly response: ResponseInfo }>;
};

type Page = {
  readonly items: readonly unknown[];
  readonly next: string | null;
  readonly hasMore?: boolean;
};

/** `await` returns one page. `for await` yields the items of this and all later pages. */
export type Paged<P extends Page> = Answered<P> & AsyncIterable<P["items"][number]>;

/** The transport of one call, and the signal that aborts the call. */
export type Call = { readonly transport: Transport; readonly signal: Signal | undefined };

/**
 * Starts one call.
 *
 * @param known the names of the method's options
 */
export function startCall<Answer, Options extends CallOptions>(
  transport: Transport,
  options: Options,
  known: NamesOf<NoInfer<Options>>,
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

/** @throws {TypeError} if an option is invalid */
async function runBounded<Answer, Options extends CallOptions>(
  transport: Transport,
  options: Options,
  known: NamesOf<NoInfer<Options>>,
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
 * Requests the first page of a list. The result is a promise that resolves to this page. It is also
 * an async iterator over the items of all pages. The iterator requests a page only after the caller
 * has read the previous page.
 *
 * @param cursor the cursor of the first page
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
        // In ascending order, even the last page has a cursor, so that clients can poll. The
        // iteration therefore also ends if `hasMore` is false. If a page has no `hasMore`, the
        // iteration ends at an empty page.
        const { next, hasMore = page.items.length > 0 } = page;
        if (next === null || !hasMore) return;
        if (next === at) throw new UnprovenError("next: expected a new cursor, found the old one");
        at = next;
      }
    },
  });
}
