// Watches an address through the service's server-sent events. If the stream does not work, polls
// the address's status.

import type { Hex } from "../intent/intent.ts";
import { type AddressState, addressStates, type ServiceStatus } from "../status/shape.ts";
import { proveStatus } from "./answers.ts";
import { NetworkError, ServiceError, UnprovenError, WaitError } from "./errors.ts";
import { limitMsMax, parseCount } from "./options.ts";
import {
  backoffMs,
  fetchOnce,
  type HttpResponse,
  parseJson,
  readText,
  type Signal,
  send,
  sleep,
  startDeadline,
  type Transport,
  toError,
  withRequestId,
} from "./request.ts";
import { startBound } from "./within.ts";

export type WatchOptions = {
  readonly signal?: Signal;
  /** The polling interval if the stream of events does not work. Default 5,000. */
  readonly pollMs?: number;
};

export type WaitOptions = WatchOptions & {
  /** The maximum total waiting time. Default 600,000 (ten minutes). */
  readonly timeoutMs?: number;
};

/**
 * A message about an address: a status, a ping, or a notice of an unavailable chain. A ping
 * contains the `timestamp` of the chain's newest block (Unix seconds, undefined if unknown).
 */
export type StreamMessage =
  | { readonly kind: "status"; readonly status: ServiceStatus }
  | { readonly kind: "ping"; readonly timestamp: number | undefined }
  | { readonly kind: "unavailable" };

type MessageOptions = {
  readonly signal: Signal | undefined;
  readonly pollMs: number;
  /**
   * If no byte arrives for this time, the stream is treated as lost. The service pings every 15 s.
   */
  readonly silenceMs: number;
};

/** The number of polls after a failed stream, before the client opens a stream again. */
const pollsBetween = 12;

/**
 * Yields every message about an address, until the caller stops reading.
 *
 * @param address in EIP-55 case
 * @throws {ServiceError} `not_found` if the service has no intent for the address
 * @throws {UnprovenError}, the error of a status request after its retries, or the signal's reason
 */
export async function* readMessages(
  transport: Transport,
  address: Hex,
  { signal, pollMs, silenceMs }: MessageOptions,
): AsyncGenerator<StreamMessage, void, undefined> {
  const path = `/address/${address}`;
  let lastId: string | undefined;
  for (let streams = 0; ; streams++) {
    try {
      const request = { path: `${path}/events`, lastId, silenceMs, signal };
      for await (const { name, data, id } of readEvents(transport, request)) {
        const message = parseMessage(name, data, address);
        if (!message) continue;
        if (message.kind === "status" && /^[!-~]{1,200}$/.test(id)) lastId = id;
        streams = 0;
        yield message;
      }
      await sleep(backoffMs(streams + 2), signal);
      if (streams === 0) continue;
    } catch (error) {
      if (!isRetryable(error)) throw error;
    }
    for (let polls = 0; polls < pollsBetween; polls++) {
      const answer = await send(transport, { method: "GET", path: `${path}/status`, signal });
      yield { kind: "status", status: proveStatus(answer, address) };
      await sleep(pollMs, signal);
    }
  }
}

/** @throws {UnprovenError} for a status of a different address */
function parseMessage(name: string, data: string, address: Hex): StreamMessage | undefined {
  if (name === "unavailable") return { kind: "unavailable" };
  const value = parseJson(data);
  if (name === "status") return { kind: "status", status: proveStatus(value, address) };
  if (name !== "ping") return undefined;
  const { timestamp } = (value as { block?: { timestamp?: unknown } } | null)?.block ?? {};
  const isTime = Number.isSafeInteger(timestamp) && (timestamp as number) > 0;
  return { kind: "ping", timestamp: isTime ? (timestamp as number) : undefined };
}

/** The time after which a stream without messages counts as lost. A page uses a shorter time. */
const silenceMs = 60_000;

/**
 * Yields the current status, and then each changed status, until the caller stops reading. A status
 * in which only the block is different counts as unchanged.
 *
 * @param address in EIP-55 case
 * @throws the errors of {@link readMessages}
 */
export async function* watchStatus(
  transport: Transport,
  address: Hex,
  { signal, ...options }: WatchOptions,
): AsyncGenerator<ServiceStatus, void, undefined> {
  const pollMs = parseCount(options, "pollMs", 5_000, 1, limitMsMax);
  let last: string | undefined;
  for await (const message of readMessages(transport, address, { signal, pollMs, silenceMs })) {
    if (message.kind !== "status") continue;
    const { block, ...rest } = message.status;
    const text = JSON.stringify(rest);
    if (text !== last) yield message.status;
    last = text;
  }
}

/** Returns whether polling can succeed after a stream failed with `error`. */
function isRetryable(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code !== "not_found";
  return error instanceof NetworkError;
}

/**
 * The states that an address can still reach after `executed`, `recovered`, and `expired`. From any
 * other state, an address may still reach every state.
 */
const reachable: Readonly<Record<string, readonly AddressState[]>> = {
  executed: [],
  recovered: [],
  expired: ["recovered"],
};

/**
 * Returns the first status whose state is one of `states`.
 *
 * @throws {WaitError} if the address cannot reach these states, or does not reach them in time
 * @throws the errors of {@link watchStatus}
 */
export async function waitForState(
  transport: Transport,
  address: Hex,
  states: readonly AddressState[],
  { signal, timeoutMs, ...options }: WaitOptions,
): Promise<ServiceStatus> {
  if (states.length === 0 || states.some((state) => !addressStates.includes(state))) {
    const known = addressStates.join(", ");
    throw new TypeError(`state: expected one or more of ${known}, found ${JSON.stringify(states)}`);
  }
  const limitMs = parseCount({ timeoutMs }, "timeoutMs", 600_000, 1, limitMsMax);
  let seen: ServiceStatus | undefined;
  const names = states.join(" or ");
  const late = () => new WaitError("timeout", `not ${names} within ${limitMs} ms`, seen);
  const bound = startBound(signal, limitMs, late);
  try {
    for await (const status of watchStatus(transport, address, {
      ...options,
      signal: bound.signal,
    })) {
      seen = status;
      if (states.includes(status.state)) return status;
      const next = reachable[status.state];
      if (next && !states.some((state) => next.includes(state)))
        throw new WaitError(
          "never",
          `${address} is ${status.state} and can never be ${names}`,
          status,
        );
    }
    // This line is never reached: the loop ends only with a return or an error.
    throw new UnprovenError(`the stream of ${address} ended`);
  } finally {
    bound.end();
  }
}

// Reads server-sent events with fetch and bounded memory. Some runtimes do not have EventSource.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html

type ServerEvent = { readonly name: string; readonly data: string; readonly id: string };

type StreamRequest = {
  readonly path: string;
  /** The ID of the last event that was read. The new stream continues after this event. */
  readonly lastId: string | undefined;
  /** The stream is treated as lost if nothing arrives for this time, not even a heartbeat. */
  readonly silenceMs: number;
  readonly signal: Signal | undefined;
};

/** The maximum size of an event. A status has at most some tens of kilobytes. */
const eventLengthMax = 1024 * 1024;

/**
 * Yields the events of a stream, until the service ends it.
 *
 * @throws {ServiceError} if the service refuses; `unexpected_answer` for a different content type
 * @throws {NetworkError}, or the signal's reason
 */
async function* readEvents(
  transport: Transport,
  { path, lastId, silenceMs, signal }: StreamRequest,
): AsyncGenerator<ServerEvent, void, undefined> {
  const headers = {
    Accept: "text/event-stream",
    ...(lastId === undefined ? {} : { "Last-Event-ID": lastId }),
  };
  const request = { method: "GET", path, headers, signal } as const;
  const deadline = startDeadline(transport.timeoutMs, request);
  let response: HttpResponse | undefined;
  try {
    response = await fetchOnce(transport, request, deadline.signal);
    const type = response.headers.get("Content-Type") ?? "";
    if (!response.ok) throw toError(request, response, parseJson(await readText(response)));
    if (!/^text\/event-stream\b/i.test(type) || !response.body)
      throw toError(request, response, undefined);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parse = newParser();
    deadline.restart(silenceMs);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      deadline.restart(silenceMs);
      const events = parse(decoder.decode(value, { stream: true }));
      if (!events) throw toError(request, response, undefined);
      yield* events;
    }
  } catch (error) {
    throw withRequestId(deadline.explain(error, response !== undefined), response);
  } finally {
    deadline.end();
  }
}

/**
 * Creates a parser that takes text in pieces and returns the complete events. The parser returns
 * undefined if an event is too long.
 */
function newParser(): (text: string) => ServerEvent[] | undefined {
  let line = "";
  let length = 0;
  let endedByReturn = false;
  let fields = new Map<string, string>();
  const takeLine = (events: ServerEvent[]): void => {
    if (line === "") {
      const data = fields.get("data");
      if (data !== undefined)
        events.push({ name: fields.get("event") ?? "message", data, id: fields.get("id") ?? "" });
      fields = new Map();
      length = 0;
    } else if (!line.startsWith(":")) {
      const [, name = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line)!;
      const before = name === "data" ? fields.get("data") : undefined;
      if (name === "event" || name === "data" || name === "id")
        fields.set(name, before === undefined ? value : `${before}\n${value}`);
    } else length -= line.length;
    line = "";
  };
  return (text) => {
    const events: ServerEvent[] = [];
    // CR LF is one line end, even if the two arrive in different pieces.
    const lines = (endedByReturn ? text.replace(/^\n/, "") : text).split(/\r\n|\r|\n/);
    if (text !== "") endedByReturn = text.endsWith("\r");
    for (const [index, part] of lines.entries()) {
      if (index > 0) takeLine(events);
      line += part;
      length += part.length + 1;
      if (length > eventLengthMax) return undefined;
    }
    return events;
  };
}
