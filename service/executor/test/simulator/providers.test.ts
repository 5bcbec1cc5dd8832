// Tests providers with a permanent fault. Payments are still executed, and fees are not higher than
// necessary. The faults are injected into the transport, so batches and rate limits are real.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Hex } from "executable-address";
import { onlyLong } from "../../../../scripts/long.ts";
import type { Endpoint, Response } from "../../../chain/rpc/endpoint.ts";
import type { Answer, Call } from "../../../chain/rpc/json-rpc.ts";
import type { ExecutorEvent } from "../../events/event.ts";
import type { Tuning } from "../../settings.ts";
import { decodeRaw, priceOf } from "./chain-model.ts";
import { respond, simulatedEndpoint } from "./faulty-rpc.ts";
import { keepRunning } from "./instance.ts";
import { longestWait } from "./liveness.ts";
import { answer } from "./node-model.ts";
import { createScheduler, type Random, seededRandom } from "./scheduler.ts";
import { faultsOf, judge } from "./verdict.ts";
import { createWorld, endSeconds } from "./world.ts";

/** `index` is the endpoint's position in the list. */
type Request = { ms: number; random: Random; index: number };
/** A provider's wrong answers to a call or to a whole request. */
type Provider = {
  toCall?(call: Call, honest: Answer, request: Request): Answer;
  toRequest?(request: Request): Partial<Response> | undefined;
};

const safe = { crashRate: () => 0, freezeRate: () => 0 };
const refused = (message: string, code = -32000): Answer => ({ error: { code, message } });

/** Runs a simulation with `count` endpoints of the same provider. */
async function historyWith(
  { toCall, toRequest }: Provider,
  { count: endpointCount = 2, ...options }: { isPlain?: boolean; count?: number } = {},
  tuning: Partial<Tuning> = {},
) {
  const scheduler = createScheduler();
  const random = seededRandom(1);
  const world = await createWorld(scheduler, random, () => false, options);
  const events: ExecutorEvent[] = [];
  let passBeganMs: number | undefined;
  const passesMs: number[] = [];
  const endpoints = Array.from({ length: endpointCount }, (_, index): Endpoint => {
    return simulatedEndpoint(`rpc${index}`, scheduler, async (calls) => {
      // The first endpoint's call can be a retry from the previous poll. Calls to other endpoints
      // belong to a new poll.
      if (index > 0) passBeganMs ??= scheduler.now();
      await scheduler.sleep(5 + random() * 100);
      const request = { ms: scheduler.now(), random, index };
      const whole = toRequest?.(request);
      if (whole) return { status: 200, retryAfter: "", date: "", body: undefined, ...whole };
      return respond(
        calls.map((call) => {
          // A transaction that the provider refuses must not reach the chain.
          const own = toCall?.(call, { result: null }, request);
          if (own && "error" in own) return own;
          const honest = answer(world.chain, 0, call);
          return toCall?.(call, honest, request) ?? honest;
        }),
      );
    });
  });
  const report = (_: string, event: ExecutorEvent) => {
    events.push(event);
    if (event.kind !== "pass" || passBeganMs === undefined) return;
    passesMs.push(scheduler.now() - passBeganMs);
    passBeganMs = undefined;
  };
  keepRunning("a", world, endpoints, scheduler, random, safe, report, tuning);
  await scheduler.run(endSeconds * 1000);
  const faults = faultsOf(await judge(world)).filter((text) => !/were paid,/.test(text));
  await world.close();
  const count = (kind: ExecutorEvent["kind"]) => events.filter((each) => each.kind === kind).length;
  const mined = world.chain.blocks.flatMap((block) => block.mined);
  const priorityMax = mined.reduce(
    (most, { transaction: { priorityFee } }) => (priorityFee > most ? priorityFee : most),
    0n,
  );
  const passMs = passesMs.sort((a, b) => a - b)[Math.floor(passesMs.length * 0.9)]!;
  return { faults, waitBlocksMax: longestWait(world, 0), count, priorityMax, passMs };
}

const isSend = ({ method }: Call) => method === "eth_sendRawTransaction";
const usual = await historyWith({});

describe("payments are executed even if each endpoint", () => {
  const blocksOfSeconds = (seconds: number) => Math.ceil(seconds / 6);

  for (const [what, provider, seconds] of [
    [
      "answers 40 % of the calls with the error that a header was not found",
      {
        toCall: (_call, honest, { random }) =>
          "result" in honest && honest.result === null && random() < 0.4
            ? refused("header not found")
            : honest,
      },
      60,
    ],
    [
      "refuses wide log ranges with the message of a rate limit",
      {
        toCall(call, honest) {
          const { fromBlock, toBlock } = (call.params[0] ?? {}) as {
            fromBlock?: Hex;
            toBlock?: Hex;
          };
          const isWide = Number(toBlock) - Number(fromBlock) >= 3;
          return call.method === "eth_getLogs" && isWide
            ? refused("limit exceeded, too many requests for this range", -32005)
            : honest;
        },
      },
      60,
    ],
    [
      "answers 429 for 30 s with a `Retry-After` of a day",
      {
        toRequest: ({ ms }) =>
          ms > 300_000 && ms < 330_000 ? { status: 429, retryAfter: "86400" } : undefined,
      },
      120,
    ],
    [
      "refuses transactions as too large for a block for 12 s of each minute",
      {
        toCall: (call, honest, { ms }) =>
          isSend(call) && ms % 60_000 < 12_000 ? refused("exceeds block gas limit") : honest,
      },
      75,
    ],
  ] as [string, Provider, number][]) {
    const options = what.startsWith("answers 429") ? {} : onlyLong;
    test(what, options, async (t) => {
      const { faults, waitBlocksMax } = await historyWith(provider);
      const more = waitBlocksMax - usual.waitBlocksMax;
      t.diagnostic(`${more} blocks more`);
      assert.deepEqual(faults, []);
      assert.ok(more <= blocksOfSeconds(seconds), `${more} blocks more`);
    });
  }
});

describe("nine of ten polls take at most half a second longer if one of three endpoints", () => {
  const three = { isPlain: true, count: 3 };
  for (const [method, isShort] of [
    ["eth_getBalance", true],
    ["eth_getTransactionCount", false],
    ["eth_getTransactionReceipt", false],
    ["eth_getCode", false],
    ["eth_call", false],
  ] as const) {
    test(`answers 429 to ${method}`, isShort ? {} : onlyLong, async (t) => {
      const { passMs, ...honest } = await historyWith({}, three);
      const throttled = await historyWith(
        {
          toCall: (call, answered, { index }) =>
            index === 0 && call.method === method ? refused("too many requests", 429) : answered,
        },
        three,
      );
      t.diagnostic(`${throttled.passMs} ms, ${passMs} ms without`);
      assert.deepEqual([throttled.faults, honest.faults], [[], []]);
      assert.ok(throttled.passMs < passMs + 500, `${throttled.passMs} ms, ${passMs} ms without`);
    });
  }
});

test("the fee is not raised for a transaction that both endpoints call underpriced", async () => {
  let refusals = 0;
  // No transaction becomes old enough to be replaced, and the base fee does not change.
  const { faults, count } = await historyWith(
    {
      toCall(call, honest, { ms }) {
        if (!isSend(call) || ms % 60_000 > 36_000) return honest;
        refusals++;
        return refused("transaction underpriced");
      },
    },
    { isPlain: true },
    { stuckSeconds: 600 },
  );
  assert.ok(refusals > 0);
  assert.deepEqual(faults, []);
  assert.equal(count("replaced"), 0);
});

describe("nodes that demand a minimum gas price on a chain with empty blocks", () => {
  /**
   * The minimum gas price that the nodes accept. This price is higher than the executor's first
   * offer. The highest allowed offer is 30: a base fee of 10 and a priority fee of 20.
   */
  const minimum = 25n;
  const highest = "0x1388";

  /**
   * Returns a provider like Besu, whose `eth_gasPrice` is at least the minimum. The first `liars`
   * endpoints report a much higher price.
   */
  const besu = (liars = 0): Provider => ({
    toCall(call, honest, { index }) {
      if (call.method === "eth_gasPrice") {
        return { result: index < liars ? highest : `0x${minimum.toString(16)}` };
      }
      if (!isSend(call)) return honest;
      const isTooLow = priceOf(decodeRaw(call.params[0] as Hex), 10n) < minimum;
      return isTooLow ? refused("Gas price below configured minimum gas price", -32009) : honest;
    },
  });
  /** The base fee stays 10. */
  const plain = { isPlain: true };
  /** No transaction becomes old enough to be replaced. */
  const patient = { stuckSeconds: 600 };

  test("delay payments by at most 5 blocks", async (t) => {
    const { faults, waitBlocksMax } = await historyWith(besu(), plain);
    const more = waitBlocksMax - (await historyWith({}, plain)).waitBlocksMax;
    t.diagnostic(`${more} blocks more`);
    assert.deepEqual(faults, []);
    assert.ok(more <= 5, `${more} blocks more`);
  });

  test("do not raise the fee if only one of two nodes reports a higher price", async () => {
    const { faults, priorityMax } = await historyWith(besu(1), plain, patient);
    assert.deepEqual(faults, []);
    assert.equal(priorityMax, minimum - 10n);
  });

  test(
    "control: two nodes with a high price raise the priority fee to twice the base fee",
    onlyLong,
    async () => {
      const { priorityMax } = await historyWith(besu(2), plain, patient);
      assert.equal(priorityMax, 20n);
    },
  );
});
