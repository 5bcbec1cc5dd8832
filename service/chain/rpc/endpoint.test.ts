import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, test } from "node:test";
import { httpEndpoint } from "./endpoint.ts";

type Call = { id: number; method: string };

describe("a JSON-RPC endpoint over HTTP", () => {
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

  for (const [what, given, message] of [
    ["an error status", 500, "one answered 500"],
    ["a limit", 429, "one allows no more calls for 1000 ms"],
    ["silence", undefined, "one: The operation was aborted due to timeout"],
    ["neither result nor error", [{ id: 0 }, { id: 1 }, { id: 2 }], "one left a unanswered"],
  ] as const) {
    test(`${what} is the endpoint's failure, and its URL is not told`, async () => {
      answer = () => given;
      await assert.rejects(httpEndpoint("one", url, { timeoutMs: 200 }).ask(calls), {
        name: "ChainUnavailable",
        message,
      });
    });
  }

  test("a response without end is cut at 32 MB, and is the endpoint's failure", async () => {
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

  test("user and password of the URL are sent, percent-encoded or not", async () => {
    answer = (body) => [body].flat().map(echo)[0];
    const sent: (string | undefined)[] = [];
    server.prependListener("request", ({ headers }) => sent.push(headers.authorization));
    const withUser = url.replace("http://", "http://us%40er:p:w@");
    for (const each of [withUser, url]) {
      await httpEndpoint("one", each, { timeoutMs: 1000 }).ask(calls.slice(0, 1));
    }
    assert.deepEqual(sent, [`Basic ${Buffer.from("us@er:p:w").toString("base64")}`, undefined]);
  });

  test("a missing answer is asked for again; missing for good, that is a failure", async () => {
    const asked: string[] = [];
    answer = (body) => {
      const batch = [body].flat();
      asked.push(batch.map(({ method }) => method).join(""));
      const told = batch.filter(({ method }) => method !== "b" || asked.length > 1).map(echo);
      return Array.isArray(body) ? told : told[0];
    };
    const endpoint = httpEndpoint("one", url, { timeoutMs: 1000 });
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
      ...{ name: "ChainUnavailable", message: `one left ${method} unanswered` },
    });
    await assert.rejects(endpoint.ask(calls), failure("b"));
    answer = (body) => [body].flat().slice(0, 1).map(echo);
    await assert.rejects(endpoint.ask([...calls, ...calls]), failure("b"));
  });

  test("ChainUnavailable for an answer of more than 32 MiB", async () => {
    answer = () => "x".repeat(2 ** 25);
    await assert.rejects(httpEndpoint("one", url, { timeoutMs: 30_000 }).ask(calls), {
      name: "ChainUnavailable",
      message: /a response above 33554432 bytes/,
    });
  });

  test("an error of one call is that call's answer", async () => {
    const error = { code: 3, message: "execution reverted", data: "0x01" };
    answer = (batch) =>
      (batch as Call[]).map((call) => (call.id === 1 ? { id: 1, error } : echo(call)));
    const answers = await httpEndpoint("one", url, { timeoutMs: 1000 }).ask(calls);
    assert.deepEqual(answers, [{ result: "a" }, { error }, { result: "c" }]);
  });

  test("answers in any order are put in the order of their calls", async () => {
    answer = (batch) => (batch as Call[]).map(echo).reverse();
    const answers = await httpEndpoint("one", url, { timeoutMs: 1000 }).ask(calls);
    assert.deepEqual(answers, [{ result: "a" }, { result: "b" }, { result: "c" }]);
  });

  test("one that refuses batches is asked call by call from then on", async () => {
    let batches = 0;
    answer = (body) => {
      if (!Array.isArray(body)) return echo(body);
      batches++;
      return { jsonrpc: "2.0", id: null, error: { code: -32600, message: "no batches" } };
    };
    const rpc = httpEndpoint("one", url, { timeoutMs: 1000 });
    for (let round = 0; round < 3; round++) {
      const answers = await rpc.ask(calls);
      assert.deepEqual(answers, [{ result: "a" }, { result: "b" }, { result: "c" }]);
    }
    assert.ok(batches <= 2, "a batch of three, then one of one");
  });
});
