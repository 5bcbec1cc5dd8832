// Reads server-sent events with fetch and bounded memory. Some runtimes do not have EventSource.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html

import {
  fetchOnce,
  type HttpResponse,
  readJson,
  readText,
  type Signal,
  startDeadline,
  type Transport,
  toError,
  withRequestId,
} from "../request.ts";

type ServerEvent = { readonly name: string; readonly data: string; readonly id: string };

type StreamRequest = {
  readonly path: string;
  /** The ID of the last event that was read. The new stream continues after this event. */
  readonly lastId: string | undefined;
  /** The stream is treated as lost if nothing arrives for this time, not even a ping. */
  readonly silenceMs: number;
  readonly signal: Signal | undefined;
};

/** The maximum size of an event. A status has at most some tens of kilobytes. */
const eventLengthMax = 1024 * 1024;

/**
 * Yields the events of a stream, until the service ends it.
 *
 * @throws {ServiceError} if the service refuses, or with the code `unexpected_answer` if the
 *   response is not an event stream
 * @throws {NetworkError}, or the signal's reason
 */
export async function* readEvents(
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
    if (!response.ok) throw toError(request, response, readJson(await readText(response)));
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
