import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { openLog } from "../log.ts";
import { startApp, type TestApp } from "../testing/app.ts";
import { chainsAt, keepRecord } from "../testing/app-on-chain.ts";
import { startTracedNode } from "../testing/chain/traced-node.ts";
import { startWorld, type World } from "../testing/chain/world.ts";
import { formatTraceparent, parseTraceparent } from "./trace.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";
const spanId = "b7ad6b7169203331";
const header = `00-${traceId}-${spanId}-01`;
const zeros = (count: number) => "0".repeat(count);
const malformed: Record<string, string> = {
  "nothing but a word": "trace",
  "an upper-case id": header.toUpperCase(),
  "a trace of zeros": `00-${zeros(32)}-${spanId}-01`,
  "a span of zeros": `00-${traceId}-${zeros(16)}-01`,
  "the version ff": `ff-${traceId}-${spanId}-01`,
  "no flags": `00-${traceId}-${spanId}`,
  "more than version 00 has": `${header}-more`,
  "an id that is short": `00-${traceId.slice(1)}-${spanId}-01`,
  "two in one": `${header}, ${header}`,
  "64 kB": header + "0".repeat(65_536),
};

describe("a traceparent", () => {
  for (const [what, text] of Object.entries({ ...malformed, "": "" }))
    test(`is ignored: ${what || "an empty one"}`, () =>
      assert.equal(parseTraceparent(text), undefined));

  test("of version 00 comes out as it went in; of a later one, what 00 has of it", () => {
    assert.deepEqual(parseTraceparent(header), { traceId, spanId, flags: 1 });
    assert.equal(formatTraceparent(parseTraceparent(header)!), header);
    const later = parseTraceparent(`cc-${traceId}-${spanId}-00-more`)!;
    assert.equal(formatTraceparent(later), `00-${traceId}-${spanId}-00`);
  });
});

describe("of a request's traceparent", () => {
  let world: World;
  let node: Awaited<ReturnType<typeof startTracedNode>>;
  let server: TestApp;
  let base: string;
  let lines: string[] = [];

  before(async () => {
    world = await startWorld();
    node = await startTracedNode(world.rpcUrl);
    const log = openLog({ level: "debug", role: "api" }, { write: (line) => lines.push(line) });
    const eventLimits = { pollMs: 20 };
    server = await startApp({ chains: chainsAt(world, node.rpcUrl), log, eventLimits });
    base = await server.app.listen({ port: 0, host: "127.0.0.1" });
  });
  after(async () => {
    await server.close();
    await node.stop();
    await world.stop();
  });

  /** Gives what the node was sent on account of one status. */
  async function traced(traceparent?: string) {
    const { address } = await keepRecord(server, await world.newRecord());
    await world.mine(1);
    node.taken();
    lines = [];
    const response = await fetch(`${base}/v1/address/${address}/status`, {
      headers: traceparent === undefined ? {} : { traceparent },
    });
    assert.equal(response.status, 200, await response.text());
    return node.taken().map((each) => each.traceparent);
  }

  test("nothing is passed on or logged where it is missing or malformed", async () => {
    const short = Object.values(malformed).filter((text) => text.length < 1000);
    for (const text of [undefined, ...short]) {
      const sent = await traced(text);
      assert.ok(sent.length > 0);
      assert.deepEqual(new Set(sent), new Set([undefined]), text);
      assert.deepEqual(lines, []);
    }
  });

  test("the chain's node is sent the same, and the log's lines name the trace", async () => {
    const sent = await traced(header);
    assert.ok(sent.length > 0);
    assert.deepEqual(new Set(sent), new Set([header]));
    while (lines.length === 0) await wait(5);
    const line = JSON.parse(lines[0]!);
    assert.equal(line.trace_id, traceId);
    assert.equal(line.span_id, spanId);
    assert.equal(line.route, "/v1/address/:address/status");
    assert.equal(line.status, 200);
  });

  test("a request whose body comes later keeps it", async () => {
    const { apiKey } = await server.newKey();
    const { intent } = await world.newRecord();
    node.taken();
    const sending = request(`${base}/v1/address/check`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        traceparent: header,
        expect: "100-continue",
      },
    });
    sending.flushHeaders();
    await once(sending, "continue");
    sending.end(JSON.stringify(intent));
    const [response] = await once(sending, "response");
    assert.equal(response.statusCode, 200);
    await once(response.resume(), "end");
    const sent = node.taken();
    assert.ok(sent.length > 0);
    assert.deepEqual(new Set(sent.map((each) => each.traceparent)), new Set([header]));
  });

  test("what a stream follows after it was opened, for all streams, is of no trace", async (t) => {
    const { address } = await keepRecord(server, await world.newRecord());
    const aborting = new AbortController();
    t.after(() => aborting.abort());
    const stream = await fetch(`${base}/v1/address/${address}/events`, {
      headers: { traceparent: header },
      signal: aborting.signal,
    });
    assert.equal(stream.status, 200);
    // The first state is what the request itself asked for; then the chain's head, again and again.
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    while (!(await reader.read()).value?.includes("data:"));
    node.taken();
    let later: ReturnType<typeof node.taken> = [];
    while (later.length < 3) {
      await wait(5);
      later = [...later, ...node.taken()];
    }
    assert.deepEqual(new Set(later.map((each) => each.traceparent)), new Set([undefined]));
  });
});
