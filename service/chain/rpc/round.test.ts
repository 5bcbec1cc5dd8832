import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { openChainRpc } from "./chain-rpc.ts";
import { httpEndpoint } from "./endpoint.ts";
import type { NetworkEvent } from "./endpoint-record.ts";
import { openNetwork } from "./network.ts";

const hash = `0x${"11".repeat(32)}`;
const block = { number: "0x5", hash, parentHash: hash, timestamp: "0x5", baseFeePerGas: "0x1" };

type Call = { id: number; method: string };
/**
 * How a test server answers one method. `answer` returns an HTTP status, a JSON-RPC error, or a
 * result.
 */
type Manner = { method: string; answer(response: ServerResponse): Promise<unknown> | unknown };

const balance = { method: "eth_getBalance", params: [] };

/**
 * Starts one server per entry of `manners`. Each server answers one method as its entry specifies,
 * and answers all other calls correctly. No endpoint counts as late before `endWaits(true)` is
 * called. After this call, an endpoint is late as soon as enough other endpoints have answered.
 */
async function openServers(
  context: TestContext,
  manners: readonly (Manner | undefined)[],
  isLateAtStart = false,
) {
  const events: NetworkEvent[] = [];
  let isLate = isLateAtStart;
  const sleep = () => (isLate ? Promise.resolve() : new Promise<void>(() => {}));
  const endWaits = (isEnded: boolean) => {
    isLate = isEnded;
  };
  const urls = await Promise.all(manners.map((manner) => serve(context, manner)));
  const endpoints = urls.map((url, index) => httpEndpoint(`${index}`, url, { timeoutMs: 60_000 }));
  const time = { clock: () => performance.now(), sleep };
  const network = openNetwork(1, endpoints, (event) => events.push(event), time);
  return { network, events, endWaits };
}

async function serve(context: TestContext, manner: Manner | undefined): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const calls = [JSON.parse(text)].flat() as Call[];
    const isSpecial = calls.some(({ method }) => method === manner?.method);
    const special = isSpecial ? await manner!.answer(response) : undefined;
    if (typeof special === "number") return response.writeHead(special).end();
    const isError = typeof special === "object" && special !== null && "error" in special;
    const answers = calls.map(({ id, method }) => {
      const said = method === manner?.method ? special : undefined;
      const answer = isError ? special : { result: said ?? honest(method) };
      return { jsonrpc: "2.0", id, ...answer };
    });
    return response.end(JSON.stringify(answers.length === 1 ? answers[0] : answers));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function honest(method: string): unknown {
  if (method === "eth_getBlockByNumber") return block;
  return method === "eth_chainId" ? "0x1" : "0x7";
}

/** Answers the first request with 429, and later requests only after `seen` resolves. */
function throttled(method: string, seen: Promise<void>): Manner {
  let asked = 0;
  return { method, answer: () => (asked++ === 0 ? 429 : seen.then(() => "0x9")) };
}

// In these tests, some endpoints answer only after the test has its result. A read that waits for
// such an endpoint ends only with this timeout.
const options = { timeout: 120_000 };

describe("readEach", options, () => {
  test("waits until two endpoints have answered, but not for a late third one", async (context) => {
    const first = Promise.withResolvers<void>();
    const seen = Promise.withResolvers<void>();
    const liar = (response: ServerResponse) => {
      response.once("finish", first.resolve);
      return "0xff";
    };
    const { network, endWaits } = await openServers(context, [
      { method: balance.method, answer: liar },
      { method: balance.method, answer: () => first.promise },
      { method: balance.method, answer: () => seen.promise },
    ]);
    const view = await network.openView();
    endWaits(true);
    const found = await view.readEach([balance]);
    assert.deepEqual(found, [[{ result: "0xff" }], [{ result: "0x7" }], undefined]);
    seen.resolve();
  });

  test("waits for an endpoint that answers shortly after a quorum", async (context) => {
    let finished = 0;
    const quorum = Promise.withResolvers<void>();
    const counted = (response: ServerResponse) => {
      response.once("finish", () => ++finished === 2 && quorum.resolve());
    };
    const fast = { method: balance.method, answer: counted };
    const slow = { method: balance.method, answer: () => quorum.promise.then(() => "0x9") };
    const { network } = await openServers(context, [slow, fast, fast]);
    const view = await network.openView();
    const [answer] = await view.readEach([balance]);
    assert.deepEqual(answer, [{ result: "0x9" }]);
  });

  test("waits for a rate-limited endpoint if the quorum needs its answer", async (context) => {
    const throttling = throttled(balance.method, Promise.resolve());
    const down = { method: balance.method, answer: () => 500 };
    const { network } = await openServers(context, [throttling, down, undefined]);
    const view = await network.openView();
    const found = await view.readEach([balance]);
    assert.deepEqual(found, [[{ result: "0x9" }], undefined, [{ result: "0x7" }]]);
  });

  test("does not count an error toward the quorum", async (context) => {
    const throttling = throttled(balance.method, Promise.resolve());
    const error = { code: -32601, message: "the method does not exist" };
    const refusing = { method: balance.method, answer: () => ({ error }) };
    const { network } = await openServers(context, [throttling, refusing, undefined]);
    const view = await network.openView();
    const found = await view.readEach([balance]);
    assert.deepEqual(found, [[{ result: "0x9" }], [{ error }], [{ result: "0x7" }]]);
  });

  test("does not wait for a rate-limited endpoint if a quorum has answered", async (context) => {
    const seen = Promise.withResolvers<void>();
    const manners = [throttled(balance.method, seen.promise), undefined, undefined];
    const { network, events } = await openServers(context, manners);
    const view = await network.openView();
    for (let time = 0; time < 2; time++) {
      const found = await view.readEach([balance]);
      assert.deepEqual(found, [undefined, [{ result: "0x7" }], [{ result: "0x7" }]]);
    }
    assert.deepEqual(events, [], "being throttled is not a failure");
    seen.resolve();
  });

  test("does not wait for a late endpoint, and records one failure for it", async (context) => {
    const seen = Promise.withResolvers<void>();
    const late = { method: balance.method, answer: () => seen.promise.then(() => 500) };
    const { network, events, endWaits } = await openServers(context, [late, undefined, undefined]);
    const view = await network.openView();
    endWaits(true);
    const [answer, ...others] = await view.readEach([balance]);
    assert.deepEqual([answer, others.length], [undefined, 2]);
    const failures = () => events.map(({ kind, ...rest }) => [kind, "rpc" in rest && rest.rpc]);
    assert.deepEqual(failures(), [["rpc_failed", "0"]]);
    seen.resolve();
    endWaits(false);
    await view.readEach([{ method: "eth_gasPrice", params: [] }]);
    assert.deepEqual(failures(), [["rpc_failed", "0"]]);
  });
});

describe("a read that needs a quorum of endpoints", options, () => {
  test("calls another endpoint while the first is rate-limited", async (context) => {
    const seen = Promise.withResolvers<void>();
    const manners = [throttled(balance.method, seen.promise), undefined, undefined];
    const { network, events } = await openServers(context, manners);
    const view = await network.openView();
    assert.deepEqual(await view.read([balance]), [{ result: "0x7" }]);
    assert.deepEqual(events, []);
    seen.resolve();
  });

  test("uses a late answer if the other two answers differ", async (context) => {
    const second = Promise.withResolvers<void>();
    const liar = { method: balance.method, answer: () => "0xff" };
    const late = { method: balance.method, answer: () => second.promise };
    const third = {
      method: balance.method,
      answer: (response: ServerResponse) => {
        response.once("finish", second.resolve);
      },
    };
    const { network, events, endWaits } = await openServers(context, [liar, late, third]);
    const view = await network.openView();
    endWaits(true);
    assert.deepEqual(await view.read([balance]), [{ result: "0x7" }]);
    assert.deepEqual(events, [{ kind: "rpc_differs", rpc: "0", method: balance.method }]);
  });

  test("waits for a rate-limited endpoint if there is no other endpoint", async (context) => {
    const manners = [throttled(balance.method, Promise.resolve())];
    const { network } = await openServers(context, manners);
    const view = await network.openView();
    assert.deepEqual(await view.read([balance]), [{ result: "0x9" }]);
  });
});

test("openChainRpc calls the next endpoint while the first is rate-limited", options, async (t) => {
  const seen = Promise.withResolvers<void>();
  const manners = [throttled(balance.method, seen.promise), undefined];
  const urls = await Promise.all(manners.map((manner) => serve(t, manner)));
  assert.equal(await openChainRpc(urls).request(balance.method, []), "0x7");
  seen.resolve();
});

test("openChainRpc calls an endpoint last for 15 s after its failure", options, async (t) => {
  let [nowMs, asked] = [0, 0];
  const answer = () => {
    asked++;
    return 500;
  };
  const manners = [{ method: balance.method, answer }, undefined];
  const urls = await Promise.all(manners.map((manner) => serve(t, manner)));
  const rpc = openChainRpc(urls, () => nowMs);
  const timesAsked = async () => {
    assert.equal(await rpc.request(balance.method, []), "0x7");
    return asked;
  };
  assert.equal(await timesAsked(), 1);
  nowMs = 14_999;
  assert.equal(await timesAsked(), 1);
  nowMs = 15_000;
  assert.equal(await timesAsked(), 2);
});

describe("opening a view of the chain", options, () => {
  for (const open of ["openView", "openNewView"] as const) {
    test(`${open} does not wait for a late endpoint`, async (context) => {
      const seen = Promise.withResolvers<void>();
      const method = "eth_getBlockByNumber";
      const late = { method, answer: () => seen.promise.then(() => block) };
      const manners = [late, undefined, undefined];
      const { network, events } = await openServers(context, manners, true);
      const view = await network[open]("0x00");
      assert.deepEqual([view!.head.hash, view!.isWhole], [hash, false]);
      assert.deepEqual(
        events.map(({ kind, ...rest }) => [kind, "rpc" in rest && rest.rpc]),
        [["rpc_failed", "0"]],
      );
      seen.resolve();
    });
  }

  test("openView waits for a late endpoint if only one endpoint has answered", async (context) => {
    const first = Promise.withResolvers<void>();
    const method = "eth_getBlockByNumber";
    const fast = (response: ServerResponse) => {
      response.once("finish", first.resolve);
      return block;
    };
    const manners = [
      { method, answer: () => first.promise.then(() => block) },
      { method, answer: fast },
    ];
    const { network } = await openServers(context, manners, true);
    const view = await network.openView();
    assert.deepEqual([view.isWhole, view.quorum], [true, 2]);
  });
});
