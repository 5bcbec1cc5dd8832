// Tests the client with a service that misbehaves in more than 128 ways. The service lies,
// interrupts responses, sends endless data, or does not respond. In each case, the client soon
// throws a typed error. The client reads no more bytes than a valid response can have.

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { factoryAddress, makeRecord } from "../index.ts";
import {
  addressPageOf,
  chainListOf,
  checkOf,
  credentials,
  eventPageOf,
  paymentEventOf,
  simulationOf,
  statusOf,
} from "../test/answers.ts";
import { sample } from "../test/samples.ts";
import { type Served, serve } from "../test/serve.ts";
import { type Client, ClientError, createClient, NetworkError } from "./client.ts";

const { address } = makeRecord(sample);
const timeoutMs = 400;
const late = new RegExp(`^(GET|POST|DELETE) /\\S+: no complete response within ${timeoutMs} ms$`);

type Lie = (response: ServerResponse) => void;

const methods: Record<string, { ask: (client: Client) => Promise<unknown>; honest: object }> = {
  create: { ask: (client) => client.create(sample), honest: makeRecord(sample) },
  check: { ask: (client) => client.check(sample), honest: checkOf(makeRecord(sample)) },
  lookup: { ask: (client) => client.lookup(address), honest: makeRecord(sample) },
  chains: { ask: (client) => client.chains(), honest: chainListOf(factoryAddress) },
  status: { ask: (client) => client.status(address), honest: statusOf(address, "executed") },
  simulation: { ask: (client) => client.simulation(address), honest: simulationOf(address) },
  addresses: { ask: (client) => client.addresses(), honest: addressPageOf(address) },
  events: { ask: (client) => client.events(), honest: eventPageOf(address) },
  event: { ask: (client) => client.event("e1"), honest: paymentEventOf(address) },
  watch: {
    ask: (client) => client.watch(address, { pollMs: 1 }).next(),
    honest: statusOf(address, "executed"),
  },
};

/**
 * The number of bytes that the server has sent in endless responses. The client cannot have read
 * more.
 */
let writtenBytes = 0;

function flood(response: ServerResponse, chunk: Buffer): void {
  const write = (): void => {
    while (!response.destroyed && response.write(chunk)) writtenBytes += chunk.length;
    if (!response.destroyed) response.once("drain", () => setImmediate(write));
  };
  write();
}

const raw =
  (text: string): Lie =>
  ({ socket }) =>
    socket!.end(text);
const body =
  (text: string | Buffer, status = 200): Lie =>
  (response) =>
    void response.writeHead(status).end(text);
const redirect =
  (status: number): Lie =>
  (response) =>
    void response.writeHead(status, { Location: "/v1/chains" }).end();

/** Ways to break the connection or the response, which apply to every request. */
const connections: Record<string, Lie> = {
  "a connection that closes without an answer": ({ socket }) => socket!.destroy(),
  "a server that never answers": () => {},
  "bytes that are not HTTP": raw("\u0000\u0001\u0002 no such thing\r\n\r\n"),
  "incomplete headers": raw("HTTP/1.1 200 OK\r\nContent-Le"),
  "a body that is shorter than its Content-Length": raw(
    "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
  ),
  "a malformed chunk": raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{"),
  "one megabyte of headers": raw(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(1 << 20)}\r\n\r\n{}`),
  "an endless body that is sent byte by byte": (response) => {
    const timer = setInterval(() => response.write(" "), 20);
    response.once("close", () => clearInterval(timer));
  },
  "an endless body that is sent at full speed": (response) => flood(response, Buffer.alloc(65_536)),
  "the beginning of a gzip of a gigabyte of spaces": (response) => {
    response.writeHead(200, { "Content-Encoding": "gzip" });
    flood(response, gzipSync(Buffer.alloc(8 << 20, " ")));
  },
  "a body that is not the gzip that it claims to be": (response) =>
    void response.writeHead(200, { "Content-Encoding": "gzip" }).end("{}"),
  "a redirect to another path": redirect(302),
  "a permanent redirect": redirect(308),
  "a 204 response": body("", 204),
  "a 304 response": body("", 304),
};

const bodies: Record<string, string | Buffer> = {
  "an empty body": "",
  null: "null",
  "a number": "7",
  "a number above the largest double": "1e999",
  text: '"0x"',
  "an array": "[]",
  "an empty object": "{}",
  "half of an object": '{"address":',
  "an HTML page": "<!doctype html><title>502</title>",
  "bytes that are not UTF-8": Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  "a hundred thousand brackets": "[".repeat(100_000),
  "a hundred thousand closed brackets": "[".repeat(100_000) + "]".repeat(100_000),
  "fields of an object's prototype": '{"__proto__":{"address":"0x"}}',
};

const refusals: Record<string, [status: number, body: unknown, headers?: Record<string, string>]> =
  {
    "an error that is null": [500, { error: null }],
    "an error that is text": [500, { error: "\u001b[2J" }],
    "a code that is a number": [400, { error: { code: 7, message: "x", issues: [] } }],
    "a code that moves the terminal's cursor": [
      400,
      { error: { code: "\u001b[2J", message: "x", issues: [] } },
    ],
    "a message that is an object": [400, { error: { code: "x", message: {}, issues: [] } }],
    "an error message of one megabyte": [
      400,
      { error: { code: "x", message: "x".repeat(1 << 20) } },
    ],
    "issues that are an object": [
      400,
      { error: { code: "x", message: "x", issues: { length: 9 } } },
    ],
    "a hundred thousand issues": [
      400,
      { error: { code: "x", message: "x", issues: Array(100_000).fill({ path: [], code: "x" }) } },
    ],
    "a negative Retry-After": [429, {}, { "Retry-After": "-1" }],
    "a Retry-After of 999,999,999 seconds": [429, {}, { "Retry-After": "999999999" }],
    "a Retry-After with an invalid date": [503, {}, { "Retry-After": "Fri, 99 Foo 2026 GMT" }],
    "a Retry-After in the year 9999": [503, {}, { "Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT" }],
    "an unknown HTTP status": [599, {}],
    "a request ID that moves the terminal's cursor": [400, {}, { "X-Request-Id": "\u009b2J" }],
  };

/** Values that are invalid for every field. */
const odd: unknown[] = [undefined, {}, [[]], -1.5, "\u202e"];

/**
 * Returns variants of `honest`. In each variant, one field at any depth has an invalid value or is
 * missing.
 */
function* spoiled(honest: unknown, path: string): Generator<[string, unknown]> {
  if (typeof honest !== "object" || honest === null) return;
  for (const [name, value] of Object.entries(honest)) {
    const place = path === "" ? name : `${path}.${name}`;
    const copy = (changed: unknown): unknown =>
      Array.isArray(honest)
        ? honest.map((each, index) => (String(index) === name ? changed : each))
        : { ...honest, [name]: changed };
    for (const [index, changed] of odd.entries())
      yield [`${place} ${index === 0 ? "missing" : JSON.stringify(changed)}`, copy(changed)];
    for (const [inner, changed] of spoiled(value, place)) yield [inner, copy(changed)];
  }
}

/** Fields of free text, for which any text is valid. */
const free = new RegExp(
  "(^|\\.)(reason|name|symbol|looksLike|reference|claimedReference|recordUrl|id|next|message" +
    '|cure) "',
);

/** Fields that earlier versions of the service omit. */
const later = /(^|\.)(data\.(chainId|returned)|otherChainId) missing$/;

let server: Served;
let lie: Lie;

before(async () => {
  server = await serve((_, response) => lie(response));
});
after(() => server.close());

const newClient = () =>
  createClient({
    baseUrl: `${server.origin}/v1`,
    apiKey: credentials.apiKey,
    retriesMax: 0,
    timeoutMs,
  });

/** Calls all methods simultaneously. Each method must throw a ClientError within its timeout. */
async function expectTyped(kind: Lie, asked = Object.keys(methods)): Promise<void> {
  lie = kind;
  await Promise.all(
    asked.map((name) =>
      methods[name]!.ask(newClient()).then(
        (answer) => assert.fail(`${name} took it for ${JSON.stringify(answer)?.slice(0, 200)}`),
        (error) => {
          assert.ok(error instanceof ClientError, `${name}: ${error?.stack}`);
          assert.ok(error.message.length < 3000);
          if (error instanceof NetworkError && error.kind === "timeout")
            assert.match(error.message, late);
        },
      ),
    ),
  );
}

describe("every method throws a ClientError for", () => {
  for (const [name, kind] of Object.entries(connections))
    test(name, async () => {
      writtenBytes = 0;
      await expectTyped(kind);
      // Ten methods can each read two bodies of up to 4 MiB, or 80 MiB in total. The limit is
      // higher, because network buffers also accept data that the client never reads.
      assert.ok(writtenBytes < 256 << 20, `${writtenBytes} bytes were taken`);
    });
  for (const [name, text] of Object.entries(bodies)) test(name, () => expectTyped(body(text)));
  for (const [name, [status, answer, headers]] of Object.entries(refusals))
    test(name, () =>
      expectTyped((response) => {
        for (const [field, value] of Object.entries(headers ?? {}))
          response.setHeader(field, value);
        response.writeHead(status).end(JSON.stringify(answer));
      }),
    );
});

describe("invalid fields in responses", () => {
  for (const [name, { honest }] of Object.entries(methods)) {
    if (name === "watch") continue;
    test(`${name} throws a ClientError if its response contains an invalid field`, async () => {
      let lies = 0;
      for (const [what, answer] of spoiled(honest, "")) {
        if (free.test(what) && typeof (answer as object) === "object") continue;
        if (later.test(what)) continue;
        await expectTyped(body(JSON.stringify(answer)), [name]).catch((error) => {
          error.message = `${what}: ${error.message}`;
          throw error;
        });
        lies++;
      }
      assert.ok(lies >= 20, String(lies));
    });
  }
});
