// Tests how the client watches an address if the server supports, refuses, or interrupts event
// streams.

import assert from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { after, before, beforeEach, describe, test } from "node:test";
import { makeRecord } from "../../index.ts";
import { type AddressState, addressStates } from "../../status/shape.ts";
import { statusOf } from "../../test/answers.ts";
import { sample, shop } from "../../test/samples.ts";
import { type Served, serve } from "../../test/serve.ts";
import { createClient, ServiceError, UnprovenError, WaitError } from "../client.ts";

const { address } = makeRecord(sample);
const type = { "Content-Type": "text/event-stream; charset=utf-8" };

let server: Served;
let seen: { url: string; lastId: string | undefined }[] = [];
/** The responses to the next requests, in order. The last response is repeated. */
let turns: ((response: ServerResponse, request: IncomingMessage) => void)[] = [];

before(async () => {
  server = await serve((request, response) => {
    const lastId = request.headers["last-event-id"];
    seen.push({ url: request.url!, lastId: typeof lastId === "string" ? lastId : undefined });
    const turn = turns.length > 1 ? turns.shift() : turns[0];
    turn!(response, request);
  });
});
after(() => server.close());
beforeEach(() => {
  seen = [];
  turns = [];
});

const client = () => createClient({ baseUrl: `${server.origin}/v1`, retriesMax: 0 });
const eventOf = (state: AddressState, id = "1.a") =>
  `id: ${id}\nevent: status\ndata: ${JSON.stringify(statusOf(address, state))}\n\n`;

const streaming =
  (...parts: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, type);
    for (const part of parts) response.write(part);
  };
const ending =
  (...parts: string[]) =>
  (response: ServerResponse) => {
    response.writeHead(200, type);
    response.end(parts.join(""));
  };
const answering = (body: unknown, status: number) => (response: ServerResponse) => {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(body));
};
const telling = (state: AddressState) => answering(statusOf(address, state), 200);
const refusing = (status: number, code: string) =>
  answering({ error: { code, message: "why", issues: [] } }, status);

/** Returns the next `count` states that the client reports. */
async function states(count: number): Promise<string[]> {
  const found: string[] = [];
  for await (const { state } of client().watch(address, { pollMs: 1 })) {
    found.push(state);
    if (found.length === count) break;
  }
  return found;
}

describe("client.watch", () => {
  test("`watch` throws `not_found` if the service has no record", async () => {
    turns = [refusing(404, "not_found")];
    await assert.rejects(
      client().watch(address).next(),
      (error) => error instanceof ServiceError && error.code === "not_found",
    );
  });

  test("`watch` throws `UnprovenError` if an event is not about the address", async () => {
    const other = JSON.stringify(statusOf(shop, "funded"));
    for (const data of [other, "{}", "no JSON", "null"]) {
      turns = [streaming(`event: status\ndata: ${data}\n\n`)];
      await assert.rejects(client().watch(address).next(), UnprovenError);
    }
  });

  test("`watch` yields the status only when it changes, not for every block", async () => {
    const later = {
      ...statusOf(address, "unfunded"),
      block: { ...statusOf(address, "funded").block, number: 8 },
    };
    const same = `event: status\ndata: ${JSON.stringify(later)}\n\n`;
    turns = [
      streaming(
        "retry: 2000\n\n",
        eventOf("unfunded"),
        ": still here\n\n",
        same,
        eventOf("funded"),
      ),
    ];
    assert.deepEqual(await states(2), ["unfunded", "funded"]);
    assert.deepEqual(
      seen.map(({ url }) => url),
      [`/v1/address/${address}/events`],
    );
  });

  test("`watch` parses events with any line breaks, even if split across chunks", async () => {
    const both = eventOf("unfunded").replaceAll("\n", "\r\n");
    const text = `: hello\r\n\r\n${both}${eventOf("funded").replaceAll("\n", "\r")}`;
    turns = [
      (response) => {
        response.writeHead(200, type);
        const bytes = Buffer.from(text + eventOf("executed"));
        for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
      },
    ];
    assert.deepEqual(await states(3), ["unfunded", "funded", "executed"]);
  });

  test("if a stream ends, `watch` opens a new one and resumes after the last event", async () => {
    turns = [ending(eventOf("unfunded", "7.x")), streaming(eventOf("funded", "8.y"))];
    assert.deepEqual(await states(2), ["unfunded", "funded"]);
    assert.deepEqual(
      seen.map(({ lastId }) => lastId),
      [undefined, "7.x"],
    );
  });

  test("`watch` polls the status if the stream fails", async () => {
    for (const refusal of [
      refusing(503, "service_unavailable"),
      answering({}, 200),
      (response: ServerResponse) => response.destroy(),
    ]) {
      seen = [];
      turns = [refusal, telling("unfunded"), telling("unfunded"), telling("funded")];
      assert.deepEqual(await states(2), ["unfunded", "funded"]);
      assert.equal(seen[1]?.url, `/v1/address/${address}/status`);
      assert.equal(seen.length, 4);
    }
  });

  test("`watch` polls the status if an event is too long", async () => {
    turns = [streaming(`data: ${"x".repeat(3_000_000)}`), telling("funded")];
    assert.deepEqual(await states(1), ["funded"]);
  });

  test("`watch` throws the abort reason if the caller aborts", async () => {
    turns = [streaming(eventOf("unfunded"))];
    const reason = new Error("enough");
    const controller = new AbortController();
    const watching = client().watch(address, { signal: controller.signal });
    await watching.next();
    const next = watching.next();
    controller.abort(reason);
    await assert.rejects(next, reason);
  });

  test("`watch` throws `TypeError` for an invalid `pollMs`", async () => {
    await assert.rejects(client().watch(address, { pollMs: Number.NaN }).next(), {
      name: "TypeError",
      message: "pollMs: expected an integer from 1 to 86400000, found NaN",
    });
  });
});

describe("client.waitFor", () => {
  test("`waitFor` throws if the address can never reach the state", async () => {
    const cases: [AddressState, AddressState][] = [
      ["recovered", "executed"],
      ["expired", "executed"],
      ["executed", "recovered"],
      ["executed", "funded"],
    ];
    for (const [found, wanted] of cases) {
      turns = [streaming(eventOf(found))];
      const error = await client()
        .waitFor(address, wanted)
        .catch((error) => error);
      assert.ok(error instanceof WaitError && error.reason === "never", String(error));
      assert.equal(error.status?.state, found);
      assert.equal(error.message, `${address} is ${found} and can never be ${wanted}`);
    }
  });

  test("`waitFor` throws after `timeoutMs`", async () => {
    turns = [streaming(eventOf("unfunded"))];
    const error = await client()
      .waitFor(address, "executed", { timeoutMs: 200 })
      .catch((error) => error);
    assert.ok(error instanceof WaitError && error.reason === "timeout", String(error));
    assert.equal(error.message, `${address} is not executed after 200 ms`);
  });

  test("`waitFor` throws `TypeError` for an unknown state", async () => {
    const known = addressStates.join(", ");
    for (const [wanted, found] of [
      ["paid", '["paid"]'],
      [["funded", "paid"], '["funded","paid"]'],
      [[undefined], "[null]"],
      [[], "[]"],
    ] as const) {
      const message = `state: expected one or more of ${known}, found ${found}`;
      const waiting = client().waitFor(address, wanted as never);
      await assert.rejects(waiting, { name: "TypeError", message });
    }
  });

  test("`waitFor` throws `TypeError` if a proof of the state `funded` is requested", async () => {
    const waiting = client().waitFor(address, "funded", {
      proof: { rpcs: ["http://127.0.0.1:9"] },
    });
    const message =
      "state: expected a provable state (executed or recovered or expired), found funded";
    await assert.rejects(waiting, { name: "TypeError", message });
  });

  test("`waitFor` throws `TypeError` for an invalid time, with and without `proof`", async () => {
    const proof = { rpcs: ["http://127.0.0.1:9"] };
    for (const options of [{}, { proof }])
      for (const name of ["pollMs", "timeoutMs"])
        for (const value of [0, Number.NaN, 86_400_001]) {
          const waiting = client().waitFor(address, "executed", { ...options, [name]: value });
          const message = `${name}: expected an integer from 1 to 86400000, found ${value}`;
          await assert.rejects(waiting, { name: "TypeError", message });
        }
    assert.deepEqual(seen, []);
  });

  test("`waitFor` throws if the status is not proved within `timeoutMs`", async () => {
    turns = [
      (response, { url }) =>
        url!.endsWith("/events")
          ? streaming(eventOf("executed"))(response)
          : answering(makeRecord(sample), 200)(response),
    ];
    const proof = { rpcs: ["http://127.0.0.1:9"] };
    const error = await client()
      .waitFor(address, "executed", { proof, timeoutMs: 300 })
      .catch((error) => error);
    assert.ok(error instanceof WaitError && error.reason === "timeout", String(error));
    assert.equal(error.message, "expected a proof of executed within 300 ms, found none");
    assert.equal(error.status?.state, "executed");
  });

  test("`waitFor` returns the first status with a requested state", async () => {
    turns = [streaming(eventOf("unfunded"), eventOf("funded"), eventOf("executed"))];
    const { state, execution } = await client().waitFor(address, ["executed", "recovered"]);
    assert.equal(state, "executed");
    assert.equal(execution?.held, "1000000");
  });
});
