// Tests that a provider's rate limit only slows the executor down. Tests that one faulty endpoint
// does no harm if another endpoint works. Also tests that a payment needs few RPC calls.
// service/executor/test/simulator/idle.long.test.ts tests the RPC calls on an idle chain.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, describe, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { isHardhat } from "../../../contracts/testing/local-node.ts";
import { type Answer, ChainUnavailable } from "../../../service/chain/rpc/json-rpc.ts";
import type { Parts } from "../../../service/executor/pass.ts";
import { startCore } from "../../../service/testing/executor/executor.ts";
import {
  control,
  count,
  fatesOf,
  inNoTime,
  paceBlocks,
  prepareAttack,
  until,
  victim,
} from "./world.ts";

const attack = await prepareAttack();
const { world, store, recordOf, save, pay, fundedInBlock, goodPayments } = attack;

type Call = { id: number; method: string; params: unknown[] };
type Rejection = { status?: number; headers?: Record<string, string>; body?: unknown } | undefined;

/**
 * Starts an endpoint that forwards requests to the chain's node.
 * `refuse` may reject a request. `twist` may modify the response to a call.
 */
async function endpoint(
  refuse: (calls: Call[], bytes: number) => Rejection,
  twist: (call: Call, answer: object) => object = (_, answer) => answer,
) {
  const asked: string[] = [];
  let troubles = 0;
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text) as Call | Call[];
    const calls = [body].flat();
    asked.push(...calls.map(({ method }) => method));
    const rejection = refuse(calls, text.length);
    if (rejection) {
      troubles++;
      response.writeHead(rejection.status ?? 200, rejection.headers);
      response.end(rejection.body === undefined ? "" : JSON.stringify(rejection.body));
      return;
    }
    const init = { method: "POST", headers: { "content-type": "application/json" } };
    const sent = await fetch(world.rpcUrl, { ...init, body: JSON.stringify(calls) });
    const answers = ((await sent.json()) as { id: number }[]).map((answer) => {
      const twisted = twist(calls.find(({ id }) => id === answer.id)!, answer);
      if (twisted !== answer) troubles++;
      return twisted;
    });
    response.end(JSON.stringify(Array.isArray(body) ? answers : answers[0]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  after(stop);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, troubles: () => troubles, stop };
}

const honest = () => endpoint(() => undefined);
const error = (code: number, message: string) => ({ code, message });

/**
 * Makes `many` payments in one block. Returns the number of blocks until all are executed through
 * `urls`.
 */
async function blocksFor(context: TestContext, urls: string[], many: number): Promise<number> {
  const records = await fundedInBlock(many, victim);
  const from = await world.client.getBlockNumber();
  const paced = paceBlocks(attack, 200);
  // A transaction of five addresses is shorter than 15 kB, so it passes every endpoint's size
  // limit.
  const running = startCore(store, world.chains(urls), (core) =>
    paced(inNoTime({ ...core, tuning: { ...core.tuning, batchItemsMax: 5 } })),
  );
  context.after(running.stop);
  context.after(world.stopTicking);
  await until("all are executed", async () =>
    (await fatesOf(world, records)).every((fate) => fate.executed === 1),
  );
  const blocks = Number((await world.client.getBlockNumber()) - from);
  world.stopTicking();
  await running.stop();
  const ends = await store.db.selectFrom("anchors").select("number").execute();
  const head = Number(await world.client.getBlockNumber());
  assert.ok(
    ends.every(({ number }) => number <= head),
    "the cursor is beyond the head",
  );
  context.diagnostic(`${blocks} blocks`);
  return blocks;
}

/**
 * Makes three payments. Returns how many are executed through `urls` within ten passes of the
 * executor.
 */
async function executedSoon(
  context: TestContext,
  urls: string[],
  adapt: (core: Parts) => Parts = (core) => core,
): Promise<number> {
  const records = await fundedInBlock(3, victim);
  let passes = 0;
  const running = startCore(store, world.chains(urls), (core) => {
    const waitForPoll = (ms: number) => {
      passes++;
      return core.waitForPoll(ms);
    };
    return adapt(inNoTime({ ...core, waitForPoll }));
  });
  context.after(running.stop);
  await until("some passes have ended", async () => {
    await world.mine();
    return passes > 10;
  });
  await running.stop();
  await world.mine();
  return (await fatesOf(world, records)).filter(({ executed }) => executed === 1).length;
}

/**
 * A simplified executor for control tests. It sends all calls in one request, and fails if the
 * endpoint rejects the request.
 */
const inOneRequest =
  (url: string) =>
  (core: Parts): Parts => ({
    ...core,
    endpoints: core.endpoints.map(({ name }) => ({
      name,
      async ask(calls) {
        const body = calls.map((call, id) => ({ jsonrpc: "2.0", id, ...call }));
        const response = await fetch(url, { method: "POST", body: JSON.stringify(body) });
        const answers = (await response.json()) as (Answer & { id: number })[];
        if (!Array.isArray(answers)) throw new ChainUnavailable("refused");
        return body.map(({ id }) => answers.find((answer) => answer.id === id)!);
      },
    })),
  });

/**
 * Returns a function that decides whether a request exceeds a limit of 20 calls per second. Before
 * its first rejection, the function counts all calls, so that even a slow machine exceeds the
 * limit.
 */
function twentyASecond() {
  let sent: number[] = [];
  let hasRefused = false;
  return (calls: number) => {
    if (hasRefused) sent = sent.filter((at) => performance.now() - at < 1000);
    const isOver = sent.length + calls > 20;
    hasRefused ||= isOver;
    if (!isOver) sent.push(...Array.from({ length: calls }, () => performance.now()));
    return isOver;
  };
}

const tooMany = error(-32600, "batch of too many calls");

// This test runs first, because calls for other tests' addresses would also be counted.
describe("the executor's RPC calls for one payment", () => {
  test("are at most 14, excluding calls that read new blocks", async (context) => {
    const { url, asked } = await honest();
    const running = startCore(store, world.chains([url]), (core) =>
      inNoTime({ ...core, tuning: { ...core.tuning, recordsPerPass: 0 } }),
    );
    context.after(running.stop);
    await world.mine();
    const [record] = [await recordOf()];
    await save([record], victim);
    await until("it has begun", async () => running.events.some(({ kind }) => kind === "pass"));
    await sleep(1000);
    const from = asked.length;
    await pay([record]);
    await world.mine();
    await until("it is sent", async () => running.events.some(({ kind }) => kind === "sent"));
    await world.mine();
    await until("it is settled", async () =>
      running.events.some(({ kind }) => kind === "executed"),
    );
    await sleep(1000);
    await running.stop();
    // The executor requests one more block to check that the receipt's block is still canonical.
    const ofHeads = ["eth_getBlockByNumber", "eth_getLogs"];
    const all = asked.slice(from);
    // Until the transaction is mined, each pass reads the nonce again. On a slow machine there are
    // more passes before the test mines the block.
    const nonce = "eth_getTransactionCount";
    const work = all
      .filter((method) => !ofHeads.includes(method))
      .filter((method, at, others) => method !== nonce || others[at - 1] !== nonce);
    context.diagnostic(`${work.length}: ${work}, and ${all.length - work.length} of heads`);
    // The executor tries up to three variants of a gas estimate request. hardhat rejects two
    // variants, so the executor may send two more requests.
    const refused = isHardhat ? 2 : 0;
    assert.ok(work.length <= 14 + refused, `${work.length}: ${work}`);
  });
});

const payments = count(30, 60);
const blocksMax = 60;

describe(`${payments} payments through an RPC provider with limits`, () => {
  const limits: Record<string, () => Parameters<typeof endpoint>> = {
    "returns 413 for more than 4 calls": () => [
      ({ length }) => (length > 4 ? { status: 413 } : undefined),
    ],
    "returns 413 for more than 15 kB": () => [
      (_, bytes) => (bytes > 15_000 ? { status: 413 } : undefined),
    ],
    "returns one error for a batch of more than 4 calls": () => [
      ({ length }) =>
        length > 4 ? { body: { jsonrpc: "2.0", id: null, error: tooMany } } : undefined,
    ],
    "returns a list with one error for a batch of more than 4 calls": () => [
      ({ length }) =>
        length > 4 ? { body: [{ jsonrpc: "2.0", id: null, error: tooMany }] } : undefined,
    ],
    "rejects batches": () => [
      ({ length }) =>
        length > 1 ? { body: { jsonrpc: "2.0", id: null, error: tooMany } } : undefined,
    ],
    "returns 429 and Retry-After above 20 calls per second": () => {
      const isOver = twentyASecond();
      return [
        ({ length }) =>
          isOver(length) ? { status: 429, headers: { "retry-after": "1" } } : undefined,
      ];
    },
    "returns error 429 for each call above 20 per second": () => {
      const isOver = twentyASecond();
      return [
        () => undefined,
        ({ id }, answer) =>
          isOver(1) ? { jsonrpc: "2.0", id, error: error(429, "too many requests") } : answer,
      ];
    },
    "fails every tenth call": () => {
      let answered = 0;
      return [
        () => undefined,
        ({ id }, answer) =>
          ++answered % 10 === 0
            ? { jsonrpc: "2.0", id, error: error(-32603, "Internal error") }
            : answer,
      ];
    },
  };
  for (const [name, parts] of Object.entries(limits)) {
    test(`all payments are executed even if the provider ${name}`, async (context) => {
      const { url, troubles } = await endpoint(...parts());
      assert.ok((await blocksFor(context, [url], payments)) <= blocksMax);
      assert.ok(troubles() > 0, "it refused nothing");
    });
  }
});

const ahead = (call: Call, answer: object) => {
  const block = (answer as { result?: { number?: string } }).result;
  if (call.method !== "eth_getBlockByNumber" || call.params[0] !== "latest" || !block)
    return answer;
  const number = `0x${(Number(block.number) + 1000).toString(16)}`;
  return { ...answer, result: { ...block, number, hash: `0x${"ab".repeat(32)}` } };
};
const empty = (call: Call, answer: object) => {
  const { result } = answer as { result?: string };
  if (call.method !== "eth_call" || !result || result.length < 130) return answer;
  const words = result.slice(130).length / 256;
  const nothing = `${"0".repeat(128)}${"0".repeat(63)}1${"0".repeat(64)}`;
  return { ...answer, result: result.slice(0, 130) + nothing.repeat(words) };
};
const kinds: Record<string, () => Promise<{ url: string }>> = {
  "is down": async () => {
    const gone = await honest();
    gone.stop();
    return gone;
  },
  "reports a newest block that is 1,000 too high": () => endpoint(() => undefined, ahead),
  "reports that all addresses are empty": () => endpoint(() => undefined, empty),
};

describe("one faulty endpoint among two or three endpoints", () => {
  for (const [name, open] of Object.entries(kinds)) {
    for (const others of [1, 2]) {
      test(`payments succeed even if 1 of ${others + 1} endpoints ${name}`, async (context) => {
        const bad = await open();
        const good = await Promise.all(Array.from({ length: others }, honest));
        const urls = [bad.url, ...good.map(({ url }) => url)];
        assert.ok((await blocksFor(context, urls, count(5, 20))) <= 20);
      });
    }
  }
});

describe("new blocks by WebSocket", () => {
  test("payments are executed even if no WebSocket endpoint is reachable", async (context) => {
    world.startTicking(200);
    context.after(world.stopTicking);
    const wsUrls = [world.rpcUrl.replace("http", "ws"), "ws://127.0.0.1:1"];
    const running = startCore(store, world.chains([world.rpcUrl], { wsUrls }));
    context.after(running.stop);
    await goodPayments(3);
    await running.stop();
    const without = startCore(store, world.chains([world.rpcUrl], { wsUrls: wsUrls.slice(1) }));
    context.after(without.stop);
    await goodPayments(3);
    await without.stop();
  });
});

// This suite runs last, because its executor has no honest endpoint. Wrong responses can then move
// the executor's cursor (the last scanned block) beyond the newest block.
describe("an executor that has only a faulty endpoint", control, () => {
  test("control: no payment is executed if the endpoint rejects every batch", async (context) => {
    const good = await honest();
    assert.equal(await executedSoon(context, [good.url], inOneRequest(good.url)), 3);
    const { url } = await endpoint(({ length }) =>
      length > 1 ? { body: { jsonrpc: "2.0", id: null, error: tooMany } } : undefined,
    );
    assert.equal(await executedSoon(context, [url], inOneRequest(url)), 0);
  });

  for (const [name, open] of Object.entries(kinds)) {
    test(`control: no payment is executed if the endpoint ${name}`, async (context) => {
      const { url } = await open();
      assert.equal(await executedSoon(context, [url]), 0);
    });
  }
});
