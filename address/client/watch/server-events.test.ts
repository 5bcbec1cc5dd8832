// Tests the reader of server-sent events with a real server. The expected events follow the HTML
// standard.

import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { after, before, describe, test } from "node:test";
import { type Served, serve } from "../../test/serve.ts";
import { readEvents } from "./server-events.ts";

let server: Served;
let respond: RequestListener;
before(async () => {
  server = await serve((request, response) => respond(request, response));
});
after(() => server.close());

const type = { "Content-Type": "text/event-stream" };
const path = "/events";

/** Returns the events that the reader yields for the server's response. */
async function read({ silenceMs = 60_000, signal = undefined as AbortSignal | undefined } = {}) {
  const transport = { baseUrl: server.origin, fetch, retriesMax: 0, waitSecondsMax: 0 };
  const request = { path, lastId: undefined, silenceMs, signal };
  const found = [];
  for await (const event of readEvents({ ...transport, timeoutMs: 10_000 }, request))
    found.push(event);
  return found;
}

/** Returns the events in `chunks`. Each chunk arrives separately. */
function eventsIn(...chunks: (string | Uint8Array)[]) {
  respond = async (_request, response) => {
    response.writeHead(200, type);
    for (const chunk of chunks) {
      await new Promise((resolve) => response.write(chunk, resolve));
      await new Promise(setImmediate);
    }
    response.end();
  };
  return read();
}

describe("readEvents", () => {
  test("throws `ServiceError` if the service refuses the request", async () => {
    respond = (_request, response) => {
      response.writeHead(429, { "Retry-After": "7", "X-Request-Id": "r1" });
      response.end(JSON.stringify({ error: { code: "rate_limited", message: "m", issues: [] } }));
    };
    await assert.rejects(read(), {
      ...{ name: "ServiceError", status: 429, code: "rate_limited" },
      ...{ retryAfterSeconds: 7, requestId: "r1" },
    });
  });

  test("throws `unexpected_answer` if the response is not an event stream", async () => {
    for (const other of ["application/json", "text/plain", "text/event-streams"]) {
      respond = (_request, response) => {
        response.writeHead(200, { "Content-Type": other });
        response.end("data: 1\n\n");
      };
      await assert.rejects(read(), { name: "ServiceError", code: "unexpected_answer" }, other);
    }
  });

  test("throws `unexpected_answer` if an event is longer than a megabyte", async () => {
    const line = `data: ${"x".repeat(99_990)}\n`;
    await assert.rejects(eventsIn(...Array(11).fill(line)), { code: "unexpected_answer" });
    await assert.rejects(eventsIn(`: ${"x".repeat(1_100_000)}`), { code: "unexpected_answer" });
  });

  test("throws `interrupted` if the connection fails during the stream", async () => {
    respond = (_request, response) => {
      response.writeHead(200, type);
      response.write("data: 1\n\n", () => response.destroy());
    };
    await assert.rejects(read(), { name: "NetworkError", kind: "interrupted" });
  });

  test("throws `timeout` if nothing arrives for `silenceMs`", async () => {
    respond = (_request, response) => void response.writeHead(200, type).flushHeaders();
    await assert.rejects(read({ silenceMs: 50 }), { name: "NetworkError", kind: "timeout" });
  });

  test("throws the reason of the caller's signal", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    respond = (_request, response) => {
      response.writeHead(200, type).flushHeaders();
      controller.abort(reason);
    };
    await assert.rejects(read({ signal: controller.signal }), reason);
  });

  test("yields the name, the data, and the ID of each event", async () => {
    const text = "event: status\nid: 7\ndata: a\n\ndata: b\n\n";
    assert.deepEqual(await eventsIn(text), [
      { name: "status", data: "a", id: "7" },
      { name: "message", data: "b", id: "" },
    ]);
  });

  test("joins the data lines of an event, and removes one space after the colon", async () => {
    const [event] = await eventsIn("data: a\ndata:b\ndata:  c\ndata\n\n");
    assert.equal(event!.data, "a\nb\n c\n");
  });

  test("ignores comments, unknown fields, and empty or incomplete events", async () => {
    const text = ": ping\n\nretry: 5\n\nevent: status\n\nother: x\ndata: a\n\ndata: b\n";
    assert.deepEqual(
      (await eventsIn(text)).map(({ data }) => data),
      ["a"],
    );
  });

  test("accepts long streams of comments and events", async () => {
    const text = `:${"x".repeat(500_000)}\ndata: ${"y".repeat(500_000)}\n\n`;
    assert.equal((await eventsIn(text, text, text)).length, 3);
  });

  test("decodes line breaks and characters that are split across chunks", async () => {
    for (const end of ["\n", "\r", "\r\n"]) {
      const bytes = Buffer.from(["event: status", "data: é€😀", "", "data: b", "", ""].join(end));
      const chunks = [...bytes].map((byte) => Uint8Array.of(byte));
      assert.deepEqual(
        (await eventsIn(...chunks)).map(({ name, data }) => [name, data]),
        [
          ["status", "é€😀"],
          ["message", "b"],
        ],
        JSON.stringify(end),
      );
    }
  });

  test("sends the ID of the last event", async () => {
    const seen: unknown[] = [];
    respond = ({ headers }, response) => {
      seen.push([headers.accept, headers["last-event-id"]]);
      response.writeHead(200, type).end();
    };
    const transport = { baseUrl: server.origin, fetch, retriesMax: 0, waitSecondsMax: 0 };
    const request = { path, silenceMs: 1_000, signal: undefined };
    for (const lastId of [undefined, "7.x"])
      await readEvents({ ...transport, timeoutMs: 10_000 }, { ...request, lastId }).next();
    assert.deepEqual(seen, [
      ["text/event-stream", undefined],
      ["text/event-stream", "7.x"],
    ]);
  });
});
