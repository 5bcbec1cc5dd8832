// Server-sent events over fetch, so that runtimes without EventSource have them, bounded in memory.
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html

import {
  errorOf,
  fetchOnce,
  type HttpResponse,
  parseJson,
  readText,
  type Signal,
  startDeadline,
  type Transport,
  withRequestId,
} from "./request.ts";

type ServerEvent = { readonly name: string; readonly data: string; readonly id: string };

type StreamRequest = {
  readonly path: string;
  /** The id of the last event that was read, to go on behind it. */
  readonly lastId: string | undefined;
  /** So long without a byte, heartbeats included, and the stream counts as lost. */
  readonly silenceMs: number;
  readonly signal: Signal | undefined;
};

/** A status is at most some tens of kilobytes. */
const eventLengthMax = 1024 * 1024;

/**
 * The events, until the service ends the stream.
 *
 * @throws {ServiceError} where it gives none (`unexpected_answer` for what is no stream of events),
 *   {NetworkError}, or the signal's reason
 */
export async function* readEvents(
  transport: Transport,
  { path, lastId, silenceMs, signal }: StreamRequest,
): AsyncGenerator<ServerEvent, void, undefined> {
  const deadline = startDeadline(transport.timeoutMs, signal);
  let response: HttpResponse | undefined;
  try {
    const headers = {
      Accept: "text/event-stream",
      ...(lastId === undefined ? {} : { "Last-Event-ID": lastId }),
    };
    response = await fetchOnce(transport, { method: "GET", path, headers }, deadline.signal);
    const type = response.headers.get("Content-Type") ?? "";
    if (!response.ok) throw errorOf(response, parseJson(await readText(response)));
    if (!/^text\/event-stream\b/i.test(type) || !response.body) throw errorOf(response, undefined);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parse = newParser();
    deadline.restart(silenceMs);
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      deadline.restart(silenceMs);
      const events = parse(decoder.decode(value, { stream: true }));
      if (!events) throw errorOf(response, undefined);
      yield* events;
    }
  } catch (error) {
    throw withRequestId(deadline.explain(error, response !== undefined), response);
  } finally {
    deadline.end();
  }
}

/** Takes text as it comes and gives the events that are whole; undefined where one is too long. */
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
    // A return and a line feed are one end of a line, also when they come apart.
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
