// Keeps which trace the work under way belongs to: from a request's `traceparent` (W3C Trace
// Context) to the calls it makes of a chain's nodes, and to the spans in between, where an operator
// collects them. Without either, nothing is kept and nothing is sent.

import { AsyncLocalStorage } from "node:async_hooks";

/** A span as other programs are told of it: 32 and 16 hex digits, lower case, neither all zero. */
export type Trace = { traceId: string; spanId: string; flags: number };

export type Attributes = Record<string, string | number>;

export type SpanOptions = {
  /** `server`: a request that came in; `client`: one that goes out. */
  kind: "server" | "client" | "internal";
  name: string;
  /** The collector's readers see it: never a credential, a path or a query of a URL. */
  attributes: Attributes;
};

export type Span = { trace: Trace; set(more: Attributes): void; end(error?: unknown): void };

/** Opens a span below `parent`, or one that begins a trace. */
type StartSpan = (options: SpanOptions, parent: Trace | undefined) => Span;

const current = new AsyncLocalStorage<Trace | undefined>();
let start: StartSpan | undefined;

/** From now on spans are given to `startSpan`; without it they are not made. */
export function collectSpans(startSpan: StartSpan | undefined): void {
  start = startSpan;
}

export const isCollecting = (): boolean => start !== undefined;

/** @returns undefined where spans are not collected */
export const startSpan = (...given: Parameters<StartSpan>): Span | undefined => start?.(...given);

export const currentTrace = (): Trace | undefined => current.getStore();

/** Runs `run` in `trace`, what it starts and finishes later included; with undefined, in none. */
export const withTrace = <Done>(trace: Trace | undefined, run: () => Done): Done =>
  current.run(trace, run);

/** `run` as a span of its own, below the one under way; the error's name is kept, not its text. */
export async function inSpan<Done>(
  options: SpanOptions,
  run: (span?: Span) => Promise<Done>,
): Promise<Done> {
  const span = startSpan(options, currentTrace());
  if (!span) return run();
  try {
    const done = await withTrace(span.trace, () => run(span));
    span.end();
    return done;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** The two flags that have a meaning: `sampled` and `random`. */
const flagsKnown = 3;

/**
 * A `traceparent` header as https://www.w3.org/TR/trace-context/#traceparent-header has it.
 *
 * @returns undefined for what is malformed, which is as if it had not been sent
 */
export function parseTraceparent(header: unknown): Trace | undefined {
  if (typeof header !== "string") return undefined;
  const found = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header);
  if (!found) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", more] = found;
  if (version === "ff" || (version === "00" && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) & flagsKnown };
}

export function formatTraceparent({ traceId, spanId, flags }: Trace): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, "0")}`;
}
