import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, test } from "node:test";
import { httpEndpoint, openEndpoint, type Response, type Transport } from "./endpoint.ts";
import type { Answer } from "./json-rpc.ts";
import { openPace } from "./pace.ts";

type Call = { id: number; method: string };

describe("httpEndpoint", () => {
  let server: Server;
  let url: string;
  let answer: (calls: Call | Call[]) => unknown;

  beforeEach(async () => {
    server = createServer(async (request, response) => {
      let text = "";
      for await (const chunk of request) text += chunk;
      const body = answer(JSON.parse(text));
      if (typeof body === "number") response.writeHead(body).end();
      else if (body !== undefined) response.end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/secret-key`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const calls = ["a", "b", "c"].map((method) => ({ method, params: [] }));
  const echo = ({ id, method }: Call) => ({ jsonrpc: "2.0", id, result: method });

  // The case "a missing response" has a short timeout, because the test waits until it expires. In
  // the other cases, the timeout must not expire even on a slow machine.
  for (const [what, given, message, timeoutMs] of [
    ["an error status", 500, "one answered with status 500", 60_000],
    ["a rate limit", 429, /^one allows no more calls for \d+ ms$/, 60_000],
    ["a missing response", undefined, "one: The operation was aborted due to timeout", 200],
    [
      "answers without a result or an error",
      [{ id: 0 }, { id: 1 }, { id: 2 }],
      "one returned no answer to a",
      60_000,
    ],
  ] as const) {
    test(`does not show the URL in the error for ${what}`, async () => {
      answer = () => given;
      // In the case "a rate limit", the required wait must exceed `patienceMs`. In the other cases,
      // no wait may exceed `patienceMs`, even on a slow machine.
      const options = { timeoutMs, patienceMs: given === 429 ? 500 : 60_000 };
      await assert.rejects(httpEndpoint("one", url, options).ask(calls), {
        name: "ChainUnavailable",
        message,
      });
    });
  }

  test("names the system error of a refused connection, but not the URL", async () => {
    server.close();
    await assert.rejects(httpEndpoint("one", url, { timeoutMs: 60_000 }).ask(calls), {
      name: "ChainUnavailable",
      message: "one: fetch failed (ECONNREFUSED)",
    });
  });

  test("aborts an endless response at 32 MiB and throws", async () => {
    let sent = 0;
    server.removeAllListeners("request");
    server.on("request", (request, response) => {
      request.resume();
      const chunk = Buffer.alloc(2 ** 20, 0x20);
      const more = () => {
        while (!response.destroyed && sent < 2 ** 30) {
          sent += chunk.length;
          if (!response.write(chunk)) return response.once("drain", more);
        }
        return response.end();
      };
      more();
    });
    await assert.rejects(httpEndpoint("one", url, { timeoutMs: 20_000 }).ask(calls), /33554432/);
    assert.ok(sent < 2 ** 27, `${sent} bytes were taken`);
  });

  test("sends the user name and password of a URL in a header", async () => {
    answer = (body) => [body].flat().map(echo)[0];
    const sent: (string | undefined)[] = [];
    server.prependListener("request", ({ headers }) => sent.push(headers.authorization));
    const withUser = url.replace("http://", "http://us%40er:p:w@");
    for (const each of [withUser, url]) {
      await httpEndpoint("one", each, { timeoutMs: 60_000 }).ask(calls.slice(0, 1));
    }
    assert.deepEqual(sent, [`Basic ${Buffer.from("us@er:p:w").toString("base64")}`, undefined]);
  });

  test("repeats only unanswered calls, and throws if an answer is still missing", async () => {
    const asked: string[] = [];
    answer = (body) => {
      const batch = [body].flat();
      asked.push(batch.map(({ method }) => method).join(""));
      const answered = batch.filter(({ method }) => method !== "b" || asked.length > 1).map(echo);
      return Array.isArray(body) ? answered : answered[0];
    };
    const endpoint = httpEndpoint("one", url, { timeoutMs: 60_000 });
    assert.deepEqual(await endpoint.ask(calls, 999.5), [
      { result: "a" },
      { result: "b" },
      { result: "c" },
    ]);
    assert.deepEqual(asked, ["abc", "b"]);
    answer = (body) =>
      [body]
        .flat()
        .map(echo)
        .filter(({ result }) => result !== "b");
    const failure = (method: string) => ({
      ...{ name: "ChainUnavailable", message: `one returned no answer to ${method}` },
    });
    await assert.rejects(endpoint.ask(calls), failure("b"));
    answer = (body) => [body].flat().slice(0, 1).map(echo);
    await assert.rejects(endpoint.ask([...calls, ...calls]), failure("b"));
  });

  test("throws `ChainUnavailable` for a response above 32 MiB", async () => {
    answer = () => "x".repeat(2 ** 25);
    await assert.rejects(httpEndpoint("one", url, { timeoutMs: 30_000 }).ask(calls), {
      name: "ChainUnavailable",
      message: /^one: expected a response of at most 33554432 bytes, found at least \d{8}$/,
    });
  });

  test("returns the results of a batch even if one of its calls has an error", async () => {
    const error = { code: 3, message: "execution reverted", data: "0x01" };
    answer = (batch) =>
      (batch as Call[]).map((call) => (call.id === 1 ? { id: 1, error } : echo(call)));
    const answers = await httpEndpoint("one", url, { timeoutMs: 60_000 }).ask(calls);
    assert.deepEqual(answers, [{ result: "a" }, { error }, { result: "c" }]);
  });

  test("shortens the message of an error to 2,000 characters", async () => {
    const error = { code: 3, message: "a.".repeat(500_000) };
    answer = (batch) => (batch as Call[]).map(({ id }) => ({ id, error }));
    const [answered] = await httpEndpoint("one", url, { timeoutMs: 60_000 }).ask(calls);
    const shortened = { code: 3, message: "a.".repeat(1_000) };
    assert.deepEqual(answered, { error: shortened });
  });

  test("returns the answers in the order of the calls", async () => {
    answer = (batch) => (batch as Call[]).map(echo).reverse();
    const answers = await httpEndpoint("one", url, { timeoutMs: 60_000 }).ask(calls);
    assert.deepEqual(answers, [{ result: "a" }, { result: "b" }, { result: "c" }]);
  });

  test("sends single calls to an endpoint that refuses batches", async () => {
    let batches = 0;
    answer = (body) => {
      if (!Array.isArray(body)) return echo(body);
      batches++;
      return { jsonrpc: "2.0", id: null, error: { code: -32600, message: "no batches" } };
    };
    const rpc = httpEndpoint("one", url, { timeoutMs: 60_000 });
    for (let round = 0; round < 3; round++) {
      const answers = await rpc.ask(calls);
      assert.deepEqual(answers, [{ result: "a" }, { result: "b" }, { result: "c" }]);
    }
    assert.ok(batches <= 2, "a batch of three, then one of one");
  });
});

type Answering = (calls: readonly { method: string }[]) => Partial<Response> | Answer[];

/** An endpoint with a simulated clock and transport. Time passes only while the endpoint sleeps. */
function onVirtualClock(answer: Answering, callsPerSecond?: number) {
  const clock = { ms: 0, sleeps: [] as number[] };
  const requests: { atMs: number; methods: string[] }[] = [];
  const transport: Transport = async (calls) => {
    requests.push({ atMs: clock.ms, methods: calls.map(({ method }) => method) });
    clock.ms += 3;
    const given = answer(calls);
    const response = { status: 200, retryAfter: "", date: "", body: undefined };
    if (!Array.isArray(given)) return { ...response, ...given };
    return { ...response, body: given.map((each, id) => ({ id, ...each })) };
  };
  const pace = openPace(() => clock.ms, callsPerSecond);
  const time = {
    now: () => clock.ms,
    async sleep(ms: number) {
      clock.ms += ms;
    },
  };
  const options = { timeoutMs: 4000 };
  const endpoint = openEndpoint({ name: "one", transport, pace }, time, options);
  return { ask: endpoint.ask, clock, pace, requests };
}

const call = (method: string) => ({ method, params: [] });
const many = (count: number, method = "eth_call") =>
  Array.from({ length: count }, () => call(method));
const fine: Answering = (calls) => calls.map(({ method }) => ({ result: method }));

describe("the rate limit of a provider", () => {
  for (const reason of ["429 Too Many Requests", "rate limit exceeded", "internal error"]) {
    test(`is not changed by a revert with the reason "${reason}"`, async () => {
      const message = `execution reverted: ${reason}`;
      const data = "0x08c379a0";
      const { ask, clock, requests } = onVirtualClock((calls) =>
        calls.map(({ method }) =>
          method === "eth_estimateGas" ? { error: { code: 3, message, data } } : { result: "0x" },
        ),
      );
      const answers = await ask([call("eth_estimateGas")]);
      assert.deepEqual(answers, [{ error: { code: 3, message, data } }]);
      for (let index = 0; index < 40; index++) await ask([call("eth_call")]);
      assert.deepEqual(
        [requests.length, clock.ms],
        [41, 41 * 3],
        "nothing was sent again or waited",
      );
    });
  }

  test("stays at 25 calls per second or more after one refusal", async () => {
    let isLimited = true;
    const { ask, clock, pace } = onVirtualClock((calls) => {
      if (!isLimited) return fine(calls);
      isLimited = false;
      return { status: 429 };
    });
    await ask([call("eth_call")]);
    assert.ok(pace.read().callsPerSecond! >= 25);
    const beganMs = clock.ms;
    for (let index = 0; index < 100; index++) await ask([call("eth_call")]);
    assert.ok(clock.ms - beganMs < 5000, `${clock.ms - beganMs} ms for 100 calls`);
  });

  test("falls to 70 % of the average rate after a 429, and grows with each success", async () => {
    let isLimited = false;
    const { ask, clock, pace } = onVirtualClock((calls) => {
      if (!isLimited) return fine(calls);
      isLimited = false;
      return { status: 429 };
    });
    for (let second = 0; second < 10; second++) {
      await ask(many(100));
      clock.ms += 990;
    }
    // One second passes without calls. Therefore the average of the last ten seconds is 90 calls
    // per second.
    clock.ms += 1000;
    isLimited = true;
    await ask([call("eth_call")]);
    const { callsPerSecond } = pace.read();
    assert.ok(callsPerSecond! > 60 && callsPerSecond! < 75, `${callsPerSecond}`);
    for (let index = 0; index < 10; index++) await ask([call("eth_call")]);
    assert.equal(pace.read().callsPerSecond, callsPerSecond! + 10);
  });

  for (const retryAfter of ["86400", "Fri, 01 Jan 2099 00:00:00 GMT"]) {
    test(`pauses calls for only a minute after "Retry-After: ${retryAfter}"`, async () => {
      let isLimited = true;
      const date = "Thu, 26 Nov 2026 00:00:00 GMT";
      const { ask, clock, pace, requests } = onVirtualClock((calls) =>
        isLimited ? { status: 429, retryAfter, date } : fine(calls),
      );
      await assert.rejects(ask([call("eth_call")]), /allows no more calls for \d+ ms/);
      assert.ok(pace.read().pausedMs > 59_000);
      isLimited = false;
      clock.ms += 60_000;
      const answers = await ask(many(5));
      assert.equal(answers.length, 5);
      const [, probe, rest] = requests;
      assert.deepEqual([probe!.methods.length, rest!.methods.length], [1, 4], "one call probes");
      assert.equal(pace.read().pausedMs, 0);
    });
  }

  test("never exceeds the operator's limit", async () => {
    const { ask, clock, pace } = onVirtualClock(fine, 5);
    for (let index = 0; index < 26; index++) await ask([call("eth_call")]);
    assert.ok(clock.ms >= 5000, `${clock.ms} ms for 26 calls`);
    assert.equal(pace.read().callsPerSecond, 5);
  });

  test("slows only log queries after a log query gets a `too many requests` error", async () => {
    const error = { code: -32000, message: "too many requests" };
    const { ask, clock, requests } = onVirtualClock((calls) =>
      calls.map(({ method }) => (method === "eth_getLogs" ? { error } : { result: method })),
    );
    const [answer] = await ask([call("eth_getLogs")]);
    assert.deepEqual(answer, { error });
    assert.equal(requests.length, 1);
    for (let index = 0; index < 40; index++) await ask([call("eth_call")]);
    assert.equal(clock.ms, 41 * 3);
  });

  test("slows only log queries after a log query gets a 429 response", async () => {
    const { ask, clock, requests } = onVirtualClock((calls) =>
      calls.some(({ method }) => method === "eth_getLogs") ? { status: 429 } : fine(calls),
    );
    const error = { code: 429, message: "one answered with status 429" };
    assert.deepEqual(await ask([call("eth_getLogs")]), [{ error }]);
    for (let index = 0; index < 40; index++) await ask([call("eth_call")]);
    assert.deepEqual([requests.length, clock.ms], [41, 41 * 3]);
  });
});

describe("openEndpoint", () => {
  test("accepts response IDs that are strings", async () => {
    const { ask } = onVirtualClock((calls) => ({
      body: calls.map(({ method }, id) => ({ id: String(id), result: method })),
    }));
    assert.deepEqual(await ask([call("a"), call("b")]), [{ result: "a" }, { result: "b" }]);
    assert.deepEqual(await ask([call("a")]), [{ result: "a" }]);
  });

  test("retries a call if the node answers that a header was not found", async () => {
    let asked = 0;
    const { ask } = onVirtualClock((calls) =>
      calls.map(({ method }) =>
        asked++ % 5 < 2
          ? { error: { code: -32000, message: "header not found" } }
          : { result: method },
      ),
    );
    const answers = await ask(many(20));
    assert.ok(answers.every((answer) => "result" in answer));
  });
});
